// SessionSummaryWriter: what the hooks of a training write event files with:
// one FileWriter for all that write into one directory, as long as a session
// lasts. The next session begins another file, which TensorBoard shows with the
// first.
//
// Events that cannot be written are lost, and a line of the log says so, once a
// minute at most: training goes on without them. Only the first session is
// refused where its file cannot be made; later ones try again with each event.
// Files that do not answer keep a thread of the session's coordinator, and with
// it the session, until they do; nobody waits for that.
//
// Threads: all methods from any thread, Open and Close one at a time; these two
// and Flush block, for 30 s at most where files do not answer (Open: as long as
// they take, the first time).
#ifndef WEFT_LIBS_TRAIN_SESSION_SUMMARY_WRITER_H_
#define WEFT_LIBS_TRAIN_SESSION_SUMMARY_WRITER_H_

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
#include "libs/train/coordinator.h"
#include "libs/train/defaults.h"

namespace weft::train {

// A file of events is followed by another one when it has grown to this: an
// object store copies all of it at each flush.
inline constexpr uint64_t kMaxEventFileBytes = uint64_t{256} << 20;

class SessionSummaryWriter {
 public:
  // `logger` outlives it; null: lines on stderr. `filename_suffix`: for a
  // second one that writes into the directory; it and `max_file_bytes` as in
  // FileWriterOptions.
  explicit SessionSummaryWriter(std::string logdir, Logger* logger = nullptr,
                                std::string filename_suffix = "",
                                uint64_t max_file_bytes = kMaxEventFileBytes);

  const std::string& logdir() const { return logdir_; }

  // With the session's files and scheduler, which stay as long as threads of
  // the coordinator run; nothing when it is open. The error of files, unless it
  // has been open before.
  absl::Status Open(const Session& session, Coordinator& coordinator)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // To be called before the session goes; nothing when it is closed. Waits for
  // other threads' calls.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  // Nothing is added while it is closed.
  void AddScalar(const std::string& tag, float value, int64_t step);
  // The bytes of a Summary, as a summary op gives them.
  void AddSummary(absl::string_view summary, int64_t step)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void AddSessionLog(const summary::SessionLog& log, int64_t step)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The bytes of a RunMetadata, under a tag that has none yet.
  void AddRunMetadata(absl::string_view run_metadata, absl::string_view tag,
                      int64_t step) ABSL_LOCKS_EXCLUDED(mutex_);
  // The bytes of a GraphDef and of its MetaGraphDef; once, however many
  // sessions there are, unless it was lost with the file of an earlier one.
  // Where the two fill what may wait in memory, waits as Flush does.
  void AddGraphOnce(absl::string_view graph_def, absl::string_view meta_graph)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Flush() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What is open, and the calls that use it.
  struct OpenWriter;
  class Call;
  Call BeginCall() ABSL_LOCKS_EXCLUDED(mutex_);
  void LogUnlessOk(const absl::Status& status);
  // Tells what became of an event, or of those before it.
  void LogOfAdded(OpenWriter& open, absl::Status added)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // What the file of `open` has come to: whether the graph is in it for good.
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
  bool has_graph_ ABSL_GUARDED_BY(mutex_) = false;  // in a file, for good
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSION_SUMMARY_WRITER_H_
