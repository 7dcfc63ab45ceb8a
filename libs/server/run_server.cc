#include "libs/server/run_server.h"

#include <signal.h>

#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/bus/zmq_wire.h"

namespace weft {
namespace {

// SIGINT and SIGTERM, which all threads leave to whoever waits for them.
sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

absl::StatusOr<std::unique_ptr<Server>> Start(const std::string& cluster,
                                              const ServerOptions& options) {
  ASSIGN_OR_RETURN(const ClusterSpec spec, ClusterSpec::Parse(cluster));
  return Server::Create(spec, options);
}

}  // namespace

int RunServer(const std::string& cluster, const ServerOptions& options,
              absl::Duration drain) {
  bus::TuneHeapForBulk();
  const sigset_t signals = BlockStopSignals();
  auto server = Start(cluster, options);
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", server.status().ToString().c_str());
    return 1;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  // The next one is not waited for: it does what it does by default.
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  (*server)->Stop(drain).IgnoreError();
  return 0;
}

}  // namespace weft
