// The database of results: a sound file with bytes changed, cut or added. The input is a list of patches, three bytes of offset
// and one of value; an offset of 0xfffff. cuts the file.
#include "retile/Tuner/Records.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace retile::tuner;

namespace {

const std::string folder = [] {
  std::string base = std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp";
  std::string made = base + "/retile-fuzz-records-" + std::to_string(getpid());
  std::filesystem::create_directories(made);
  std::atexit([] { std::filesystem::remove_all(folder); });
  return made;
}();

const RecordKey key{"k", "t", "r", "n=1", "cpu"};

std::string soundFile() {
  std::string path = folder + "/sound.db";
  {
    auto records = Records::open(path, false);
    if (!records) std::abort();
    for (int n = 0; n < 20; ++n)
      if (!records->insert(key, "A=" + std::to_string(n), {})) std::abort();
  }
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string sound = soundFile();
  std::string bytes = sound, path = folder + "/patched.db";
  for (size_t n = 0; n + 4 <= size; n += 4) {
    size_t offset = data[n] | data[n + 1] << 8 | data[n + 2] << 16;
    if (offset >= 0xfffff0) bytes.resize(bytes.size() * data[n + 3] / 256);
    else if (!bytes.empty()) bytes[offset % bytes.size()] = static_cast<char>(data[n + 3]);
  }
  for (const char* suffix : {"", "-wal", "-shm"})
    std::filesystem::remove(path + suffix);
  std::ofstream(path, std::ios::binary) << bytes;
  auto records = Records::open(path, false);
  if (!records) return 0;
  (void)records->find(key, "A=3");
  (void)records->insert(key, "B=1", {});
  (void)records->find(key, "B=1");
  return 0;
}
