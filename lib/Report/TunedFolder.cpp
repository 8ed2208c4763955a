#include "retile/Report/Report.h"
#include "retile/Support/File.h"

#include <map>

namespace retile::report {

static Status copyFile(const std::string& from, const std::string& to) {
  Expected<std::string> text = readFile(from);
  if (!text)
    return text.error();
  return writeFileAtomically(to, *text);
}

Status writeTuned(const std::string& directory, const manifest::Manifest& manifest,
                  const std::vector<tuner::TuneResult>& results, const tuner::DeviceInfo& device,
                  std::optional<double> copyBandwidth) {
  const std::string tuned = directory + "/tuned";
  if (Status made = makeDirectory(tuned); !made)
    return made;
  std::map<std::string, std::vector<tuner::TuneResult>> byKernel;
  for (const tuner::TuneResult& result : results)
    byKernel[result.kernel->id].push_back(result);
  if (readFile(directory + "/retile.cuh"))
    if (Status copied = copyFile(directory + "/retile.cuh", tuned + "/retile.cuh"); !copied)
      return copied;
  for (const auto& [id, list] : byKernel) {
    const std::string& file = list.front().kernel->templateFile;
    Expected<std::string> header = tunedHeader(manifest, list, device);
    if (!header)
      return header.error();
    if (Status copied = copyFile(directory + "/" + file, tuned + "/" + file); !copied)
      return copied;
    if (Status written = writeFileAtomically(tuned + "/" + id + ".tuned.cuh", *header); !written)
      return written;
  }
  return writeFileAtomically(tuned + "/result.json", resultJson(results, device, copyBandwidth));
}

} // namespace retile::report
