#include "libs/train/sessions/session_summary_writer.h"

#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/status.h"

namespace weft::train {
namespace {

// Timeout for a hung directory.
constexpr absl::Duration kMaxSummaryWait = absl::Seconds(30);
// Minimum interval of warnings about lost events: on a full disk there would be
// one per event.
constexpr absl::Duration kBetweenWarnings = absl::Minutes(1);

}  // namespace

struct SessionSummaryWriter::OpenWriter {
  // Waits for the file system without a timeout.
  void End() {
    calls.WaitUntilNone(scheduler, absl::InfiniteFuture());
    writer = nullptr;
  }

  Scheduler& scheduler;
  Coordinator& coordinator;
  std::unique_ptr<summary::FileWriter> writer;
  InFlight calls;  // using it
  // Guarded by the SessionSummaryWriter's mutex: its graph waits to be written,
  // and no lost event was logged before.
  bool has_graph = false;
  absl::Time next_warning = absl::InfinitePast();
};

// Holds the open writer during a call; null if closed.
class SessionSummaryWriter::Call {
 public:
  // Continues a call that has already begun.
  explicit Call(std::shared_ptr<OpenWriter> open) : open_(std::move(open)) {}
  ~Call() {
    if (open_ != nullptr) open_->calls.End();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  explicit operator bool() const { return open_ != nullptr; }
  summary::FileWriter* operator->() const { return open_->writer.get(); }
  OpenWriter& open() const { return *open_; }

 private:
  const std::shared_ptr<OpenWriter> open_;
};

SessionSummaryWriter::SessionSummaryWriter(std::string logdir, Logger* logger,
                                           std::string filename_suffix,
                                           uint64_t max_file_bytes)
    : logdir_(std::move(logdir)),
      filename_suffix_(std::move(filename_suffix)),
      max_file_bytes_(max_file_bytes),
      logger_(logger) {}

absl::Status SessionSummaryWriter::Open(const Session& session,
                                        Coordinator& coordinator) {
  summary::FileWriterOptions options;
  {
    absl::MutexLock lock(&mutex_);
    if (open_ != nullptr) return absl::OkStatus();
    options.begin_at_once = !has_been_open_;
    options.filename_suffix = filename_suffix_;
    options.max_file_bytes = max_file_bytes_;
  }
  FileSystem* const files = session.file_system();
  ASSIGN_OR_RETURN(auto writer, summary::FileWriter::Create(
                                    files != nullptr ? *files : local_files_,
                                    session.scheduler(), logdir_, options));
  absl::MutexLock lock(&mutex_);
  open_.reset(new OpenWriter{session.scheduler(), coordinator,
                             std::move(writer), InFlight()});
  has_been_open_ = true;
  return absl::OkStatus();
}

void SessionSummaryWriter::Close() {
  std::shared_ptr<OpenWriter> closed;
  {
    absl::MutexLock lock(&mutex_);
    closed = std::move(open_);
    open_ = nullptr;
  }
  if (closed == nullptr) return;
  const absl::Status status = closed->writer->Close(kMaxSummaryWait);
  LogUnlessOk(status);
  SettleGraph(*closed, status);
  if (!absl::IsDeadlineExceeded(status)) {
    closed->End();
    return;
  }
  closed->coordinator.Start(absl::StrCat("end of the events for ", logdir_),
                            [closed] {
                              closed->End();
                              return absl::OkStatus();
                            });
}

SessionSummaryWriter::Call SessionSummaryWriter::BeginCall() {
  absl::MutexLock lock(&mutex_);
  if (open_ != nullptr) open_->calls.Begin();
  return Call(open_);
}

void SessionSummaryWriter::LogUnlessOk(const absl::Status& status) {
  if (status.ok()) return;
  logger_->Warning(
      absl::StrCat("Events for ", logdir_, " were lost: ", status.ToString()));
}

void SessionSummaryWriter::LogOfAdded(OpenWriter& open, absl::Status added) {
  const absl::Time now = open.scheduler.clock().Now();
  {
    absl::MutexLock lock(&mutex_);
    if (now < open.next_warning) return;
  }
  if (added.ok()) {
    added = open.writer->TakeError();
    if (added.ok()) return;
    SettleGraph(open, added);
  }
  {
    absl::MutexLock lock(&mutex_);
    open.next_warning = now + kBetweenWarnings;
  }
  LogUnlessOk(added);
}

void SessionSummaryWriter::AddScalar(const std::string& tag, float value,
                                     int64_t step) {
  summary::Summary summary;
  summary.value.push_back({.tag = tag, .value = value});
  AddSummary(summary::SerializeSummary(summary), step);
}

void SessionSummaryWriter::AddSummary(absl::string_view summary, int64_t step) {
  const Call open = BeginCall();
  if (open) LogOfAdded(open.open(), open->AddSummary(summary, step));
}

void SessionSummaryWriter::AddSessionLog(const summary::SessionLog& log,
                                         int64_t step) {
  const Call open = BeginCall();
  if (open) LogOfAdded(open.open(), open->AddSessionLog(log, step));
}

void SessionSummaryWriter::AddRunMetadata(absl::string_view run_metadata,
                                          absl::string_view tag, int64_t step) {
  const Call open = BeginCall();
  if (!open) return;
  LogOfAdded(open.open(), open->AddRunMetadata(run_metadata, tag, step));
}

void SessionSummaryWriter::AddGraphOnce(absl::string_view graph_def,
                                        absl::string_view meta_graph) {
  const Call open = BeginCall();
  if (!open) return;
  {
    absl::MutexLock lock(&mutex_);
    if (has_graph_ || std::exchange(open.open().has_graph, true)) return;
  }
  // Pending events may leave no space.
  const auto add = [&open](absl::FunctionRef<absl::Status()> event) {
    absl::Status added = event();
    if (!absl::IsResourceExhausted(added)) return added;
    added = open->Flush(kMaxSummaryWait);
    return added.ok() ? event() : added;
  };
  absl::Status added = add([&] { return open->AddGraph(graph_def); });
  if (added.ok()) added = add([&] { return open->AddMetaGraph(meta_graph); });
  if (added.ok()) return;
  LogUnlessOk(added);
  absl::MutexLock lock(&mutex_);
  open.open().has_graph = false;
}

void SessionSummaryWriter::Flush() {
  const Call open = BeginCall();
  if (!open) return;
  const absl::Status status = open->Flush(kMaxSummaryWait);
  LogUnlessOk(status);
  SettleGraph(open.open(), status);
}

void SessionSummaryWriter::SettleGraph(OpenWriter& open,
                                       const absl::Status& flushed) {
  absl::MutexLock lock(&mutex_);
  has_graph_ = has_graph_ || (open.has_graph && flushed.ok());
  // It is unknown which events were lost.
  open.has_graph = open.has_graph && flushed.ok();
}

}  // namespace weft::train
