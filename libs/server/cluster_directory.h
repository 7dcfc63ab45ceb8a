// ClusterDirectory finds the other tasks of a task's cluster: those of its own
// process directly, the rest over the bus. Connections are made when first
// needed, by this task for its own requests and pushes.
//
// Threads: all methods may be called from any thread; Close from one that may
// block, when no step of this task runs.
#ifndef WEFT_LIBS_SERVER_CLUSTER_DIRECTORY_H_
#define WEFT_LIBS_SERVER_CLUSTER_DIRECTORY_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/bus/message.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/protocol/worker/worker.h"
#include "libs/protocol/worker/worker_client.h"
#include "libs/runtime/process/process.h"

namespace weft {

struct ClusterDirectoryOptions {
  Process* process = nullptr;  // never null; must outlive the directory
  ClusterSpec cluster;
  bus::Identity self;                      // of the own task
  protocol::PeerEvents* events = nullptr;  // never null; must outlive it
};

class ClusterDirectory : public protocol::WorkerDirectory {
 public:
  // Creates the directory. INVALID_ARGUMENT if the address of a task does not
  // parse; the error names the task.
  static absl::StatusOr<std::unique_ptr<ClusterDirectory>> Create(
      const ClusterDirectoryOptions& options);
  ~ClusterDirectory() override;

  // Must be called before Find of the own task.
  void set_own(protocol::Worker* own) { own_ = own; }

  protocol::Worker* Find(const std::string& task) override;
  std::vector<std::string> Tasks() const override;

  // Closes the connections once no outgoing call is running. Later calls fail.
  void Close();

 private:
  class Route;

  explicit ClusterDirectory(const ClusterDirectoryOptions& options);

  const std::shared_ptr<const ClusterDirectoryOptions> options_;
  protocol::Worker* own_ = nullptr;
  std::map<std::string, std::shared_ptr<Route>> routes_;  // fixed
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_CLUSTER_DIRECTORY_H_
