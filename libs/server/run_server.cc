#include "libs/server/run_server.h"

#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/base/stop_signals.h"
#include "libs/bus/zmq_wire.h"

namespace weft {
namespace {

absl::StatusOr<std::unique_ptr<Server>> Start(const std::string& cluster,
                                              const ServerOptions& options) {
  ASSIGN_OR_RETURN(const ClusterSpec spec, ClusterSpec::Parse(cluster));
  return Server::Create(spec, options);
}

}  // namespace

int RunServer(const std::string& cluster, const ServerOptions& options,
              absl::Duration drain) {
  bus::TuneHeapForBulk();
  StopSignals stop;
  auto server = Start(cluster, options);
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", server.status().ToString().c_str());
    return 1;
  }
  stop.Wait();
  (*server)->Stop(drain).IgnoreError();
  return 0;
}

}  // namespace weft
