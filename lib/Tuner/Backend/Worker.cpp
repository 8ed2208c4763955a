#include "Worker.h"

#include "DeviceMeasure.h"
#include "DeviceSession.h"
#include "Link.h"
#include "Stopwatch.h"

#include <memory>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace retile::backend::cuda {

namespace {

/// A file of results, mapped.
class ResultsFile {
public:
  ResultsFile(int descriptor, bool writable) {
    struct stat info;
    if (descriptor >= 0 && fstat(descriptor, &info) == 0 && info.st_size > 0) {
      size = static_cast<std::size_t>(info.st_size);
      void* mapped =
          mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, descriptor, 0);
      if (mapped != MAP_FAILED)
        data = static_cast<unsigned char*>(mapped);
    }
    if (descriptor >= 0)
      close(descriptor);
  }
  ~ResultsFile() {
    if (data)
      munmap(data, size);
  }
  unsigned char* data = nullptr;
  std::size_t size = 0;
};

class Server {
public:
  explicit Server(int socket) : link(socket) {}

  void run() {
    const pid_t self = getpid();
    Writer hello;
    hello.put(self);
    if (!link.send(static_cast<std::uint32_t>(Answer::Alive), hello.bytes))
      return;
    std::uint32_t kind = 0;
    std::string body;
    while (link.receive(kind, body, -1) == Received::Message) {
      bool fatal = false;
      const Reply reply = answer(static_cast<Request>(kind), body, fatal);
      if (!link.send(static_cast<std::uint32_t>(Answer::Reply), encode(reply)) || fatal)
        return;
    }
  }

private:
  Reply answer(Request kind, const std::string& body, bool& fatal) {
    try {
      if (kind == Request::Open)
        return openDevice(body);
      if (!session)
        throw DeviceFailure{Verdict::Crash, "no device is open", true};
      switch (kind) {
      case Request::Prepare:
        return prepare(body);
      case Request::Original:
        return original(body);
      case Request::Verify:
        return verify(body);
      case Request::Measure:
        return measureRuns(body);
      default:
        return bandwidth();
      }
    } catch (const DeviceFailure& failure) {
      fatal = failure.fatal;
      Reply reply;
      reply.verdict = failure.verdict;
      reply.detail = failure.detail;
      return reply;
    }
  }

  template <class T> static T parse(const std::string& body) {
    T request;
    if (!decode(body, request))
      throw DeviceFailure{Verdict::Crash, "a malformed request", true};
    return request;
  }

  void alive() const { link.send(static_cast<std::uint32_t>(Answer::Alive), ""); }

  Reply openDevice(const std::string& body) {
    Reader in(body);
    const int ordinal = in.get<int>();
    Expected<Driver> driver = Driver::open();
    if (!driver)
      throw DeviceFailure{Verdict::LaunchError, driver.error().message + "\n" + driver.error().note, true};
    session.emplace(*driver, ordinal);
    Reply reply;
    reply.facts = session->facts();
    return reply;
  }

  Reply prepare(const std::string& body) {
    session->prepare(parse<PrepareRequest>(body));
    session->synchronize();
    return {};
  }

  /// One run from fresh contents; device seconds are added to `seconds`.
  const LoadedKernel& runOnce(const RunSpec& run, int index, double& seconds) {
    const LoadedKernel& kernel = session->load(run);
    session->fill(kernel, index);
    session->synchronize();
    Stopwatch watch(*session);
    watch.start();
    session->launch(kernel, run);
    seconds += watch.stopMs() / 1000;
    session->synchronize();
    return kernel;
  }

  Reply original(const std::string& body) {
    const ResultsFile results(receiveDescriptor(link.handle()), true);
    const VerifyRequest request = parse<VerifyRequest>(body);
    double seconds = 0;
    std::vector<Digest> digests;
    for (int run = 0; run < 2; ++run) {
      const LoadedKernel& kernel = runOnce(request.run, run, seconds);
      Reply reply = session->inspect(kernel, run, request, nullptr);
      if (reply.verdict != Verdict::Ok)
        return reply;
      for (const Digest& digest : session->digests(kernel))
        digests.push_back(digest);
      if (results.data)
        session->download(kernel, run, results.data);
      alive();
    }
    Reply reply;
    reply.seconds = seconds;
    reply.digests = std::move(digests);
    return reply;
  }

  Reply verify(const std::string& body) {
    const ResultsFile results(receiveDescriptor(link.handle()), false);
    const VerifyRequest request = parse<VerifyRequest>(body);
    double seconds = 0;
    for (int run = 0; run < 2; ++run) {
      const LoadedKernel& kernel = runOnce(request.run, run, seconds);
      Reply reply = session->inspect(kernel, run, request, results.data);
      reply.seconds = seconds;
      if (reply.verdict != Verdict::Ok || run == 1)
        return reply;
      alive();
    }
    return {};
  }

  Reply measureRuns(const std::string& body) {
    return measure(*session, parse<MeasureRequest>(body), [this] { alive(); });
  }

  Reply bandwidth() {
    Reply reply;
    reply.bandwidth = copyBandwidth(*session);
    return reply;
  }

  Link link;
  std::optional<DeviceSession> session;
};

} // namespace

void serveDevice(int socket) {
  Server(socket).run();
  _exit(0);
}

} // namespace retile::backend::cuda
