// CoordinatorClient is the Coordinator role, reached over the bus: a task's
// connection to its coordinator, or a tool's to any task, which forwards the
// calls of tools.
//
// Each call waits for a connection until its deadline; then it fails with
// UNAVAILABLE and the error of the last attempt. Leave and EndSession wait at
// most kPartingTime. When the connection is lost, unanswered calls fail with
// UNAVAILABLE, and the channel redials.
//
// Threads: as in Coordinator; `done` runs on the compute pool.
#ifndef WEFT_LIBS_PROTOCOL_COORDINATOR_COORDINATOR_CLIENT_H_
#define WEFT_LIBS_PROTOCOL_COORDINATOR_COORDINATOR_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/address.h"
#include "libs/bus/transport.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft::protocol {

// CoordinatorEvents reports changes of the connection to the coordinator.
// Called on the reading thread; must return soon.
class CoordinatorEvents {
 public:
  virtual ~CoordinatorEvents() = default;
  // Called when there is a connection. A task that had joined must join again.
  // Calls that waited for the connection have already been sent.
  virtual void OnCoordinatorConnected(const bus::Identity& coordinator) = 0;
  // Called when the connection reported by OnCoordinatorConnected is lost. Also
  // called if bus::IsRefusal(why): then no connection was made, and calls fail
  // until there is one.
  virtual void OnCoordinatorLost(const absl::Status& why) = 0;
};

struct CoordinatorClientOptions {
  bus::Address address;
  bus::Identity self;
  // The task that must be at the address, "/job:coordinator/replica:0/task:0";
  // empty if any task may be there.
  std::string task;
  Scheduler* scheduler = nullptr;       // must outlive the client
  CoordinatorEvents* events = nullptr;  // may be null; must outlive it, too
};

// The timeout of calls of a task that leaves.
inline constexpr absl::Duration kPartingTime = absl::Seconds(3);

class CoordinatorClient : public Coordinator, private bus::ChannelEvents {
 public:
  // `transport` must outlive the client.
  CoordinatorClient(bus::Transport& transport,
                    const CoordinatorClientOptions& options);
  // Fails pending calls with CANCELLED and waits for each `done`; so it must
  // not be called from one. No other call may be running.
  ~CoordinatorClient() override;

  void Join(const JoinRequest& request, absl::Time deadline,
            Answer<JoinReply> done) override;
  void Heartbeat(const HeartbeatRequest& request, absl::Time deadline,
                 Answer<HeartbeatReply> done) override;
  void Leave(const LeaveRequest& request, absl::Time deadline,
             Done done) override;
  void Place(const PlacementRequest& request, absl::Time deadline,
             std::shared_ptr<Cancellation> cancellation,
             Answer<PlacementReply> done) override;
  void EndSession(uint64_t session, absl::Time deadline, Done done) override;
  void ForgetContainers(const std::vector<std::string>& containers,
                        const std::vector<std::string>& device_filters,
                        absl::Time deadline,
                        std::shared_ptr<Cancellation> cancellation,
                        Done done) override;
  void ListDevices(const std::vector<std::string>& device_filters,
                   absl::Time deadline,
                   std::shared_ptr<Cancellation> cancellation,
                   Answer<std::vector<DeviceAttributes>> done) override;
  void GetCluster(const ClusterQuery& query, absl::Time deadline,
                  Answer<ClusterStatus> done) override;
  void Shutdown(absl::Time deadline, Done done) override;

 private:
  template <typename T>
  using Read = absl::AnyInvocable<absl::StatusOr<T>(bus::Message)>;

  void OnConnected(const bus::Identity& peer) override;
  void OnDisconnected(const absl::Status& why) override;

  // Passes the result of `read` on a reply to `done`.
  template <typename T>
  Answer<bus::Message> Reading(Read<T> read, Answer<T> done) const;
  // Sends a request and passes its result to `done`. `request` may be the error
  // of writing the request. The answer is read on `pool`.
  template <typename T>
  void Call(absl::StatusOr<bus::Message> request, absl::Time deadline,
            Read<T> read, Answer<T> done, Pool pool = Pool::kGraph);
  // Like Call, for a call that can be cancelled: the other end is notified when
  // `cancellation`, which may be null, is cancelled.
  template <typename T>
  void CallUnlessCancelled(absl::StatusOr<bus::Message> request,
                           absl::Time deadline,
                           const std::shared_ptr<Cancellation>& cancellation,
                           Read<T> read, Answer<T> done);
  void CallRawUnlessCancelled(bus::Message request, absl::Time deadline,
                              const std::shared_ptr<Cancellation>& cancellation,
                              Answer<bus::Message> done, Pool pool);
  // `cancellation` may be null.
  void CallForDone(bus::Message request, absl::Time deadline,
                   const std::shared_ptr<Cancellation>& cancellation,
                   Done done);
  bus::Channel::CallId CallRaw(bus::Message request, absl::Time deadline,
                               Answer<bus::Message> done, Pool pool);
  // Returns the earlier of `deadline` and the end of kPartingTime.
  absl::Time PartingDeadline(absl::Time deadline) const;
  // Returns how long before `deadline` the other end must answer, so that its
  // answer arrives in time.
  absl::Duration AnswerTime(absl::Time deadline) const;
  // Returns `status` with the name of the server that did not answer, and what
  // to check.
  absl::Status Explain(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  const CoordinatorClientOptions options_;
  const std::string who_;  // "the coordinator at zmq://host:port"
  InFlight in_flight_;     // answers being read
  absl::Mutex mutex_;
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;
  // The error of the last attempt to connect since then; OK if none has failed.
  absl::Status last_failure_ ABSL_GUARDED_BY(mutex_);
  // Last, because its destructor ends all callbacks. Set once, before any call.
  std::unique_ptr<bus::Channel> channel_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_COORDINATOR_COORDINATOR_CLIENT_H_
