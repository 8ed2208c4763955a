#include "retile/Support/File.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace retile {

namespace {
/// Closes a descriptor at the end of its scope.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};
} // namespace

static Error systemError(const std::string& doing, const std::string& path, ExitCode code) {
  return {fmt::format("cannot {} '{}': {}", doing, path, std::strerror(errno)), "", code};
}

Expected<std::string> readFile(const std::string& path, std::size_t limit) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status;
  if (file.fd < 0 || ::fstat(file.fd, &status) != 0)
    return systemError("read", path, ExitCode::Input);
  if (!S_ISREG(status.st_mode))
    return Error{fmt::format("cannot read '{}': not a regular file", path), "", ExitCode::Input};
  std::string contents;
  char buffer[1 << 16];
  for (;;) {
    ssize_t got = ::read(file.fd, buffer, sizeof buffer);
    if (got < 0)
      return systemError("read", path, ExitCode::Input);
    if (got == 0)
      return contents;
    contents.append(buffer, static_cast<std::size_t>(got));
    if (contents.size() > limit)
      return Error{fmt::format("'{}' has more than {} bytes", path, limit), "", ExitCode::Input};
  }
}

static bool writeAll(int fd, const std::string& contents) {
  for (std::size_t done = 0; done < contents.size();) {
    ssize_t put = ::write(fd, contents.data() + done, contents.size() - done);
    if (put < 0 && errno != EINTR)
      return false;
    done += put < 0 ? 0 : static_cast<std::size_t>(put);
  }
  return ::fsync(fd) == 0;
}

Status writeFileAtomically(const std::string& path, const std::string& contents) {
  std::string temporary = path + ".XXXXXX";
  Descriptor file{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (file.fd < 0)
    return systemError("write", path, ExitCode::Environment);
  mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(file.fd, 0666 & ~mask);
  if (writeAll(file.fd, contents) && ::rename(temporary.c_str(), path.c_str()) == 0)
    return {};
  Error error = systemError("write", path, ExitCode::Environment);
  ::unlink(temporary.c_str());
  return error;
}

Status makeDirectory(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure)
    return Error{fmt::format("cannot make directory '{}': {}", path, failure.message()), "",
                 ExitCode::Environment};
  return {};
}

} // namespace retile
