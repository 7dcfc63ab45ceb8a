// MasterClient: the Master role of a server, reached over the bus: a session's
// hand on its master in another process.
//
// Each call waits for a connection at first, for the connect timeout; only
// RunCallable, ReleaseCallable and CloseSession do not, and fail with
// UNAVAILABLE while there is none. When
// the connection is lost, what was pending fails with UNAVAILABLE; the session
// lives on at the server for its lease, and the channel dials again.
//
// Threads: as Master says.
#ifndef WEFT_LIBS_PROTOCOL_MASTER_CLIENT_H_
#define WEFT_LIBS_PROTOCOL_MASTER_CLIENT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
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
};

class MasterClient : public Master, private bus::ChannelEvents {
 public:
  // `transport` outlives the client.
  MasterClient(bus::Transport& transport, const MasterClientOptions& options);
  // Fails runs that are pending with CANCELLED. No other call is running, and
  // no run is being cancelled.
  ~MasterClient() override;

  // Waits for the server; calls do it by themselves. UNAVAILABLE after the
  // connect timeout, with what the last attempt ran into; or the server's
  // refusal.
  absl::Status WaitForConnection();

  absl::StatusOr<uint64_t> CreateSession(const SessionConfig& config) override;
  absl::StatusOr<ExtensionResult> ExtendSession(
      uint64_t session, const GraphExtension& extension) override;
  absl::StatusOr<uint64_t> MakeCallable(uint64_t session,
                                        const CallableSpec& spec) override;
  void RunCallable(uint64_t session, uint64_t callable, const CallableRun& run,
                   Done done) override;
  absl::Status ReleaseCallable(uint64_t session, uint64_t callable) override;
  absl::Status CloseSession(uint64_t session) override;
  absl::Status Reset(const std::vector<std::string>& containers,
                     const std::vector<std::string>& device_filters) override;
  absl::StatusOr<std::vector<DeviceAttributes>> ListDevices() override;

 private:
  class PendingRun;

  void OnConnected(const bus::Identity& peer) override;
  void OnDisconnected(const absl::Status& why) override;
  void WakeAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Time Soon(absl::Duration timeout) const;

  // `done`, and then the news of it for the caller's thread.
  Done ThenWakeLeader(Done done, std::shared_ptr<std::atomic<bool>> is_done);
  // Waits for a connection, and for the answer.
  absl::StatusOr<bus::Message> Call(bus::Message request);
  // Waits for the answer; UNAVAILABLE when there is no connection.
  absl::StatusOr<bus::Message> CallNow(bus::Message request);
  absl::Status CallForDone(bus::Message request);
  // What says which server it was and what to look at.
  absl::Status Explain(const absl::Status& status) const;

  bus::Transport& transport_;
  const MasterClientOptions options_;
  const std::string target_;  // "zmq://host:port"
  absl::Mutex mutex_;
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;
  // Of the attempts since; OK before the first has failed.
  absl::Status last_failure_ ABSL_GUARDED_BY(mutex_);
  // Of those that wait for a change of the two above.
  std::vector<std::shared_ptr<Event>> waiting_ ABSL_GUARDED_BY(mutex_);
  // Last: its end ends all callbacks. Set once, before any call.
  std::unique_ptr<bus::Channel> channel_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_MASTER_CLIENT_H_
