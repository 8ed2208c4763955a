#include "CandidateText.h"

#include "retile/Support/File.h"

#include <fmt/format.h>

namespace retile::backend {

std::string candidateEntry(const tuner::Candidate& candidate) {
  const manifest::Kernel& kernel = *candidate.kernel;
  if (!candidate.config)
    return kernel.referenceEntry;
  if (kernel.templateParameters.empty())
    return kernel.templateEntry;
  std::string text = kernel.templateEntry + "<";
  for (const std::string& name : kernel.templateParameters) {
    const auto value = candidate.config->find(name);
    text += (text.back() == '<' ? "" : ", ") +
            std::to_string(value == candidate.config->end() ? 0 : value->second);
  }
  return text + ">";
}

std::string macroSizes(const tuner::Candidate& candidate) {
  std::string text;
  for (const manifest::Size& size : candidate.kernel->sizes) {
    if (size.kind != "macro")
      continue;
    const auto given = candidate.sizes.find(size.name);
    if (given != candidate.sizes.end())
      text += fmt::format("#define {} {}\n", size.name, given->second);
    else if (size.defaultValue)
      text += fmt::format("#define {} {}\n", size.name, *size.defaultValue);
  }
  return text;
}

std::string defineLines(const std::vector<std::string>& defines) {
  std::string text;
  for (const std::string& define : defines) {
    const std::size_t equals = define.find('=');
    text += "#define " + define.substr(0, equals) + " " +
            (equals == std::string::npos ? "1" : define.substr(equals + 1)) + "\n";
  }
  return text;
}

Expected<CandidateSources> readSources(const std::string& directory, const tuner::Candidate& candidate) {
  CandidateSources sources;
  Expected<std::string> reference = readFile(directory + "/" + candidate.kernel->referenceFile);
  if (!reference)
    return reference.error();
  sources.reference = *reference;
  if (!candidate.config)
    return sources;
  Expected<std::string> text = readFile(directory + "/" + candidate.kernel->templateFile);
  if (!text)
    return text.error();
  sources.candidate = *text;
  return sources;
}

std::string candidateUnit(const tuner::Candidate& candidate, const std::vector<std::string>& defines, const CandidateSources& sources) {
  const manifest::Kernel& kernel = *candidate.kernel;
  std::string text = candidate.config ? "#include \"retile.cuh\"\n" : "";
  text += defineLines(defines) + macroSizes(candidate);
  if (candidate.config)
    text += "#define RETILE_NO_REFERENCE 1\n";
  text += fmt::format("#line 1 \"{}\"\n", kernel.referenceFile) + sources.reference + "\n";
  if (candidate.config)
    text += fmt::format("#line 1 \"{}\"\n", kernel.templateFile) + sources.candidate + "\n";
  return text;
}

} // namespace retile::backend
