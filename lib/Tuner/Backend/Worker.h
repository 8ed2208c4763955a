// The measuring process: answers requests about one device until its socket closes. A kernel that crashes or
// hangs takes this process with it, and nothing else.
#pragma once

namespace retile::backend::cuda {

/// Serves the socket and ends the process.
[[noreturn]] void serveDevice(int socket);

} // namespace retile::backend::cuda
