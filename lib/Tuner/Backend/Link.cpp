#include "Link.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace retile::backend {

namespace {

struct Header {
  std::uint32_t magic = 0x52746c31, kind = 0;
  std::uint64_t size = 0;
};

constexpr std::uint64_t mostBytes = std::uint64_t(1) << 32;

bool sendAll(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(fd, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

using Clock = std::chrono::steady_clock;

Received receiveAll(int fd, void* data, std::size_t size, bool forever, Clock::time_point deadline) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const double left = std::chrono::duration<double>(deadline - Clock::now()).count();
    if (!forever && left <= 0)
      return Received::TimedOut;
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, forever ? -1 : static_cast<int>(left * 1000) + 1);
    if (ready <= 0)
      continue;
    const ssize_t count = read(fd, at, size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return Received::Closed;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return Received::Message;
}

} // namespace

bool Link::send(std::uint32_t kind, const std::string& body) const {
  Header header;
  header.kind = kind;
  header.size = body.size();
  return fd >= 0 && sendAll(fd, &header, sizeof header) && sendAll(fd, body.data(), body.size());
}

Received Link::receive(std::uint32_t& kind, std::string& body, double seconds) const {
  if (fd < 0)
    return Received::Closed;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(seconds < 0 ? 0 : seconds));
  Header header;
  Received got = receiveAll(fd, &header, sizeof header, seconds < 0, deadline);
  if (got != Received::Message)
    return got;
  if (header.magic != Header().magic || header.size > mostBytes)
    return Received::Closed;
  kind = header.kind;
  body.resize(header.size);
  return receiveAll(fd, body.data(), body.size(), seconds < 0, deadline);
}

void Link::close() {
  if (fd >= 0)
    ::close(fd);
  fd = -1;
}

namespace {

/// One byte with room for a descriptor beside it (unix(7), SCM_RIGHTS).
struct DescriptorMessage {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};

  DescriptorMessage() {
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
};

} // namespace

bool sendDescriptor(int socket, int descriptor) {
  DescriptorMessage carrier;
  msghdr& message = carrier.message;
  cmsghdr* control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(control), &descriptor, sizeof(int));
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

int receiveDescriptor(int socket) {
  DescriptorMessage carrier;
  msghdr& message = carrier.message;
  ssize_t got;
  while ((got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  const cmsghdr* control = got == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (!control || control->cmsg_type != SCM_RIGHTS)
    return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(control), sizeof(int));
  return descriptor;
}

} // namespace retile::backend
