// SessionSummaryWriter writes event files for the hooks of a training: one
// FileWriter is shared by all hooks that write into one directory during a
// session. The next session starts another file, which TensorBoard shows
// together with the first.
//
// Events that cannot be written are lost and logged, at most once a minute;
// training continues. Only the first session fails if its file cannot be
// created; later ones retry with each event. A hung file system blocks a thread
// of the session's coordinator, and keeps the session alive, until it returns;
// no caller waits for that.
//
// Threads: all methods from any thread, Open and Close one at a time; these two
// and Flush block, for at most 30 s on a hung file system (Open: without a
// limit, the first time).
#ifndef WEFT_LIBS_TRAIN_SESSIONS_SESSION_SUMMARY_WRITER_H_
#define WEFT_LIBS_TRAIN_SESSIONS_SESSION_SUMMARY_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/fs/local_file_system.h"
#include "libs/session/session.h"
#include "libs/summary/event.h"
#include "libs/summary/file_writer.h"
#include "libs/train/sessions/coordinator.h"
#include "libs/train/sessions/defaults.h"

namespace weft::train {

// Size at which an event file is rotated: an object store copies all of it at
// each flush.
inline constexpr uint64_t kMaxEventFileBytes = uint64_t{256} << 20;

class SessionSummaryWriter {
 public:
  // `logger` must outlive the writer; null: stderr. `filename_suffix`
  // distinguishes a second writer in the directory. FileWriterOptions describes
  // `filename_suffix` and `max_file_bytes`.
  explicit SessionSummaryWriter(std::string logdir, Logger* logger = nullptr,
                                std::string filename_suffix = "",
                                uint64_t max_file_bytes = kMaxEventFileBytes);

  const std::string& logdir() const { return logdir_; }

  // Opens the writer with the session's files and scheduler, which live as long
  // as threads of the coordinator run. Does nothing if it is open. Returns the
  // error of the file system, unless the writer has been open before.
  absl::Status Open(const Session& session, Coordinator& coordinator)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Closes the writer, after waiting for calls of other threads. Does nothing
  // if it is closed. Must be called before the session is destroyed.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  // Adds a scalar event. Does nothing while the writer is closed.
  void AddScalar(const std::string& tag, float value, int64_t step);
  // Adds an event. `summary` is the serialized Summary of a summary op.
  void AddSummary(absl::string_view summary, int64_t step)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void AddSessionLog(const summary::SessionLog& log, int64_t step)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds an event. `run_metadata` is a serialized RunMetadata. `tag` must not
  // have been used before.
  void AddRunMetadata(absl::string_view run_metadata, absl::string_view tag,
                      int64_t step) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds a serialized GraphDef and its MetaGraphDef. They are written only once
  // over all sessions, unless lost with the file of an earlier session. If both
  // together exceed the memory bound, waits like Flush.
  void AddGraphOnce(absl::string_view graph_def, absl::string_view meta_graph)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Flush() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // OpenWriter is the open FileWriter and the calls that use it.
  struct OpenWriter;
  class Call;
  Call BeginCall() ABSL_LOCKS_EXCLUDED(mutex_);
  void LogUnlessOk(const absl::Status& status);
  // Logs the result of adding an event, or errors of earlier ones.
  void LogOfAdded(OpenWriter& open, absl::Status added)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Checks, after a flush, whether the graph is durable in the file of `open`.
  void SettleGraph(OpenWriter& open, const absl::Status& flushed)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string logdir_;
  const std::string filename_suffix_;
  const uint64_t max_file_bytes_;
  const DefaultLogger logger_;
  LocalFileSystem local_files_;
  absl::Mutex mutex_;
  std::shared_ptr<OpenWriter> open_ ABSL_GUARDED_BY(mutex_);
  bool has_been_open_ ABSL_GUARDED_BY(mutex_) = false;
  // Whether the graph is durable in a file.
  bool has_graph_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_SESSION_SUMMARY_WRITER_H_
