// RunServer is the main loop of the service programs: it starts a server, waits
// for a signal and stops cleanly.
#ifndef WEFT_LIBS_SERVER_RUN_SERVER_H_
#define WEFT_LIBS_SERVER_RUN_SERVER_H_

#include <string>

#include "libs/server/server.h"

namespace weft {

// `cluster` is a spec as text (ClusterSpec::Parse). Runs until SIGTERM, SIGINT
// or until the server stops by itself (Server::Join), then drains for up to
// `options.drain`; a second signal ends the process at once. Returns the exit
// code: 0 after a clean stop, 1 if it could not start or was refused, with the
// reason on stderr. Must be called from main, before any thread was started.
int RunServer(const std::string& cluster, ServerOptions options);

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_RUN_SERVER_H_
