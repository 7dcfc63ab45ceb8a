// WorkerService serves a task's Worker over the bus: it converts incoming
// messages of that role to calls, and their results to replies.
//
// A request that cannot be read is answered with INVALID_ARGUMENT; pushes that
// cannot be read are dropped, and logged once per connection. A run, or a
// reset, is cancelled when its caller gives up or its connection is lost. Each
// master may only act on its own sessions and steps (peer_checks.h).
//
// Threads: OnRequest and OnOneWay as in bus::Handler: fast methods on the
// reading thread, all others where longer work is allowed.
#ifndef WEFT_LIBS_PROTOCOL_WORKER_WORKER_SERVICE_H_
#define WEFT_LIBS_PROTOCOL_WORKER_WORKER_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/limited_log.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/handler.h"
#include "libs/graph/op_def.h"
#include "libs/protocol/method_table.h"
#include "libs/protocol/pending_replies.h"
#include "libs/protocol/worker/worker.h"
#include "libs/tensor/buffer.h"

namespace weft::protocol {

// All must outlive the service.
struct WorkerServiceOptions {
  Worker* worker = nullptr;
  Scheduler* scheduler = nullptr;
  Allocator* allocator = nullptr;         // of feeds and pushes
  std::shared_ptr<const OpRegistry> ops;  // of registered graphs
  Logger* logger = nullptr;               // may be null
  // Drops incoming values of an aborted step. May be null.
  std::function<void(const StepId&)> abandon_pushes;
};

class WorkerService : public RoleService<WorkerService> {
 public:
  explicit WorkerService(const WorkerServiceOptions& options);
  // Waits until all calls of the worker are done; no new ones may arrive.
  ~WorkerService();

  static constexpr char kRole[] = "a task";
  static const MethodRow<WorkerService>* FindMethod(uint8_t method);

 private:
  using Call = std::shared_ptr<bus::IncomingCall>;

  void GetStatus(Call call, bus::Message request);
  void CreateWorkerSession(Call call, bus::Message request);
  void DeleteWorkerSession(Call call, bus::Message request);
  void Register(Call call, bus::Message request);
  void RunPartition(Call call, bus::Message request);
  void Abort(Call call, bus::Message request);
  void DescribeWaits(Call call, bus::Message request);
  void HoldSteps(Call call, bus::Message request);
  void Hold(Call call, const StepHold& hold);
  void ClearContainers(Call call, bus::Message request);
  void Deregister(Call call, bus::Message request);
  void NoteDeregister(const bus::Peer& peer, bus::Message message,
                      const absl::Status& received);
  void Deliver(const bus::Peer& peer, bus::Message message,
               const absl::Status& received);
  // Delivers pushes without tensors, which were dropped.
  void DeliverWithout(const bus::Peer& peer, bus::Message pushes,
                      const absl::Status& received);
  // Logs the first drop of each connection, within a limit for all.
  void NoteDropped(const bus::Peer& peer, const absl::Status& why);

  const WorkerServiceOptions options_;
  PendingReplies replies_;
  absl::Mutex mutex_;
  // Ids of connections of which a dropped push was logged.
  absl::flat_hash_set<uint64_t> blamed_ ABSL_GUARDED_BY(mutex_);
  LimitedLog dropped_pushes_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_WORKER_WORKER_SERVICE_H_
