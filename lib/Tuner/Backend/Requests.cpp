#include "Requests.h"

namespace retile::backend {

namespace {

void put(Writer& out, const RunSpec& run) {
  out.put(run.key).put(run.image).put(run.entry).put(run.symbols).put(run.launch);
  out.put(std::uint64_t(run.arguments.size()));
  for (const ArgumentPlan& argument : run.arguments)
    out.put(argument.tensor).put(argument.offsetBytes).put(argument.bytes);
}

RunSpec getRun(Reader& in) {
  RunSpec run;
  run.key = in.get<std::string>();
  run.image = in.get<std::string>();
  run.entry = in.get<std::string>();
  run.symbols = in.list<std::string>();
  run.launch = in.get<LaunchPlan>();
  const auto count = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    ArgumentPlan argument;
    argument.tensor = in.get<int>();
    argument.offsetBytes = in.get<std::int64_t>();
    argument.bytes = in.list<unsigned char>();
    run.arguments.push_back(argument);
  }
  return run;
}

} // namespace

std::string encode(const PrepareRequest& request) {
  Writer out;
  out.put(request.harness).put(request.seed).put(request.tensors);
  return out.bytes;
}

bool decode(const std::string& bytes, PrepareRequest& request) {
  Reader in(bytes);
  request.harness = in.get<std::string>();
  request.seed = in.get<std::uint64_t>();
  request.tensors = in.list<TensorSpec>();
  return in.ok();
}

std::string encode(const VerifyRequest& request) {
  Writer out;
  put(out, request.run);
  out.put(request.relative).put(request.rms).put(request.digests);
  return out.bytes;
}

bool decode(const std::string& bytes, VerifyRequest& request) {
  Reader in(bytes);
  request.run = getRun(in);
  request.relative = in.list<double>();
  request.rms = in.list<double>();
  request.digests = in.list<Digest>();
  return in.ok();
}

std::string encode(const MeasureRequest& request) {
  Writer out;
  out.put(std::uint64_t(request.runs.size()));
  for (const RunSpec& run : request.runs)
    put(out, run);
  out.put(request.minSeconds).put(request.giveUpAboveMs).put(request.flushBytes);
  return out.bytes;
}

bool decode(const std::string& bytes, MeasureRequest& request) {
  Reader in(bytes);
  const auto count = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i)
    request.runs.push_back(getRun(in));
  request.minSeconds = in.get<double>();
  request.giveUpAboveMs = in.get<double>();
  request.flushBytes = in.get<std::uint64_t>();
  return in.ok();
}

std::string encode(const Reply& reply) {
  Writer out;
  out.put(reply.verdict).put(reply.detail).put(reply.seconds).put(reply.tensor).put(reply.run);
  out.put(reply.index).put(reply.count).put(reply.candidate).put(reply.original);
  out.put(std::uint64_t(reply.times.size()));
  for (const auto& times : reply.times)
    out.put(times);
  out.put(reply.digests).put(reply.bandwidth).put(reply.facts);
  return out.bytes;
}

bool decode(const std::string& bytes, Reply& reply) {
  Reader in(bytes);
  reply.verdict = in.get<Verdict>();
  reply.detail = in.get<std::string>();
  reply.seconds = in.get<double>();
  reply.tensor = in.get<std::uint32_t>();
  reply.run = in.get<std::uint32_t>();
  reply.index = in.get<std::uint64_t>();
  reply.count = in.get<std::uint64_t>();
  reply.candidate = in.get<std::uint64_t>();
  reply.original = in.get<std::uint64_t>();
  const auto count = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i)
    reply.times.push_back(in.list<double>());
  reply.digests = in.list<Digest>();
  reply.bandwidth = in.get<double>();
  reply.facts = in.get<DeviceFacts>();
  return in.ok();
}

std::uint64_t resultOffset(const std::vector<TensorSpec>& tensors, std::size_t tensor, int run) {
  std::uint64_t offset = 0;
  for (int r = 0; r <= run; ++r)
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (r == run && i == tensor)
        return offset;
      if (tensors[i].role != Role::In)
        offset += (tensors[i].bytes + 15) / 16 * 16;
    }
  return offset;
}

std::uint64_t resultBytes(const std::vector<TensorSpec>& tensors) {
  return resultOffset(tensors, tensors.size(), 1);
}

} // namespace retile::backend
