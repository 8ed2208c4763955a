#include "retile/Report/Report.h"

#include <nlohmann/json.hpp>

namespace retile::report {

using Json = nlohmann::ordered_json;

static std::string dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

static Json sizesOf(const tuner::Bindings& bindings) {
  Json json = Json::object();
  for (const auto& [name, value] : bindings)
    json[name] = value;
  return json;
}

static Json orNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

static Json objectOf(const tuner::TuneResult& result, const tuner::DeviceInfo& device,
                     std::optional<double> copyBandwidth) {
  Json json{{"kernel", result.kernel->kernel}, {"id", result.kernel->id}, {"sizes", sizesOf(result.sizes)}};
  if (!result.unsupported.empty())
    json["unsupported"] = result.unsupported;
  if (!result.failure.empty())
    json["failure"] = result.failure;
  if (result.unsupported.empty() && result.failure.empty()) {
    Rates rates = ratesOf(*result.kernel, result.sizes, device, result.bestMs, copyBandwidth);
    json["originalMs"] = result.originalMs;
    json["bestMs"] = result.bestMs;
    json["speedup"] = result.speedup;
    json["identityRatio"] = orNull(result.identityRatio);
    json["gigabytesPerSecond"] = orNull(rates.gigabytes);
    json["gigaflopsPerSecond"] = orNull(rates.gigaflops);
    json["copyShare"] = orNull(rates.roofline);
    json["config"] = result.best ? sizesOf(*result.best) : Json(nullptr);
  }
  json["legal"] = result.legal;
  json["evaluated"] = result.evaluated;
  json["verified"] = result.verified;
  json["mismatched"] = result.mismatched;
  json["failed"] = result.failed;
  Json outcomes = Json::object();
  for (const auto& [outcome, count] : result.outcomes)
    outcomes[toString(outcome)] = count;
  json["outcomes"] = outcomes;
  if (!result.firstMismatch.empty())
    json["firstMismatch"] = result.firstMismatch;
  return json;
}

std::string jsonLine(const tuner::TuneResult& result, const tuner::DeviceInfo& device,
                     std::optional<double> copyBandwidth) {
  return dump(objectOf(result, device, copyBandwidth));
}

std::string jsonLine(const manifest::Kernel& kernel, const tuner::VerifyReport& report) {
  Json json{{"kernel", kernel.kernel},         {"id", kernel.id},         {"verified", report.verified},
            {"mismatched", report.mismatched}, {"failed", report.failed}, {"valid", report.valid}};
  if (!report.unsupported.empty())
    json["unsupported"] = report.unsupported;
  json["details"] = report.details;
  return dump(json);
}

std::string resultJson(const std::vector<tuner::TuneResult>& results, const tuner::DeviceInfo& device,
                       std::optional<double> copyBandwidth) {
  Json list = Json::array();
  for (const tuner::TuneResult& result : results)
    list.push_back(objectOf(result, device, copyBandwidth));
  Json json{{"device", {{"spec", device.spec}, {"name", device.name}, {"arch", device.arch}}},
            {"copyBandwidth", orNull(copyBandwidth)},
            {"results", list}};
  return dump(json, 2) + "\n";
}

} // namespace retile::report
