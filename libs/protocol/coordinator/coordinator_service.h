// CoordinatorService serves a Coordinator to tasks, masters and tools over the
// bus: it converts incoming messages of that role to calls, and their results
// to replies. The Coordinator may be the coordinator itself or, on any other
// task, a route to it.
//
// It records the connections over which a task has joined, and reports when the
// last of them is lost. A call that waits for tasks ends with its connection,
// or when its caller gives up.
//
// Threads: OnRequest as in bus::Handler; no method of the role is fast.
#ifndef WEFT_LIBS_PROTOCOL_COORDINATOR_COORDINATOR_SERVICE_H_
#define WEFT_LIBS_PROTOCOL_COORDINATOR_COORDINATOR_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/handler.h"
#include "libs/protocol/coordinator/coordinator.h"
#include "libs/protocol/method_table.h"
#include "libs/protocol/pending_replies.h"

namespace weft::protocol {

struct CoordinatorServiceOptions {
  Coordinator* coordinator = nullptr;  // must outlive the service
  Scheduler* scheduler = nullptr;      // must outlive it, too
  // Called when a task that has joined here, and has not left, is no longer
  // connected. Called without a lock held, on the thread of OnDisconnect; may
  // be null.
  std::function<void(const std::string& task, uint64_t incarnation,
                     const absl::Status& why)>
      on_task_lost;
};

class CoordinatorService : public RoleService<CoordinatorService> {
 public:
  explicit CoordinatorService(const CoordinatorServiceOptions& options);
  // Waits until all calls of the coordinator are answered; no new ones may
  // arrive.
  ~CoordinatorService();

  static constexpr char kRole[] = "a coordinator";
  static const MethodRow<CoordinatorService>* FindMethod(uint8_t method);

  // Called for all connections of the server; fast.
  void OnConnect(const bus::Peer& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDisconnect(const bus::Peer& peer, const absl::Status& why)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Call = std::shared_ptr<bus::IncomingCall>;
  using TaskKey = std::pair<std::string, uint64_t>;  // a task, its incarnation

  void Join(Call call, bus::Message request);
  void Heartbeat(Call call, bus::Message request);
  void Leave(Call call, bus::Message request);
  void Place(Call call, bus::Message request);
  void EndSession(Call call, bus::Message request);
  void ForgetContainers(Call call, bus::Message request);
  void ListDevices(Call call, bus::Message request);
  void GetCluster(Call call, bus::Message request);
  void Shutdown(Call call, bus::Message request);

  void Joined(const bus::Peer& peer, const TaskKey& task)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Left(const TaskKey& task) ABSL_LOCKS_EXCLUDED(mutex_);

  const CoordinatorServiceOptions options_;
  PendingReplies replies_;
  absl::Mutex mutex_;
  absl::flat_hash_set<uint64_t> connections_ ABSL_GUARDED_BY(mutex_);
  // The connections of each joined task.
  absl::btree_map<TaskKey, absl::flat_hash_set<uint64_t>> joined_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_COORDINATOR_COORDINATOR_SERVICE_H_
