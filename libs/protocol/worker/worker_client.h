// WorkerClient is the Worker role of another task, reached over the bus. Each
// call is one message; a run's cancellation sends an Abort, so that its `done`
// means that nothing of the step can change a resource there any more. An Abort
// that the task refuses ends the connection, and with it all steps there.
//
// All calls except GetStatusWhenConnected fail with UNAVAILABLE at once while
// there is no connection, and when it is lost before their answer; the channel
// redials by itself.
//
// Threads: as in Worker; `done` and PeerEvents run on the reading thread, or on
// the compute pool (answers that take long to read, losses, deadlines), and
// must return soon.
#ifndef WEFT_LIBS_PROTOCOL_WORKER_WORKER_CLIENT_H_
#define WEFT_LIBS_PROTOCOL_WORKER_WORKER_CLIENT_H_

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
#include "libs/protocol/worker/worker.h"
#include "libs/tensor/buffer.h"

namespace weft::protocol {

// PeerEvents reports changes of the connection to a task that has steps.
class PeerEvents {
 public:
  virtual ~PeerEvents() = default;
  // An error refuses a connection from the peer (its HELLO fails). A connection
  // to the peer stays, but does not count. In both cases its end is not
  // reported.
  virtual absl::Status OnPeerConnected(const bus::Identity& peer) = 0;
  // A connection that OnPeerConnected accepted is lost with everything in
  // flight, including pushes: each step with an edge to `task` must be aborted.
  // Calls fail by themselves.
  virtual void OnPeerLost(const std::string& task, uint64_t incarnation,
                          const absl::Status& why) = 0;
  // A connection from `task` that has carried no message of a step is lost.
  // While the same process has another connection, no step depends on this one.
  // If the process sent something that did not arrive, it aborts these steps
  // itself. Without another connection this is OnPeerLost.
  virtual void OnUnusedConnectionLost(const std::string& task,
                                      uint64_t incarnation,
                                      const absl::Status& why) {
    OnPeerLost(task, incarnation, why);
  }
  // The push was not sent: its step must be aborted. Called once per step, from
  // Deliver.
  virtual void OnPushFailed(const Push& push, const absl::Status& why) = 0;
  // Values for this task that came with the answer of a run, which is done
  // right afterwards.
  virtual void OnPushes(std::vector<Push> pushes) = 0;
};

struct WorkerClientOptions {
  bus::Address address;
  bus::Identity self;
  std::string task;  // the task that must be there: "/job:ps/replica:0/task:0"
  // For fetches. Must outlive the client, and the fetched tensors unless their
  // buffers keep it alive.
  Allocator* allocator = nullptr;
  PeerEvents* events = nullptr;  // must outlive the client; may be null
  // For the arrival times of answers of traced steps; likewise.
  const Clock* clock = nullptr;
};

class WorkerClient : public Worker, private bus::ChannelEvents {
 public:
  // The number of releases that a new connection must confirm before others are
  // sent.
  static constexpr size_t kMaxReleasesAtOnce = 64;

  // `transport` must outlive the client.
  WorkerClient(bus::Transport& transport, const WorkerClientOptions& options);
  // Fails pending calls with CANCELLED, on this thread. Must not be called from
  // a `done` or an event, nor while one of its runs may be cancelled.
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
  void Abort(const StepId& step, uint64_t steps_finished_below,
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
  // Session and registration -> the session as it was passed.
  using Releasing =
      absl::btree_map<std::pair<uint64_t, uint64_t>, WorkerSession>;
  // If a task is disconnected for long, the oldest are dropped.
  static constexpr size_t kMaxReleasing = 65536;

  void OnConnected(const bus::Identity& peer) override;
  void OnDisconnected(const absl::Status& why) override;

  // Sends the release. `then`, which may be null, is called once it is
  // answered; not if the connection is lost before.
  void SendDeregister(const WorkerSession& session, uint64_t registration,
                      void (WorkerClient::*then)());
  // Sends the next of unsent_, and the one after it when that is answered.
  void SendNextRelease() ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes and returns the next one; none if there are no more.
  std::optional<Releasing::value_type> TakeUnsent() ABSL_LOCKS_EXCLUDED(mutex_);
  void Released(uint64_t session, uint64_t registration)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A call that is answered by Done.
  bus::Channel::CallId Call(bus::Message request, absl::Time deadline,
                            Done done);
  void SendAbort(const std::shared_ptr<PendingRun>& run,
                 const absl::Status& cause);
  // A connected task that refuses an Abort would continue the step; ending the
  // connection over which the Abort was sent ends the step.
  void EndConnection(uint64_t connection, const absl::Status& why);
  // Adds to UNAVAILABLE which task it was and what to check.
  absl::Status Explain(const absl::Status& status) const;
  // Likewise for a call that waited for a connection.
  absl::Status ExplainWaiting(const absl::Status& status)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const WorkerClientOptions options_;
  std::atomic<bool> has_pushed_{false};  // tensors
  absl::Mutex mutex_;
  // The last peer that OnPeerConnected accepted, until OnPeerLost.
  std::optional<bus::Identity> connected_ ABSL_GUARDED_BY(mutex_);
  // Of the process to which `releasing_` belongs; 0: there was none yet.
  uint64_t incarnation_ ABSL_GUARDED_BY(mutex_) = 0;
  // Registrations whose release that process has not confirmed, by session. A
  // sent release may be lost with the connection, which the sessions outlive.
  Releasing releasing_ ABSL_GUARDED_BY(mutex_);
  // Of these, those that the connection has yet to send; the others were lost
  // with an earlier one.
  Releasing unsent_ ABSL_GUARDED_BY(mutex_);
  // Of the attempts since then; OK before the first has failed.
  absl::Status last_failure_ ABSL_GUARDED_BY(mutex_);
  // Last, because its destructor ends all callbacks. Set once, before any call.
  std::unique_ptr<bus::Channel> channel_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_WORKER_WORKER_CLIENT_H_
