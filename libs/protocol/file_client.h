// FileClient: the Files of another task, reached over the bus.
//
// What names a path waits for a connection, until there has been none for
// `connect_timeout`; after that it fails at once with UNAVAILABLE until there
// is one again, and so does always what is done to an open file. When a
// connection is lost, what was sent and is not answered fails with UNAVAILABLE,
// which does not say whether it was done; the channel dials again. A sync of a
// directory fails so when the task has started again since a file was renamed
// there.
//
// Threads: as Files says; `done` comes on the thread that reads, or on the
// compute pool where the answer takes long to read, the connection was lost or
// the deadline has come.
#ifndef WEFT_LIBS_PROTOCOL_FILE_CLIENT_H_
#define WEFT_LIBS_PROTOCOL_FILE_CLIENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler.h"
#include "libs/bus/address.h"
#include "libs/bus/transport.h"
#include "libs/protocol/files.h"
#include "libs/protocol/unsynced_renames.h"

namespace weft::protocol {

struct FileClientOptions {
  bus::Address address;
  bus::Identity self;
  // Which has to be there, "/job:checkpoint_writer/replica:0/task:0"; empty:
  // any.
  std::string task;
  Scheduler* scheduler = nullptr;  // outlives the client
  // For how long calls wait for a connection, counted from when it was lost, or
  // from the start.
  absl::Duration connect_timeout = absl::Seconds(10);
};

class FileClient : public Files, private bus::ChannelEvents {
 public:
  // `transport` outlives the client.
  FileClient(bus::Transport& transport, const FileClientOptions& options);
  // Fails what is pending with CANCELLED and waits for each `done`; so it is
  // not to be called from one. No other call is running.
  ~FileClient() override;

  // What is expected (IsExpectation) is said again over each new connection; it
  // waits for none.
  void Operate(FileRequest request, absl::Time deadline,
               std::shared_ptr<Cancellation> cancellation, Done done) override;

 private:
  struct Pending;

  void OnConnected(const bus::Identity& peer) override;
  void OnDisconnected(const absl::Status& why) override;

  // Until when what is asked for now waits for a connection; long ago if there
  // is one, or none is waited for.
  absl::Time LastWait(FileAction action) ABSL_LOCKS_EXCLUDED(mutex_);
  // Remembers what is expected; false: there is no connection to say it over.
  bool NoteExpectation(FileAction action) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sends over a new connection what is expected, if that was ever said.
  void SendExpectation() ABSL_LOCKS_EXCLUDED(mutex_);
  std::optional<bool> expectation() ABSL_LOCKS_EXCLUDED(mutex_);
  void Start(FileRequest request, absl::Time deadline,
             std::shared_ptr<Cancellation> cancellation, Done done);
  void SendWhenConnected(const std::shared_ptr<Pending>& pending,
                         absl::Time deadline);
  void Send(const std::shared_ptr<Pending>& pending);
  // An error where what was done does not last: see UnsyncedRenames.
  absl::Status CheckLasts(const FileRequest& done) ABSL_LOCKS_EXCLUDED(mutex_);
  // What says who did not answer and what to look at.
  absl::Status Explain(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  const FileClientOptions options_;
  const std::string who_;  // "zmq://host:port"
  absl::Mutex mutex_;
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t incarnation_ ABSL_GUARDED_BY(mutex_) = 0;  // connected last
  // None: never said.
  std::optional<bool> expects_saves_ ABSL_GUARDED_BY(mutex_);
  UnsyncedRenames renames_ ABSL_GUARDED_BY(mutex_);
  absl::Time disconnected_since_ ABSL_GUARDED_BY(mutex_);
  // Of the attempts since; OK before the first has failed.
  absl::Status last_failure_ ABSL_GUARDED_BY(mutex_);
  // Last: its end ends all callbacks. Set once, before any call.
  std::unique_ptr<bus::Channel> channel_;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_FILE_CLIENT_H_
