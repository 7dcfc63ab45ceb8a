#include "libs/summary/file_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "schemas/tf/event.pb.h"
#include "schemas/tf/summary.pb.h"

namespace weft::summary {
namespace {

constexpr size_t kMostBytes = std::numeric_limits<int>::max();

std::string MachineName() {
  std::array<char, 256> name = {};
  // If the name is truncated, gethostname may not write the terminating zero.
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

absl::Status CheckOptions(absl::string_view logdir,
                          const FileWriterOptions& options) {
  if (logdir.empty()) {
    return absl::InvalidArgumentError("a FileWriter needs a directory");
  }
  if (options.max_queue < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_queue is ", options.max_queue, ", less than 0"));
  }
  for (const std::string& part : {options.filename_suffix, options.hostname}) {
    if (absl::StrContains(part, '/')) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", part,
          "\" can't be part of an event file's name: it contains a /"));
    }
  }
  return absl::OkStatus();
}

EventsFileName NameOf(absl::string_view logdir,
                      const FileWriterOptions& options) {
  return {
      .logdir = std::string(logdir),
      .hostname = options.hostname.empty() ? MachineName() : options.hostname,
      .suffix = options.filename_suffix};
}

absl::Status TooLarge(absl::string_view what, size_t bytes) {
  return absl::InvalidArgumentError(absl::StrCat(
      what, " of ", bytes, " bytes can't be an event: a protobuf message has ",
      "less than 2 GiB"));
}

// Removes the metadata of tags whose metadata was written before. Returns the
// tags whose metadata is written now.
std::set<std::string> KeepFirstMetadata(const std::set<std::string>& seen,
                                        tf::Summary& summary) {
  std::set<std::string> added;
  for (tf::Summary::Value& value : *summary.mutable_value()) {
    if (!value.has_metadata()) continue;
    if (seen.count(value.tag()) != 0 || !added.insert(value.tag()).second) {
      value.clear_metadata();
    }
  }
  return added;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileWriter>> FileWriter::Create(
    FileSystem& file_system, Scheduler& scheduler, absl::string_view logdir,
    FileWriterOptions options) {
  RETURN_IF_ERROR(CheckOptions(logdir, options));
  EventsFileName name = NameOf(logdir, options);
  const bool begin_at_once = options.begin_at_once;
  auto writer = std::unique_ptr<FileWriter>(new FileWriter(
      file_system, scheduler, std::move(name), std::move(options)));
  if (begin_at_once) RETURN_IF_ERROR(writer->OpenFile());
  return writer;
}

FileWriter::FileWriter(FileSystem& file_system, Scheduler& scheduler,
                       EventsFileName name, FileWriterOptions options)
    : file_system_(file_system),
      scheduler_(scheduler),
      name_(std::move(name)),
      options_(std::move(options)),
      timers_(scheduler) {}

FileWriter::~FileWriter() {
  Close(absl::InfiniteDuration()).IgnoreError();
  timers_.End();  // a timer may have started a write
  writing_.WaitUntilNone(scheduler_, absl::InfiniteFuture());
}

// ---- Adding ----

double FileWriter::Now() const {
  return absl::ToDoubleSeconds(scheduler_.clock().WallTime() -
                               absl::UnixEpoch());
}

absl::Status FileWriter::AddSummary(absl::string_view summary, int64_t step) {
  tf::Event event;
  if (summary.size() > kMostBytes) return TooLarge("a summary", summary.size());
  if (!event.mutable_summary()->ParseFromArray(
          summary.data(), static_cast<int>(summary.size()))) {
    return absl::InvalidArgumentError(
        absl::StrCat("the value added as the summary of step ", step,
                     " is not a Summary: pass the output of a summary op or of "
                     "MergeSummary"));
  }
  event.set_wall_time(Now());
  event.set_step(step);
  absl::MutexLock lock(&add_mutex_);
  if (TakeForgetTags()) seen_tags_.clear();
  std::set<std::string> added =
      KeepFirstMetadata(seen_tags_, *event.mutable_summary());
  const size_t bytes = event.ByteSizeLong();
  if (bytes > kMostBytes) return TooLarge("a summary", bytes);
  RETURN_IF_ERROR(Enqueue(event.SerializeAsString()));
  seen_tags_.merge(added);
  return absl::OkStatus();
}

absl::Status FileWriter::AddSummary(const Summary& summary, int64_t step) {
  const std::string bytes = SerializeSummary(summary);
  if (bytes.empty() && !summary.value.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the summary of step ", step, " has more than 2 GiB"));
  }
  return AddSummary(bytes, step);
}

absl::Status FileWriter::AddGraph(absl::string_view graph_def, int64_t step) {
  return AddEvent({.wall_time = Now(),
                   .step = step,
                   .what = GraphDefBytes{std::string(graph_def)}});
}

absl::Status FileWriter::AddMetaGraph(absl::string_view meta_graph_def,
                                      int64_t step) {
  return AddEvent({.wall_time = Now(),
                   .step = step,
                   .what = MetaGraphDefBytes{std::string(meta_graph_def)}});
}

absl::Status FileWriter::AddSessionLog(const SessionLog& log, int64_t step) {
  return AddEvent({.wall_time = Now(), .step = step, .what = log});
}

absl::Status FileWriter::AddRunMetadata(absl::string_view run_metadata,
                                        absl::string_view tag, int64_t step) {
  const Event event = {
      .wall_time = Now(),
      .step = step,
      .what = TaggedRunMetadata{std::string(tag), std::string(run_metadata)}};
  std::string bytes = SerializeEvent(event);
  if (bytes.empty()) return TooLarge("run metadata", run_metadata.size());
  absl::MutexLock lock(&add_mutex_);
  if (run_tags_.count(tag) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "The provided tag was already used for this event type: ", tag));
  }
  RETURN_IF_ERROR(Enqueue(std::move(bytes)));
  run_tags_.emplace(tag);
  return absl::OkStatus();
}

absl::Status FileWriter::AddEvent(const Event& event) {
  std::string bytes = SerializeEvent(event);
  if (bytes.empty() && !std::holds_alternative<std::monostate>(event.what)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the event of step ", event.step, " has more than 2 GiB"));
  }
  absl::MutexLock lock(&add_mutex_);
  return Enqueue(std::move(bytes));
}

absl::Status FileWriter::CheckRoom(size_t bytes) const {
  if (is_closed_) {
    return absl::FailedPreconditionError(
        absl::StrCat("the FileWriter of ", name_.logdir,
                     " is closed; call Reopen to continue"));
  }
  // An event that is larger than the whole limit is accepted if no other event
  // is pending.
  if (pending_bytes_ == 0 ||
      pending_bytes_ + bytes <= options_.max_pending_bytes)
    return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "an event of ", bytes, " bytes was not added: ", pending_bytes_,
      " bytes wait already to be written to ", name_.logdir,
      " (FileWriterOptions::max_pending_bytes): is it slow, or gone?"));
}

bool FileWriter::TakeForgetTags() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(forget_tags_, false);
}

absl::Status FileWriter::Enqueue(std::string event) {
  bool arm = false;
  {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(CheckRoom(event.size()));
    pending_bytes_ += event.size();
    queue_.push_back(std::move(event));
    if (queue_.size() > static_cast<size_t>(options_.max_queue)) StartWriting();
    arm = !std::exchange(timer_is_armed_, true);
  }
  if (arm && options_.flush_secs != absl::InfiniteDuration()) {
    timers_.At(scheduler_.clock().Now() + options_.flush_secs,
               [this](bool is_due) {
                 if (is_due) FlushIsDue();
               });
  }
  return absl::OkStatus();
}

void FileWriter::FlushIsDue() {
  absl::MutexLock lock(&mutex_);
  timer_is_armed_ = false;
  flush_asked_ = true;
  StartWriting();
}

// ---- Waiting ----

absl::Status FileWriter::Flush(absl::Duration timeout) {
  return Finish(/*close=*/false, timeout);
}

absl::Status FileWriter::Close(absl::Duration timeout) {
  return Finish(/*close=*/true, timeout);
}

absl::Status FileWriter::Finish(bool close, absl::Duration timeout) {
  const std::unique_ptr<weft::Event> done = scheduler_.NewEvent();
  {
    absl::MutexLock lock(&mutex_);
    flush_asked_ = true;
    if (close) close_asked_ = is_closed_ = true;
    waiters_.push_back({++asked_, done.get()});
    StartWriting();
  }
  done->WaitUntil(scheduler_.clock().Now() + timeout);
  {
    absl::MutexLock lock(&mutex_);
    std::erase_if(waiters_,
                  [&](const Waiter& w) { return w.done == done.get(); });
  }
  if (done->IsSet()) return TakeError();
  return absl::DeadlineExceededError(absl::StrCat(
      "the events for ", name_.logdir, " are not written after ",
      absl::FormatDuration(timeout), ": its file system does not answer"));
}

absl::Status FileWriter::TakeError() {
  absl::MutexLock lock(&mutex_);
  const size_t lost = std::exchange(lost_events_, 0);
  const absl::Status error = std::exchange(error_, absl::OkStatus());
  if (lost == 0) return error;
  return Append(error, absl::StrCat("(", lost, " events may be lost)"));
}

void FileWriter::Reopen() {
  absl::MutexLock lock(&mutex_);
  is_closed_ = false;
}

// ---- Writing ----

void FileWriter::StartWriting() {
  if (std::exchange(is_writing_, true)) return;
  writing_.Begin();
  scheduler_.Schedule(Pool::kBlocking, [this] {
    WriteAll();
    writing_.End();
  });
}

void FileWriter::WriteAll() {
  Work work;
  while (TakeWork(work)) {
    Do(work);
    Done(work);
  }
}

bool FileWriter::TakeWork(Work& work) {
  absl::MutexLock lock(&mutex_);
  work = {.events = std::exchange(queue_, {}),
          .request = asked_,
          .flush = std::exchange(flush_asked_, false),
          .close = std::exchange(close_asked_, false)};
  is_writing_ = !work.events.empty() || work.flush;
  return is_writing_;
}

// If this check fails for another reason, the error is ignored, because writing
// will report it.
absl::Status FileWriter::CheckFile() const {
  if (file_ == nullptr ||
      !absl::IsNotFound(file_system_.FileExists(file_->path()))) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat("the event file ", file_->path(),
                   " was deleted while events were written to it; the next "
                   "events go to a new file"));
}

void FileWriter::Do(const Work& work) {
  if (!work.events.empty() || unflushed_events_ > 0) {
    const absl::Status deleted = CheckFile();
    if (!deleted.ok()) Lost(deleted, 0);
  }
  for (size_t i = 0; i < work.events.size(); ++i) {
    const absl::Status status = WriteEvent(work.events[i]);
    if (status.ok()) continue;
    // Give up the other events, because each of them might take as long to
    // fail.
    Lost(status, work.events.size() - i);
    break;
  }
  absl::Status status;
  if (work.flush) status = work.close ? CloseFile() : FlushFile();
  if (!status.ok()) Lost(status, 0);
}

absl::Status FileWriter::WriteEvent(absl::string_view event) {
  if (file_ != nullptr && options_.max_file_bytes != 0 &&
      file_->file_bytes() >= options_.max_file_bytes) {
    RETURN_IF_ERROR(CloseFile());
  }
  if (file_ == nullptr) RETURN_IF_ERROR(OpenFile());
  RETURN_IF_ERROR(file_->Write(event));
  ++unflushed_events_;
  return absl::OkStatus();
}

absl::Status FileWriter::OpenFile() {
  RETURN_IF_ERROR(file_system_.CreateDirectories(name_.logdir));
  const absl::Time now = scheduler_.clock().WallTime();
  // If the clock was set back, files must still get later names than existing
  // files, because TensorBoard proceeds only to later names.
  if (next_seconds_ == 0) {
    next_seconds_ = LastEventsSeconds(file_system_, name_.logdir) + 1;
  }
  EventsFileName name = name_;
  name.seconds = std::max(absl::ToUnixSeconds(now), next_seconds_);
  ASSIGN_OR_RETURN(file_,
                   EventsWriter::Create(file_system_, std::move(name), now));
  next_seconds_ = file_->name().seconds + 1;
  return absl::OkStatus();
}

absl::Status FileWriter::FlushFile() {
  if (file_ == nullptr || unflushed_events_ == 0) return absl::OkStatus();
  RETURN_IF_ERROR(file_->Flush());
  unflushed_events_ = 0;
  return absl::OkStatus();
}

absl::Status FileWriter::CloseFile() {
  if (file_ == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(file_->Close());
  file_ = nullptr;
  unflushed_events_ = 0;
  return absl::OkStatus();
}

void FileWriter::Lost(const absl::Status& why, size_t events) {
  file_ = nullptr;
  events += std::exchange(unflushed_events_, 0);
  absl::MutexLock lock(&mutex_);
  if (error_.ok()) error_ = why;
  lost_events_ += events;
  forget_tags_ = true;
}

void FileWriter::Done(const Work& work) {
  absl::MutexLock lock(&mutex_);
  for (const std::string& event : work.events) pending_bytes_ -= event.size();
  // Set the events under the lock. A notified caller takes the lock before it
  // destroys its event.
  for (const Waiter& waiter : waiters_) {
    if (waiter.request <= work.request) waiter.done->Set();
  }
}

}  // namespace weft::summary
