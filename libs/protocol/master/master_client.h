// MasterClient is the Master role of a server, reached over the bus: a
// session's connection to its master in another process.
//
// Each call first waits for a connection, for the connect timeout; only
// RunCallable, ReleaseCallable and CloseSession do not wait and fail with
// UNAVAILABLE while there is none. When the connection is lost, pending calls
// fail with UNAVAILABLE; the session stays open at the server for its lease,
// and the channel redials.
//
// Threads: as in Master; `done` runs on a thread of the channel.
#ifndef WEFT_LIBS_PROTOCOL_MASTER_MASTER_CLIENT_H_
#define WEFT_LIBS_PROTOCOL_MASTER_MASTER_CLIENT_H_

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
#include "libs/base/async/cancellation.h"
#include "libs/base/async/owned_timers.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/address.h"
#include "libs/bus/transport.h"
#include "libs/protocol/master/master.h"
#include "libs/tensor/buffer.h"

namespace weft::protocol {

struct MasterClientOptions {
  bus::Address address;
  // The identity of a client, without a task. Its incarnation must be drawn for
  // this client alone: some time after the last connection of an incarnation
  // was lost, the server closes the sessions that it has opened.
  bus::Identity self;
  Scheduler* scheduler = nullptr;  // must outlive the client
  // Allocates fetched tensors. Must outlive the client, and also the fetched
  // tensors unless their buffers keep it alive.
  Allocator* allocator = nullptr;
  // How long to wait for the server.
  absl::Duration connect_timeout = absl::Seconds(30);
  // The timeout of all calls except RunCallable.
  absl::Duration operation_timeout = absl::InfiniteDuration();
  // A wait for the server or for the placement of a graph that is longer than
  // this is logged once. Infinite for no log line.
  absl::Duration log_waits_after = absl::Seconds(5);
  Logger* logger = nullptr;  // must outlive the client; null: nothing is logged
};

class MasterClient : public Master, private bus::ChannelEvents {
 public:
  // `transport` must outlive the client.
  MasterClient(bus::Transport& transport, const MasterClientOptions& options);
  // Fails pending calls with CANCELLED. No call or cancellation may run
  // meanwhile.
  ~MasterClient() override;

  // Calls `done` when the server is connected; other calls wait for that
  // themselves. UNAVAILABLE after the connect timeout, with the error of the
  // last attempt; or the server's refusal.
  void WhenConnected(Done done) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until the server is connected, or returns the error of WhenConnected.
  // Blocks.
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
  // A call that waits for a connection: how to call, and what ends the wait.
  struct Waiter {
    Done go_on;
    OwnedTimers::Id timer = 0;
  };
  using Reply = Answer<bus::Message>;

  void OnConnected(const bus::Identity& peer) override;
  void OnDisconnected(const absl::Status& why) override;
  // Continues all waiting calls with `status`: OK, or the server's refusal.
  void WakeAll(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  void TimedOut(uint64_t waiter) ABSL_LOCKS_EXCLUDED(mutex_);
  bool LogsWaits() const;
  void LogThatNobodyIsThere() ABSL_LOCKS_EXCLUDED(mutex_);
  void LogThatItIsNotPlaced() ABSL_LOCKS_EXCLUDED(mutex_);
  // Wraps `done` of a call that places nodes, which may take long.
  Answer<ExtensionResult> LogIfLong(Answer<ExtensionResult> done);
  absl::Time Soon(absl::Duration timeout) const;

  // Wraps `done` so that it also wakes the caller's thread.
  Done WakeLeaderAfter(Done done, std::shared_ptr<std::atomic<bool>> is_done);
  // Like WhenConnected, but ends with the cause of the cancellation if that
  // comes first.
  void WhenConnectedUnless(Cancellation* cancelled, Done done);
  // Sends the request as soon as there is a connection.
  void Call(bus::Message request, Cancellation* client, Reply done);
  // Sends the request now; UNAVAILABLE if there is no connection.
  void CallNow(bus::Message request, Cancellation* client, Reply done);
  // Returns a callback that passes the result of `read` on the reply to `done`.
  template <typename T, typename Read>
  Reply Reading(Answer<T> done, Read read) const;
  Reply ReadingDone(Done done) const;
  // Returns `status` with the name of the server, and what to check.
  absl::Status Explain(const absl::Status& status) const;

  bus::Transport& transport_;
  const MasterClientOptions options_;
  const std::string target_;  // "zmq://host:port"
  absl::Mutex mutex_;
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;
  // The error of the last attempt to connect since then; OK if none has failed.
  absl::Status last_failure_ ABSL_GUARDED_BY(mutex_);
  // The waiting calls in the order of their arrival.
  std::map<uint64_t, Waiter> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_waiter_ ABSL_GUARDED_BY(mutex_) = 0;
  // Whether the missing server was logged, or the timer for that runs. Cleared
  // by a connection.
  bool is_loss_logged_ ABSL_GUARDED_BY(mutex_) = false;
  OwnedTimers timers_;  // of waiting calls
  // Last, because its destructor ends all callbacks. Set once, before any call.
  std::unique_ptr<bus::Channel> channel_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_MASTER_MASTER_CLIENT_H_
