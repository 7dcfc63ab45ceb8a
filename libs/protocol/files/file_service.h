// FileService serves files to tasks and clients over the bus: it converts
// incoming messages of the role Files to calls, and their results to replies.
// Each connection is a separate client; its open files are closed with it.
//
// A client that expects saves and loses its connection is kept for a short
// time: the owner of the files still sees a client that expects saves, until it
// returns or kReconnectLease expires. So a task that starts to drain in between
// waits for it.
//
// Threads: OnRequest as in bus::Handler; the role's method is fast.
#ifndef WEFT_LIBS_PROTOCOL_FILES_FILE_SERVICE_H_
#define WEFT_LIBS_PROTOCOL_FILES_FILE_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/handler.h"
#include "libs/protocol/files/files.h"
#include "libs/protocol/method_table.h"
#include "libs/protocol/pending_replies.h"

namespace weft::protocol {

struct FileServiceOptions {
  // Returns the files of a newly connected client. Neither the call nor the
  // destructor of the result blocks.
  std::function<std::shared_ptr<Files>()> new_client;
  Scheduler* scheduler = nullptr;  // must outlive the service
};

class FileService : public RoleService<FileService> {
 public:
  explicit FileService(const FileServiceOptions& options);
  // Releases all clients and waits until their calls are answered; no new ones
  // may arrive.
  ~FileService();

  // How long a client that has lost its connection is kept. It is long enough
  // to redial a connection that was cut.
  static constexpr absl::Duration kReconnectLease = absl::Seconds(2);

  static constexpr char kRole[] = "a task that keeps files";
  static const MethodRow<FileService>* FindMethod(uint8_t method);

  // Returns whether a client of this incarnation expects saves, or did just
  // before it lost its connection.
  bool ExpectsSaves(uint64_t incarnation) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Called for all connections of the server; fast.
  void OnConnect(const bus::Peer& peer) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDisconnect(const bus::Peer& peer) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Call = std::shared_ptr<bus::IncomingCall>;
  struct Client {
    std::shared_ptr<Files> files;
    uint64_t incarnation = 0;
    bool expects_saves = false;
  };
  // An Awaited holds the place of a client that may return.
  struct Awaited {
    std::shared_ptr<Files> files;
    uint64_t number = 0;  // number of the wait, from num_waits_
    Scheduler::TimerId timer = 0;
  };

  std::shared_ptr<Files> NewExpectingFiles() const;
  void HoldPlaceFor(uint64_t incarnation) ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes and returns the awaited client. If `number` is given, does so only
  // for that wait, because the timer of an earlier wait may fire late.
  std::shared_ptr<Files> EndAwaiting(
      uint64_t incarnation, std::optional<uint64_t> number = std::nullopt)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteExpectation(const bus::Peer& peer, FileAction action)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Operate(Call call, bus::Message request);
  // Returns the files of the client; null if the connection is gone.
  std::shared_ptr<Files> ClientOf(const bus::Peer& peer)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const FileServiceOptions options_;
  PendingReplies replies_;
  InFlight timers_;
  mutable absl::Mutex mutex_;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t num_waits_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint64_t, Awaited> awaited_ ABSL_GUARDED_BY(mutex_);
  // The clients by connection. A client is added when its connection opens,
  // because the owner of the files, when it stops, also waits for a client that
  // has sent no request since it reconnected.
  absl::flat_hash_map<uint64_t, Client> clients_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_FILES_FILE_SERVICE_H_
