// FileWriter: what a program shows TensorBoard, tf.summary.FileWriter.
//
//   ASSIGN_OR_RETURN(
//       auto writer, summary::FileWriter::Create(files, scheduler, "/logs"));
//   ASSIGN_OR_RETURN(const std::string graph, ExportGraphDef(scope.graph()));
//   RETURN_IF_ERROR(writer->AddGraph(graph));
//   // `merged` is what a MergeSummary was fetched as.
//   RETURN_IF_ERROR(writer->AddSummary(merged, step));
//   RETURN_IF_ERROR(writer->Close());
//
// Adding only puts an event into memory; a thread of the scheduler (its
// blocking pool) writes, so that no step waits for a slow disk. Errors of files
// are kept, and are what the next Flush or Close returns. What could not be
// written is lost, and counted; the writer goes on in another file once it can.
// So it does where its file was deleted, which it looks for before it writes.
//
// A directory may be s3:// or zmq:// as any path. An object store has no
// append: there each flush sends what the file has so far, and readers see what
// was flushed (docs/design/event_files.md).
//
// Threads: all methods from any thread. Create, Flush, Close and the destructor
// block: not for the compute pool.
#ifndef WEFT_LIBS_SUMMARY_FILE_WRITER_H_
#define WEFT_LIBS_SUMMARY_FILE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/in_flight.h"
#include "libs/base/owned_timers.h"
#include "libs/base/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/summary/event.h"
#include "libs/summary/events_writer.h"

namespace weft::summary {

struct FileWriterOptions {
  // Events that may wait in memory until they are written to the file, which
  // readers see after the next flush only.
  int max_queue = 10;
  // The longest that an event waits until readers see it.
  absl::Duration flush_secs = absl::Seconds(120);
  // After the name of each file. To be given, each its own, where several
  // programs of one machine write into one directory and may begin in the same
  // second.
  std::string filename_suffix;
  // A file that has grown to this is followed by another one. 0: never.
  uint64_t max_file_bytes = 0;
  // No more waits in memory, but for one event that is larger by itself: others
  // are refused. It fills when files are slower than events come, or do not
  // answer.
  size_t max_pending_bytes = size_t{64} << 20;
  // In the names of files; empty: the machine's.
  std::string hostname;
  // False: the first event makes the directory and begins the file, and Create
  // meets no error of files.
  bool begin_at_once = true;
};

class FileWriter {
 public:
  // Makes the directory, with all above it, and begins a file, unless the
  // options say that this may wait. `file_system` and `scheduler` outlive the
  // writer; events and files have its clock's WallTime. `logdir` as the file
  // system takes it; UNAVAILABLE, PERMISSION_DENIED, ... as files say.
  static absl::StatusOr<std::unique_ptr<FileWriter>> Create(
      FileSystem& file_system, Scheduler& scheduler, absl::string_view logdir,
      FileWriterOptions options = {});
  // Closes, dropping errors. Waits for a call of the file system that is under
  // way.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // All of Add: FAILED_PRECONDITION after Close; RESOURCE_EXHAUSTED where too
  // much waits to be written, INVALID_ARGUMENT where the event would be larger
  // than a message can be (2 GiB): it is not added then.

  // The bytes of a Summary, as a summary op gives them; INVALID_ARGUMENT for
  // others. As TensorFlow does, how a tag is to be shown (its metadata) is
  // written with its first value only.
  absl::Status AddSummary(absl::string_view summary, int64_t step)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);
  absl::Status AddSummary(const Summary& summary, int64_t step)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);
  // The bytes of a GraphDef and of a MetaGraphDef.
  absl::Status AddGraph(absl::string_view graph_def, int64_t step = 0)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);
  absl::Status AddMetaGraph(absl::string_view meta_graph_def, int64_t step = 0)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);
  absl::Status AddSessionLog(const SessionLog& log, int64_t step = 0)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);
  // The bytes of a RunMetadata. INVALID_ARGUMENT, as in TensorFlow, for a tag
  // that was used before.
  absl::Status AddRunMetadata(absl::string_view run_metadata,
                              absl::string_view tag, int64_t step = 0)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);
  // As it is, with its own time.
  absl::Status AddEvent(const Event& event)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);

  // Waits until readers see all that was added. The first error of a file since
  // the last Flush or Close, with the number of events that were lost;
  // DEADLINE_EXCEEDED where the files have not answered within `timeout`: they
  // go on, and a later Flush tells.
  absl::Status Flush(absl::Duration timeout = absl::Minutes(10))
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Flushes and closes the file; nothing can be added then. Closed again it
  // tells what is left to tell.
  absl::Status Close(absl::Duration timeout = absl::Minutes(10))
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Events can be added again. The first one begins a new file.
  void Reopen() ABSL_LOCKS_EXCLUDED(mutex_);

  // What Flush would tell of files, without waiting: OK while nothing is known
  // to be lost. It is told once, here or by Flush or Close.
  absl::Status TakeError() ABSL_LOCKS_EXCLUDED(mutex_);

  // The directory, as given; tf.summary.FileWriter.get_logdir.
  const std::string& logdir() const { return name_.logdir; }

 private:
  // One who waits for all that was asked for until `request`.
  struct Waiter {
    uint64_t request = 0;
    weft::Event* done = nullptr;
  };
  // What the writing thread has to do.
  struct Work {
    std::vector<std::string> events;
    uint64_t request = 0;  // all until this one are done with it
    bool flush = false;
    bool close = false;
  };

  FileWriter(FileSystem& file_system, Scheduler& scheduler, EventsFileName name,
             FileWriterOptions options);

  double Now() const;
  absl::Status Enqueue(std::string event) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status CheckRoom(size_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeForgetTags() ABSL_LOCKS_EXCLUDED(mutex_);
  void FlushIsDue() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Finish(bool close, absl::Duration timeout)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Sees to it that a thread does what there is to do.
  void StartWriting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteAll() ABSL_LOCKS_EXCLUDED(mutex_);
  // False when there is nothing to do; then nobody writes any more.
  bool TakeWork(Work& work) ABSL_LOCKS_EXCLUDED(mutex_);
  void Do(const Work& work) ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_FOUND where somebody has deleted the file.
  absl::Status CheckFile() const;
  absl::Status WriteEvent(absl::string_view event);
  absl::Status OpenFile();
  absl::Status FlushFile();
  absl::Status CloseFile();
  // Gives up the file: it may end in the middle of a record.
  void Lost(const absl::Status& why, size_t events) ABSL_LOCKS_EXCLUDED(mutex_);
  void Done(const Work& work) ABSL_LOCKS_EXCLUDED(mutex_);

  FileSystem& file_system_;
  Scheduler& scheduler_;
  const EventsFileName name_;  // of all files, but for the time
  const FileWriterOptions options_;

  // Of whoever writes, one thread at a time.
  std::unique_ptr<EventsWriter> file_;  // null: the next event begins one
  int64_t next_seconds_ = 0;            // no file begins before
  size_t unflushed_events_ = 0;

  // Held while an event is made and put into the queue, so that of the values
  // of a tag the first is first in the file.
  absl::Mutex add_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  std::set<std::string> seen_tags_ ABSL_GUARDED_BY(add_mutex_);
  std::set<std::string, std::less<>> run_tags_ ABSL_GUARDED_BY(add_mutex_);

  absl::Mutex mutex_;
  std::vector<std::string> queue_ ABSL_GUARDED_BY(mutex_);
  size_t pending_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // also being written
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool timer_is_armed_ ABSL_GUARDED_BY(mutex_) = false;
  bool flush_asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool close_asked_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;  // number of the last request
  std::vector<Waiter> waiters_ ABSL_GUARDED_BY(mutex_);
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // not told yet
  size_t lost_events_ ABSL_GUARDED_BY(mutex_) = 0;
  // Metadata may have been among what was lost.
  bool forget_tags_ ABSL_GUARDED_BY(mutex_) = false;

  InFlight writing_;
  OwnedTimers timers_;
};

}  // namespace weft::summary

#endif  // WEFT_LIBS_SUMMARY_FILE_WRITER_H_
