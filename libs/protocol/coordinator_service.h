// CoordinatorService: lets tasks, masters and tools reach a Coordinator over
// the bus: turns incoming messages of that role into calls, and what comes of
// them into replies. What it hands them to may be the coordinator itself or,
// on any other task, the way to it.
//
// It knows over which connections a task has joined, and tells when the last
// of them is lost. A call that waits for tasks ends with its connection, or
// when its caller gives up.
//
// Threads: OnRequest as bus::Handler says; no method of the role is fast.
#ifndef WEFT_LIBS_PROTOCOL_COORDINATOR_SERVICE_H_
#define WEFT_LIBS_PROTOCOL_COORDINATOR_SERVICE_H_

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
#include "libs/base/scheduler.h"
#include "libs/bus/handler.h"
#include "libs/protocol/coordinator.h"
#include "libs/protocol/method_table.h"
#include "libs/protocol/pending_replies.h"

namespace weft::protocol {

struct CoordinatorServiceOptions {
  Coordinator* coordinator = nullptr;  // outlives the service
  Scheduler* scheduler = nullptr;      // likewise
  // A task that has joined here, and has not left, is not connected any more.
  // Called without a lock held, where OnDisconnect is; may be null.
  std::function<void(const std::string& task, uint64_t incarnation,
                     const absl::Status& why)>
      on_task_lost;
};

class CoordinatorService : public RoleService<CoordinatorService> {
 public:
  explicit CoordinatorService(const CoordinatorServiceOptions& options);
  // Waits until all that the coordinator was asked for is answered; no more
  // comes.
  ~CoordinatorService();

  static constexpr char kRole[] = "a coordinator";
  static const MethodRow<CoordinatorService>* FindMethod(uint8_t method);

  // Of all connections of the server; fast.
  void OnConnect(const bus::Peer& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDisconnect(const bus::Peer& peer, const absl::Status& why)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Call = std::shared_ptr<bus::IncomingCall>;
  using TaskKey = std::pair<std::string, uint64_t>;  // and its incarnation

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
  // Over which connections.
  absl::btree_map<TaskKey, absl::flat_hash_set<uint64_t>> joined_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_COORDINATOR_SERVICE_H_
