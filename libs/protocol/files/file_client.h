// FileClient is the Files role of another task, reached over the bus.
//
// Calls that name a path wait for a connection until there has been none for
// `connect_timeout`; after that they fail at once with UNAVAILABLE until there
// is one again. Calls on an open file always fail at once without a connection.
// When a connection is lost, unanswered calls fail with UNAVAILABLE, which
// leaves open whether they were executed; the channel redials. A sync of a
// directory fails in the same way if the task has restarted since a file was
// renamed there.
//
// Threads: as in Files; `done` runs on the reading thread, or on the compute
// pool if the answer takes long to read, the connection was lost or the
// deadline has passed.
#ifndef WEFT_LIBS_PROTOCOL_FILES_FILE_CLIENT_H_
#define WEFT_LIBS_PROTOCOL_FILES_FILE_CLIENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/address.h"
#include "libs/bus/transport.h"
#include "libs/protocol/files/files.h"
#include "libs/protocol/files/unsynced_renames.h"

namespace weft::protocol {

struct FileClientOptions {
  bus::Address address;
  bus::Identity self;
  // The task that must be at the address,
  // "/job:checkpoint_writer/replica:0/task:0"; empty if any task may be there.
  std::string task;
  Scheduler* scheduler = nullptr;  // must outlive the client
  // How long calls wait for a connection, counted from when it was lost, or
  // from the start.
  absl::Duration connect_timeout = absl::Seconds(10);
};

class FileClient : public Files, private bus::ChannelEvents {
 public:
  // `transport` must outlive the client.
  FileClient(bus::Transport& transport, const FileClientOptions& options);
  // Fails pending calls with CANCELLED and waits for each `done`; so it must
  // not be called from one. No other call may be running.
  ~FileClient() override;

  // Performs a request. Expectations (IsExpectation) do not wait for a
  // connection; they are sent again over each new one.
  void Operate(FileRequest request, absl::Time deadline,
               std::shared_ptr<Cancellation> cancellation, Done done) override;

 private:
  struct Pending;

  void OnConnected(const bus::Identity& peer) override;
  void OnDisconnected(const absl::Status& why) override;

  // Returns until when a call made now waits for a connection; a past time if
  // there is one, or none is waited for.
  absl::Time LastWait(FileAction action) ABSL_LOCKS_EXCLUDED(mutex_);
  // Records an expectation; returns false if there is no connection to send it
  // over.
  bool NoteExpectation(FileAction action) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sends the current expectation, if any, over a new connection.
  void SendExpectation() ABSL_LOCKS_EXCLUDED(mutex_);
  std::optional<bool> expectation() ABSL_LOCKS_EXCLUDED(mutex_);
  void Start(FileRequest request, absl::Time deadline,
             std::shared_ptr<Cancellation> cancellation, Done done);
  void SendWhenConnected(const std::shared_ptr<Pending>& pending,
                         absl::Time deadline);
  void Send(const std::shared_ptr<Pending>& pending);
  // Returns an error if the result is not durable: see UnsyncedRenames.
  absl::Status CheckDurable(const FileRequest& done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns `status` with the name of the server that did not answer, and what
  // to check.
  absl::Status Explain(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  const FileClientOptions options_;
  const std::string who_;  // "zmq://host:port"
  absl::Mutex mutex_;
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t incarnation_ ABSL_GUARDED_BY(mutex_) = 0;  // of the last connection
  // The last expectation; nullopt if none was ever set.
  std::optional<bool> expects_saves_ ABSL_GUARDED_BY(mutex_);
  UnsyncedRenames renames_ ABSL_GUARDED_BY(mutex_);
  absl::Time disconnected_since_ ABSL_GUARDED_BY(mutex_);
  // The error of the last attempt to connect since then; OK if none has failed.
  absl::Status last_failure_ ABSL_GUARDED_BY(mutex_);
  // Last, because its destructor ends all callbacks. Set once, before any call.
  std::unique_ptr<bus::Channel> channel_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_FILES_FILE_CLIENT_H_
