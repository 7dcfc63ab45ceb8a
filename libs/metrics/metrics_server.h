// MetricsServer: a page that Prometheus reads: answers GET of one path by HTTP
// with what a function says at that moment. By libmicrohttpd, which listens,
// reads and writes on a thread of its own that the Scheduler gives it
// (Pool::kOwnThread), from Start to the end of the server: it answers while
// files hold all threads of the blocking pool.
//
// What clients can make it hold is bounded: connections, bytes of each request,
// and how long each connection may take, however slowly it talks. Each is
// closed once it is answered. All that it shows, it shows to whoever reaches
// the port.
//
// Threads: made, started and destroyed by one.
#ifndef WEFT_LIBS_METRICS_METRICS_SERVER_H_
#define WEFT_LIBS_METRICS_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/scheduler.h"

namespace weft {

struct MetricsServerOptions {
  // Of real threads; outlives the server.
  Scheduler* scheduler = nullptr;
  // A name or a numeric address of this machine.
  std::string host = "localhost";
  int port = 0;  // 0: any that is free
  std::string path = "/metrics";
  // Others wait until one of these has ended.
  int max_connections = 32;
  // From the first byte of a connection to the last of its answer.
  absl::Duration max_time = absl::Seconds(10);
};

class MetricsServer {
 public:
  // Listens; clients wait until Start. ALREADY_EXISTS: the port is taken;
  // INVALID_ARGUMENT: there is no such port, or the host is none of this
  // machine; UNAVAILABLE: its name is not known.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(
      const MetricsServerOptions& options);
  // Closes what is open; no call of `text` runs any more when it has returned,
  // nor waits it for a client.
  ~MetricsServer();

  // Begins to answer. `text` is called on the server's thread and must not
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
