#include "Subprocess.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace retile::backend {

namespace {

constexpr std::size_t mostOutput = 64 << 10;

Expected<pid_t> spawn(const std::vector<std::string>& argv, int output) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return Error{"cannot run " + argv[0] + ": " + std::strerror(failed), "", ExitCode::Environment};
  return child;
}

/// Reads until the end of file or the deadline; false on the deadline.
bool drain(int fd, double seconds, std::string& output) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const double left = std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count();
    pollfd waiting{fd, POLLIN, 0};
    if (left <= 0)
      return false;
    if (poll(&waiting, 1, static_cast<int>(left * 1000) + 1) <= 0)
      continue;
    char buffer[4096];
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return true;
    if (output.size() < mostOutput)
      output.append(buffer, static_cast<std::size_t>(count));
  }
}

} // namespace

Expected<ProcessResult> runProcess(const std::vector<std::string>& argv, double seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Error{"cannot make a pipe", std::strerror(errno), ExitCode::Environment};
  Expected<pid_t> child = spawn(argv, ends[1]);
  close(ends[1]);
  if (!child) {
    close(ends[0]);
    return child.error();
  }
  ProcessResult result;
  result.timedOut = !drain(ends[0], seconds, result.output);
  close(ends[0]);
  if (result.timedOut)
    kill(-*child, SIGKILL);
  int status = 0;
  while (waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status))
    result.exitCode = WEXITSTATUS(status);
  return result;
}

std::string findProgram(const std::string& program) {
  if (program.find('/') != std::string::npos)
    return access(program.c_str(), X_OK) == 0 ? program : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + program;
    if (access(file.c_str(), X_OK) == 0)
      return file;
  }
  return "";
}

} // namespace retile::backend
