// Server: one task of a cluster in this process: its devices, its part of
// graphs, and the master of the sessions that connect to it. TensorFlow's
// tf.train.Server, but it can be stopped.
//
//   ASSIGN_OR_RETURN(auto server, weft::Server::Create(
//       cluster, {.job_name = "ps", .task_index = 0}));
//   return server->Join();
//
// Threads: all methods may be called from any thread; Join and Stop block.
#ifndef WEFT_LIBS_SERVER_SERVER_H_
#define WEFT_LIBS_SERVER_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/runtime/process.h"
#include "libs/runtime/task_runtime.h"

namespace weft {

struct ServerOptions {
  std::string job_name;
  int task_index = 0;
  // Where to listen, "host" or "host:port", instead of the address in the spec.
  std::string bind;
  // Off this machine anyone who reaches the port may run graphs and read
  // variables. So a server that listens elsewhere than on loopback refuses to
  // start unless this is set.
  bool insecure = false;
  int cpus = 1;
  // GPU devices of host memory, for trying placement.
  int host_gpus = 0;
  // Whose threads and memory it uses; outlives the server. Null: a Process of
  // its own. Tasks of one Process reach each other without sockets.
  Process* process = nullptr;
  // How long a session outlives the connection to its client, and what a master
  // has registered here the connection to that master.
  absl::Duration lease = absl::Minutes(1);
  // How long placement waits for tasks that are not up yet.
  absl::Duration patience = absl::Minutes(10);
  // Outlives the server. Null: lines on stderr.
  Logger* logger = nullptr;
};

class Server {
 public:
  // Listens and is ready when it returns; waits for no other task.
  // INVALID_ARGUMENT: the task is not in the spec, or an address is none;
  // ALREADY_EXISTS: the port is taken; FAILED_PRECONDITION: see `insecure`.
  static absl::StatusOr<std::unique_ptr<Server>> Create(
      const ClusterSpec& cluster, const ServerOptions& options);

  // A cluster of one task, "/job:local/task:0", on a free port of loopback.
  static absl::StatusOr<std::unique_ptr<Server>> CreateLocal(
      ServerOptions options = {});

  // Stops at once, if that was not done.
  ~Server();

  // "zmq://host:port", for Session::Connect; with the port that was found when
  // the spec said 0.
  const std::string& target() const;

  // Waits until Stop was called, by whomever.
  absl::Status Join();

  // Refuses new sessions and steps, lets those that run end for as long as
  // `drain`, cancels the rest, closes sessions and connections, and joins.
  // Further calls do nothing.
  absl::Status Stop(absl::Duration drain = absl::Seconds(10));

  // For tools and tests.
  TaskRuntime& runtime();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_SERVER_H_
