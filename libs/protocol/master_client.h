// MasterClient: the Master role of a server, reached over the bus: a session's
// hand on its master in another process.
//
// Each call waits for a connection at first, for the connect timeout; only
// RunCallable, ReleaseCallable and CloseSession do not, and fail with
// UNAVAILABLE while there is none. When the connection is lost, what was
// pending fails with UNAVAILABLE; the session lives on at the server for its
// lease, and the channel dials again.
//
// Threads: as Master says; `done` comes on a thread of the channel's.
#ifndef WEFT_LIBS_PROTOCOL_MASTER_CLIENT_H_
#define WEFT_LIBS_PROTOCOL_MASTER_CLIENT_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/cancellation.h"
#include "libs/base/logging.h"
#include "libs/base/owned_timers.h"
#include "libs/base/scheduler.h"
#include "libs/bus/address.h"
#include "libs/bus/transport.h"
#include "libs/protocol/master.h"
#include "libs/tensor/buffer.h"

namespace weft::protocol {

struct MasterClientOptions {
  bus::Address address;
  // A client's: no task. Its incarnation should be drawn for this client alone:
  // the server closes what an incarnation has opened some time after its last
  // connection was lost.
  bus::Identity self;
  Scheduler* scheduler = nullptr;  // outlives the client
  // Of fetches. Outlives the client, and what it brought unless its buffers
  // keep it alive.
  Allocator* allocator = nullptr;
  // How long to wait for the server to be there.
  absl::Duration connect_timeout = absl::Seconds(30);
  // Bound of all calls but RunCallable.
  absl::Duration operation_timeout = absl::InfiniteDuration();
  // A wait for the server, and for a graph to be placed, that takes longer is
  // logged, once. Infinite: never.
  absl::Duration log_waits_after = absl::Seconds(5);
  Logger* logger = nullptr;  // outlives the client; null: nothing is logged
};

class MasterClient : public Master, private bus::ChannelEvents {
 public:
  // `transport` outlives the client.
  MasterClient(bus::Transport& transport, const MasterClientOptions& options);
  // Fails what is pending with CANCELLED. Nothing is called, nor being
  // cancelled, meanwhile.
  ~MasterClient() override;

  // Calls `done` when the server is there; calls wait for that by themselves.
  // UNAVAILABLE after the connect timeout, with what the last attempt ran into;
  // or the server's refusal.
  void WhenConnected(Done done) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for a thread that may wait.
  absl::Status WaitForConnection();

  void CreateSession(const SessionConfig& config,
                     Answer<uint64_t> done) override;
  void ExtendSession(uint64_t session, GraphExtension extension,
                     Cancellation* client,
                     Answer<ExtensionResult> done) override;
  void MakeCallable(uint64_t session, CallableSpec spec, Cancellation* client,
                    Answer<uint64_t> done) override;
  void RunCallable(uint64_t session, uint64_t callable, const CallableRun& run,
                   Done done) override;
  void ReleaseCallable(uint64_t session, uint64_t callable, Done done) override;
  void CloseSession(uint64_t session, Done done) override;
  void Reset(const std::vector<std::string>& containers,
             const std::vector<std::string>& device_filters,
             Cancellation* client, Done done) override;
  void ListDevices(Cancellation* client,
                   Answer<std::vector<DeviceAttributes>> done) override;

 private:
  class PendingRun;
  // Of those that wait for a connection: how to call, and what ends the wait.
  struct Waiter {
    Done go_on;
    OwnedTimers::Id timer = 0;
  };
  using Reply = Answer<bus::Message>;

  void OnConnected(const bus::Identity& peer) override;
  void OnDisconnected(const absl::Status& why) override;
  // All that wait: with OK, or with what refuses them.
  void WakeAll(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  void TimedOut(uint64_t waiter) ABSL_LOCKS_EXCLUDED(mutex_);
  bool LogsWaits() const;
  void LogThatNobodyIsThere() ABSL_LOCKS_EXCLUDED(mutex_);
  void LogThatItIsNotPlaced() ABSL_LOCKS_EXCLUDED(mutex_);
  // `done` of a call that places nodes, which may take long.
  Answer<ExtensionResult> LogIfLong(Answer<ExtensionResult> done);
  absl::Time Soon(absl::Duration timeout) const;

  // `done`, and then the news of it for the caller's thread.
  Done ThenWakeLeader(Done done, std::shared_ptr<std::atomic<bool>> is_done);
  // WhenConnected, or the cause of the cancellation, if that comes before.
  void WhenConnectedUnless(Cancellation* cancelled, Done done);
  // As soon as there is a connection.
  void Call(bus::Message request, Cancellation* client, Reply done);
  // UNAVAILABLE when there is no connection.
  void CallNow(bus::Message request, Cancellation* client, Reply done);
  // Answers with what `read` makes of the reply.
  template <typename T, typename Read>
  Reply Reading(Answer<T> done, Read read) const;
  Reply ReadingDone(Done done) const;
  // What says which server it was and what to look at.
  absl::Status Explain(const absl::Status& status) const;

  bus::Transport& transport_;
  const MasterClientOptions options_;
  const std::string target_;  // "zmq://host:port"
  absl::Mutex mutex_;
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;
  // Of the attempts since; OK before the first has failed.
  absl::Status last_failure_ ABSL_GUARDED_BY(mutex_);
  // In the order of their coming.
  std::map<uint64_t, Waiter> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_waiter_ ABSL_GUARDED_BY(mutex_) = 0;
  // The line that no server is there was logged, or its timer runs. Cleared by
  // a connection.
  bool is_loss_logged_ ABSL_GUARDED_BY(mutex_) = false;
  OwnedTimers timers_;  // of those that wait
  // Last: its end ends all callbacks. Set once, before any call.
  std::unique_ptr<bus::Channel> channel_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_MASTER_CLIENT_H_
