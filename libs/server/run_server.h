// RunServer: what the programs of the services do: start a server, wait for a
// signal, stop cleanly.
#ifndef WEFT_LIBS_SERVER_RUN_SERVER_H_
#define WEFT_LIBS_SERVER_RUN_SERVER_H_

#include <string>

#include "libs/server/server.h"

namespace weft {

// `cluster` is a spec in text (ClusterSpec::Parse). Runs until SIGTERM, SIGINT
// or until it stops by itself (Server::Join), then drains for as long as
// `options.drain`; a second signal ends the process at once. Returns the exit
// code: 0 after a clean stop, 1 when it could not start or was refused, with
// the reason on stderr.
// To be called from main, before any thread was started.
int RunServer(const std::string& cluster, ServerOptions options);

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_RUN_SERVER_H_
