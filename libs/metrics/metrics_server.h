// MetricsServer is an HTTP server for Prometheus: it answers GET of one path
// with the result of a function. It uses libmicrohttpd, which listens, reads
// and writes on one thread of the Scheduler (Pool::kUnbounded), from Start
// until its destruction: so it answers even while files hold all threads of the
// blocking pool.
//
// The resources of clients are limited: connections, bytes of each request, and
// the duration of each connection, however slow it is. Each is closed after its
// answer. Any client that reaches the port can read everything.
//
// Threads: created, started and destroyed by one.
#ifndef WEFT_LIBS_METRICS_METRICS_SERVER_H_
#define WEFT_LIBS_METRICS_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

struct MetricsServerOptions {
  // Of real threads; must outlive the server.
  Scheduler* scheduler = nullptr;
  // A name or a numeric address of this machine.
  std::string host = "localhost";
  int port = 0;  // 0: any free port
  std::string path = "/metrics";
  // Further connections wait until one of these has ended.
  int max_connections = 32;
  // From the first byte of a connection to the last of its answer.
  absl::Duration max_time = absl::Seconds(10);
};

class MetricsServer {
 public:
  // Listens; clients wait until Start. ALREADY_EXISTS: the port is in use;
  // INVALID_ARGUMENT: there is no such port, or the host is not this machine;
  // UNAVAILABLE: its name is not known.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(
      const MetricsServerOptions& options);
  // Closes all connections; when it has returned, no call of `text` runs any
  // more. Does not wait for clients.
  ~MetricsServer();

  // Starts to answer. `text` is called on the server's thread and must not
  // block; once only.
  void Start(std::function<std::string()> text);

  int port() const;
  // "http://127.0.0.1:9100/metrics".
  const std::string& url() const;

 private:
  class Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_LIBS_METRICS_METRICS_SERVER_H_
