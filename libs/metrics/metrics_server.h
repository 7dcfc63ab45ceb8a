// MetricsServer is an HTTP server for Prometheus: it answers GET of one path
// with the result of a function. It uses libmicrohttpd, which listens, reads
// and writes on one thread of the Scheduler (Pool::kUnbounded), from Start
// until its destruction: So it answers even while file operations hold all
// threads of the blocking pool.
//
// The resources of clients are limited: the number of connections, the bytes of
// each request, and the duration of each connection, even if it is slow. Each
// connection is closed after its answer. Any client that reaches the port can
// read everything.
//
// Threads: one thread must create, start and destroy the server.
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
  // A scheduler with real threads. It must outlive the server.
  Scheduler* scheduler = nullptr;
  // The host on which to listen: a name or a numeric address of this machine.
  std::string host = "localhost";
  int port = 0;  // 0: any free port
  std::string path = "/metrics";
  // The maximum number of connections. Further connections wait until one of
  // these has ended.
  int max_connections = 32;
  // The maximum time from the first byte of a connection to the last byte of
  // its answer.
  absl::Duration max_time = absl::Seconds(10);
};

class MetricsServer {
 public:
  // Creates a server that listens. Clients wait until Start. ALREADY_EXISTS if
  // the port is in use. INVALID_ARGUMENT if the port is not valid or the host
  // is not this machine. UNAVAILABLE if the name of the host is unknown.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(
      const MetricsServerOptions& options);
  // Closes all connections without waiting for clients. When it has returned,
  // `text` is not called any more.
  ~MetricsServer();

  // Starts to answer requests. `text` is called on the server's thread and must
  // not block. Must be called only once.
  void Start(std::function<std::string()> text);

  int port() const;
  // Returns the URL of the metrics, such as "http://127.0.0.1:9100/metrics".
  const std::string& url() const;

 private:
  class Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_LIBS_METRICS_METRICS_SERVER_H_
