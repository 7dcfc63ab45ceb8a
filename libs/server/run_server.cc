#include "libs/server/run_server.h"

#include <csignal>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "libs/base/async/stop_signals.h"
#include "libs/base/status.h"

namespace weft {
namespace {

absl::StatusOr<std::unique_ptr<Server>> Start(const std::string& cluster,
                                              const ServerOptions& options) {
  ASSIGN_OR_RETURN(const ClusterSpec spec, ClusterSpec::Parse(cluster));
  return Server::Create(spec, options);
}

}  // namespace

int RunServer(const std::string& cluster, ServerOptions options) {
  // Ignores SIGPIPE: if the reader of the log ends before the task, writing to
  // the log fails, which must not end the task.
  std::signal(SIGPIPE, SIG_IGN);
  StopSignals stop;
  options.on_stopped = [&stop] { stop.Raise(); };
  auto server = Start(cluster, options);
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", server.status().ToString().c_str());
    return 1;
  }
  stop.Wait();
  (*server)->Stop(options.drain).IgnoreError();
  const absl::Status status = (*server)->Join();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

}  // namespace weft
