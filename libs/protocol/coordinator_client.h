// CoordinatorClient: the Coordinator role, reached over the bus: a task's hand
// on its coordinator, or a tool's on any task, which passes on what tools ask.
//
// Each call waits for a connection until its deadline; then it is UNAVAILABLE
// and says what the last attempt ran into. Leave and EndSession wait no longer
// than kPartingTime. When the connection is lost, what was sent and is not
// answered fails with UNAVAILABLE, and the channel dials again.
//
// Threads: as Coordinator says; `done` comes on the compute pool.
#ifndef WEFT_LIBS_PROTOCOL_COORDINATOR_CLIENT_H_
#define WEFT_LIBS_PROTOCOL_COORDINATOR_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/in_flight.h"
#include "libs/base/scheduler.h"
#include "libs/bus/address.h"
#include "libs/bus/transport.h"
#include "libs/protocol/coordinator.h"

namespace weft::protocol {

// What becomes of the connection to the coordinator. On the thread that reads;
// to return soon.
class CoordinatorEvents {
 public:
  virtual ~CoordinatorEvents() = default;
  // Whoever joined before has to do it again. Calls that waited for the
  // connection have been sent already.
  virtual void OnCoordinatorConnected(const bus::Identity& coordinator) = 0;
  // The connection that OnCoordinatorConnected told of is gone; or, if
  // bus::IsRefusal(why), none was made, and calls fail until one is.
  virtual void OnCoordinatorLost(const absl::Status& why) = 0;
};

struct CoordinatorClientOptions {
  bus::Address address;
  bus::Identity self;
  // Which has to be there, "/job:coordinator/replica:0/task:0"; empty: any.
  std::string task;
  Scheduler* scheduler = nullptr;       // outlives the client
  CoordinatorEvents* events = nullptr;  // likewise; may be null
};

// How long somebody who goes waits to be heard.
inline constexpr absl::Duration kPartingTime = absl::Seconds(3);

class CoordinatorClient : public Coordinator, private bus::ChannelEvents {
 public:
  // `transport` outlives the client.
  CoordinatorClient(bus::Transport& transport,
                    const CoordinatorClientOptions& options);
  // Fails what is pending with CANCELLED and waits for each `done`; so it is
  // not to be called from one. No other call is running.
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

  // Hands what `read` makes of a reply to `done`.
  template <typename T>
  Answer<bus::Message> Reading(Read<T> read, Answer<T> done) const;
  // `request` may be the error of writing it. The answer is read on `pool`.
  template <typename T>
  void Call(absl::StatusOr<bus::Message> request, absl::Time deadline,
            Read<T> read, Answer<T> done, Pool pool = Pool::kGraph);
  // The same; the other end is told when `cancellation`, which may be null, is
  // cancelled.
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
  // No later than somebody who goes wants to wait.
  absl::Time PartingDeadline(absl::Time deadline) const;
  // How long before `deadline` the other end has to answer, so that its words
  // are heard in time.
  absl::Duration AnswerTime(absl::Time deadline) const;
  // What says who did not answer and what to look at.
  absl::Status Explain(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  const CoordinatorClientOptions options_;
  const std::string who_;  // "the coordinator at zmq://host:port"
  InFlight in_flight_;     // answers that are being read
  absl::Mutex mutex_;
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;
  // Of the attempts since; OK before the first has failed.
  absl::Status last_failure_ ABSL_GUARDED_BY(mutex_);
  // Last: its end ends all callbacks. Set once, before any call.
  std::unique_ptr<bus::Channel> channel_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_COORDINATOR_CLIENT_H_
