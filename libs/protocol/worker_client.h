// WorkerClient: the Worker role of another task, reached over the bus. Each
// call is one message; a run's cancellation is an Abort, so that its `done`
// means that nothing of the step can change a resource there any more. An Abort
// that the task refuses ends the connection, and with it all steps there.
//
// All calls but GetStatusWhenConnected fail with UNAVAILABLE at once while
// there is no connection, and when it is lost before their answer; the channel
// dials again by itself.
//
// Threads: as Worker says; `done` and PeerEvents come on the thread that reads,
// or on the compute pool (answers that take long to read, losses, deadlines),
// and must return soon.
#ifndef WEFT_LIBS_PROTOCOL_WORKER_CLIENT_H_
#define WEFT_LIBS_PROTOCOL_WORKER_CLIENT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/bus/address.h"
#include "libs/bus/transport.h"
#include "libs/protocol/worker.h"
#include "libs/tensor/buffer.h"

namespace weft::protocol {

// What becomes of the connection to a task, for whoever has steps there.
class PeerEvents {
 public:
  virtual ~PeerEvents() = default;
  // An error refuses a connection from the peer (its HELLO fails). One to the
  // peer stays, but does not count. In both cases its end is not reported.
  virtual absl::Status OnPeerConnected(const bus::Identity& peer) = 0;
  // A connection that OnPeerConnected accepted is gone, and with it what was
  // under way, pushes among it: each step with an edge to `task` has to be
  // aborted. Calls fail by themselves.
  virtual void OnPeerLost(const std::string& task, uint64_t incarnation,
                          const absl::Status& why) = 0;
  // A connection from `task` that has carried no message of a step is gone.
  // While the same process has another connection, no step depends on this one.
  // If the process sent something that did not arrive, it aborts these steps
  // itself. Without another connection this is OnPeerLost.
  virtual void OnUnusedConnectionLost(const std::string& task,
                                      uint64_t incarnation,
                                      const absl::Status& why) {
    OnPeerLost(task, incarnation, why);
  }
  // It was not sent: its step has to be aborted. Once for each step, from
  // Deliver.
  virtual void OnPushFailed(const Push& push, const absl::Status& why) = 0;
  // Values for this task that came with the answer of a run, which is done
  // right afterwards.
  virtual void OnPushes(std::vector<Push> pushes) = 0;
};

struct WorkerClientOptions {
  bus::Address address;
  bus::Identity self;
  std::string task;  // which has to be there: "/job:ps/replica:0/task:0"
  // Of fetches. Outlives the client, and what it brought unless its buffers
  // keep it alive.
  Allocator* allocator = nullptr;
  PeerEvents* events = nullptr;  // outlives the client; may be null
  // For when the answers of traced steps come; likewise.
  const Clock* clock = nullptr;
};

class WorkerClient : public Worker, private bus::ChannelEvents {
 public:
  // How many releases a new connection has to confirm before others are sent.
  static constexpr size_t kMaxReleasesAtOnce = 64;

  // `transport` outlives the client.
  WorkerClient(bus::Transport& transport, const WorkerClientOptions& options);
  // Fails what is pending with CANCELLED, from this thread. Not to be called
  // from a `done` or an event, nor while one of its runs may be cancelled.
  ~WorkerClient() override;

  const std::string& task() const { return options_.task; }

  void GetStatusWhenConnected(absl::Time deadline, DevicesDone done) override;
  void CreateWorkerSession(const WorkerSession& session,
                           const WorkerSessionOptions& options,
                           absl::Time deadline, Done done) override;
  void DeleteWorkerSession(const WorkerSession& session, absl::Time deadline,
                           Done done) override;
  void Register(const PartitionRegistration& registration, absl::Time deadline,
                RegisterDone done) override;
  void Deregister(const WorkerSession& session, uint64_t registration) override;
  void Run(const PartitionStep& step, Done done) override;
  void Deliver(std::vector<Push> pushes) override;
  void Abort(const StepId& step, uint64_t steps_over_below,
             const absl::Status& cause, Done done) override;
  void AbandonPushes(const StepId& step) override;
  void DescribeWaits(const StepId& step, absl::Time deadline,
                     WaitsDone done) override;
  void HoldSteps(const StepHold& hold, absl::Time deadline,
                 HoldDone done) override;
  void ClearContainers(const std::vector<std::string>& containers,
                       absl::Time deadline,
                       const std::shared_ptr<Cancellation>& client,
                       Done done) override;

 private:
  class PendingRun;
  // Session and registration -> the session as it was named.
  using Releasing =
      absl::btree_map<std::pair<uint64_t, uint64_t>, WorkerSession>;
  // Where a task is away for long, the oldest are not released.
  static constexpr size_t kMaxReleasing = 65536;

  void OnConnected(const bus::Identity& peer) override;
  void OnDisconnected(const absl::Status& why) override;

  // Tells the task. `then`, which may be null, is called once it has answered;
  // not if the connection is lost before.
  void SendDeregister(const WorkerSession& session, uint64_t registration,
                      void (WorkerClient::*then)());
  // Sends the next of unsent_, and the one after it when that is answered.
  void SendNextRelease() ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes it out; none if there is no more.
  std::optional<Releasing::value_type> TakeUnsent() ABSL_LOCKS_EXCLUDED(mutex_);
  void Released(uint64_t session, uint64_t registration)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A call that is answered by Done.
  bus::Channel::CallId Call(bus::Message request, absl::Time deadline,
                            Done done);
  void SendAbort(const std::shared_ptr<PendingRun>& run,
                 const absl::Status& cause);
  // A task that is there and refuses an Abort goes on with the step; with the
  // connection that the Abort was sent by, it ends.
  void EndConnection(uint64_t connection, const absl::Status& why);
  // UNAVAILABLE says which task it was and what to look at.
  absl::Status Explain(const absl::Status& status) const;
  // Likewise of a call that waited for a connection.
  absl::Status ExplainWaiting(const absl::Status& status)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const WorkerClientOptions options_;
  std::atomic<bool> has_pushed_{false};  // tensors
  absl::Mutex mutex_;
  // Whom OnPeerConnected accepted last, until OnPeerLost.
  std::optional<bus::Identity> connected_ ABSL_GUARDED_BY(mutex_);
  // Of the process to which `releasing_` belongs; 0: none was there yet.
  uint64_t incarnation_ ABSL_GUARDED_BY(mutex_) = 0;
  // Registrations whose release that process has not confirmed, by session.
  // What it was told may be lost with the connection, and the sessions outlive
  // that.
  Releasing releasing_ ABSL_GUARDED_BY(mutex_);
  // Of these, those that the connection has yet to send; the others of them
  // were lost with an earlier one.
  Releasing unsent_ ABSL_GUARDED_BY(mutex_);
  // Of the attempts since; OK before the first has failed.
  absl::Status last_failure_ ABSL_GUARDED_BY(mutex_);
  // Last: its end ends all callbacks. Set once, before any call.
  std::unique_ptr<bus::Channel> channel_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_WORKER_CLIENT_H_
