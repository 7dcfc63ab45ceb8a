// FileWriter writes events for TensorBoard. It corresponds to
// tf.summary.FileWriter.
//
//   ASSIGN_OR_RETURN(
//       auto writer, summary::FileWriter::Create(files, scheduler, "/logs"));
//   ASSIGN_OR_RETURN(const std::string graph, ExportGraphDef(scope.graph()));
//   RETURN_IF_ERROR(writer->AddGraph(graph));
//   // `merged` is the fetched value of a MergeSummary.
//   RETURN_IF_ERROR(writer->AddSummary(merged, step));
//   RETURN_IF_ERROR(writer->Close());
//
// Adding only queues an event in memory; a thread of the scheduler (its
// blocking pool) writes it, so that no step waits for a slow disk. File errors
// are kept and returned by the next Flush or Close. Events that could not be
// written are lost and counted; the writer continues in another file once it
// can. It also starts another file if its file was deleted, which it checks
// before writing.
//
// A directory may be s3:// or zmq:// like any path. An object store has no
// append: there each flush sends the whole file so far, and readers see flushed
// data only (docs/design/event_files.md).
//
// Threads: all methods may be called from any thread. Create, Flush, Close and
// the destructor block and must not run on the compute pool.
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
#include "libs/base/async/in_flight.h"
#include "libs/base/async/owned_timers.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/summary/event.h"
#include "libs/summary/events_writer.h"

namespace weft::summary {

struct FileWriterOptions {
  // The maximum number of events in memory. If it is reached, events are
  // written to the file. Readers see them only after the next flush.
  int max_queue = 10;
  // The maximum time before an event is flushed.
  absl::Duration flush_secs = absl::Seconds(120);
  // The suffix of file names. It must be unique if several programs on one
  // machine write into the same directory and may start in the same second.
  std::string filename_suffix;
  // The size at which a new file is started. 0 means never.
  uint64_t max_file_bytes = 0;
  // The maximum size of pending events in bytes. Further events are rejected,
  // except that a single larger event is accepted if no other event is pending.
  // The limit is reached if writing is slower than adding, or hangs.
  size_t max_pending_bytes = size_t{64} << 20;
  // The host name in file names. If empty, the name of the machine is used.
  std::string hostname;
  // Whether Create creates the directory and the file. If false, the first
  // event creates them, and Create returns no file error.
  bool begin_at_once = true;
};

class FileWriter {
 public:
  // Creates a writer. Also creates the directory, with parents, and a file,
  // unless begin_at_once is false. `file_system` and `scheduler` must outlive
  // the writer. Events and files use the WallTime of the scheduler's clock.
  // Errors of the file system are returned, such as UNAVAILABLE or
  // PERMISSION_DENIED.
  static absl::StatusOr<std::unique_ptr<FileWriter>> Create(
      FileSystem& file_system, Scheduler& scheduler, absl::string_view logdir,
      FileWriterOptions options = {});
  // Closes the file and ignores errors. Waits for a running file system call.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // All Add methods return FAILED_PRECONDITION after Close, RESOURCE_EXHAUSTED
  // if too many bytes wait to be written, and INVALID_ARGUMENT if the event
  // would exceed the message limit (2 GiB). The event is then not added.

  // Adds a serialized Summary, as a summary op returns it. INVALID_ARGUMENT for
  // other bytes. As in TensorFlow, the metadata of a tag is written with its
  // first value only.
  absl::Status AddSummary(absl::string_view summary, int64_t step)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);
  absl::Status AddSummary(const Summary& summary, int64_t step)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);
  // Add a serialized GraphDef and a serialized MetaGraphDef.
  absl::Status AddGraph(absl::string_view graph_def, int64_t step = 0)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);
  absl::Status AddMetaGraph(absl::string_view meta_graph_def, int64_t step = 0)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);
  absl::Status AddSessionLog(const SessionLog& log, int64_t step = 0)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);
  // Adds a serialized RunMetadata. As in TensorFlow, INVALID_ARGUMENT for a tag
  // that was used before.
  absl::Status AddRunMetadata(absl::string_view run_metadata,
                              absl::string_view tag, int64_t step = 0)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);
  // Adds the event unchanged, with its own time.
  absl::Status AddEvent(const Event& event)
      ABSL_LOCKS_EXCLUDED(add_mutex_, mutex_);

  // Waits until all added events are visible to readers. Returns the first file
  // error since the last Flush or Close, with the number of lost events.
  // Returns DEADLINE_EXCEEDED if the file system has not answered within
  // `timeout`. In this case writing continues, and a later Flush reports the
  // result.
  absl::Status Flush(absl::Duration timeout = absl::Minutes(10))
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Flushes and closes the file. Afterwards no event can be added. A second
  // call returns remaining errors.
  absl::Status Close(absl::Duration timeout = absl::Minutes(10))
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Allows adding events again after Close. The next event starts a new file.
  void Reopen() ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the error that Flush would return, without waiting. Returns OK if
  // no event is known to be lost. Each error is returned only once, by this
  // method, Flush or Close.
  absl::Status TakeError() ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the directory as it was given, like
  // tf.summary.FileWriter.get_logdir.
  const std::string& logdir() const { return name_.logdir; }

 private:
  // Waiter is a caller that waits until all requests up to `request` are done.
  struct Waiter {
    uint64_t request = 0;
    weft::Event* done = nullptr;
  };
  // Work is the next work of the writing thread.
  struct Work {
    std::vector<std::string> events;
    uint64_t request = 0;  // completes requests up to this
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

  // Ensures that a thread does the pending work.
  void StartWriting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteAll() ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the pending work. Returns false if there is no work; the calling
  // thread then stops.
  bool TakeWork(Work& work) ABSL_LOCKS_EXCLUDED(mutex_);
  void Do(const Work& work) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns NOT_FOUND if the file was deleted.
  absl::Status CheckFile() const;
  absl::Status WriteEvent(absl::string_view event);
  absl::Status OpenFile();
  absl::Status FlushFile();
  absl::Status CloseFile();
  // Counts events as lost, and gives up the file, which may end within a
  // record.
  void Lost(const absl::Status& why, size_t events) ABSL_LOCKS_EXCLUDED(mutex_);
  void Done(const Work& work) ABSL_LOCKS_EXCLUDED(mutex_);

  FileSystem& file_system_;
  Scheduler& scheduler_;
  const EventsFileName name_;  // of all files, except the time
  const FileWriterOptions options_;

  // These members are used only by the writing thread.
  std::unique_ptr<EventsWriter> file_;  // null: the next event starts one
  int64_t next_seconds_ = 0;            // minimum for the next file
  size_t unflushed_events_ = 0;

  // Held while an event is created and queued, so that the value of a tag with
  // the metadata also comes first in the file.
  absl::Mutex add_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  std::set<std::string> seen_tags_ ABSL_GUARDED_BY(add_mutex_);
  std::set<std::string, std::less<>> run_tags_ ABSL_GUARDED_BY(add_mutex_);

  absl::Mutex mutex_;
  std::vector<std::string> queue_ ABSL_GUARDED_BY(mutex_);
  size_t pending_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // includes current write
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool timer_is_armed_ ABSL_GUARDED_BY(mutex_) = false;
  bool flush_asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool close_asked_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;  // number of the last request
  std::vector<Waiter> waiters_ ABSL_GUARDED_BY(mutex_);
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // not reported yet
  size_t lost_events_ ABSL_GUARDED_BY(mutex_) = 0;
  // Whether lost events may have contained metadata, so that it must be written
  // again.
  bool forget_tags_ ABSL_GUARDED_BY(mutex_) = false;

  InFlight writing_;
  OwnedTimers timers_;
};

}  // namespace weft::summary

#endif  // WEFT_LIBS_SUMMARY_FILE_WRITER_H_
