// Framed messages over a socket between us and a process that may die at any moment.
#pragma once

#include <cstdint>
#include <string>

namespace retile::backend {

enum class Received { Message, Closed, TimedOut };

/// Owns one end of a stream socket. Never raises SIGPIPE.
class Link {
public:
  Link() = default;
  explicit Link(int fd) : fd(fd) {}
  ~Link() { close(); }
  Link(Link&& other) noexcept : fd(other.fd) { other.fd = -1; }
  Link& operator=(Link&& other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }

  bool send(std::uint32_t kind, const std::string& body) const;
  /// Waits at most `seconds` for the whole message; forever when negative.
  Received receive(std::uint32_t& kind, std::string& body, double seconds) const;
  bool open() const { return fd >= 0; }
  int handle() const { return fd; }
  void close();

private:
  int fd = -1;
};

/// One file descriptor over a socket; -1 when the other end has closed.
bool sendDescriptor(int socket, int descriptor);
int receiveDescriptor(int socket);

} // namespace retile::backend
