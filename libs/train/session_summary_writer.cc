#include "libs/train/session_summary_writer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft::train {
namespace {

// A directory that does not answer is not waited for longer.
constexpr absl::Duration kMaxWait = absl::Seconds(30);

}  // namespace

SessionSummaryWriter::SessionSummaryWriter(std::string logdir, Logger* logger,
                                           std::string filename_suffix)
    : logdir_(std::move(logdir)),
      filename_suffix_(std::move(filename_suffix)),
      logger_(logger) {}

absl::Status SessionSummaryWriter::Open(const Session& session) {
  if (writer() != nullptr) return absl::OkStatus();
  FileSystem* const files = session.file_system();
  ASSIGN_OR_RETURN(auto writer, summary::FileWriter::Create(
                                    files != nullptr ? *files : local_files_,
                                    session.scheduler(), logdir_,
                                    {.filename_suffix = filename_suffix_}));
  absl::MutexLock lock(&mutex_);
  writer_ = std::move(writer);
  return absl::OkStatus();
}

void SessionSummaryWriter::Close() {
  std::shared_ptr<summary::FileWriter> closed;
  {
    absl::MutexLock lock(&mutex_);
    closed = std::move(writer_);
    writer_ = nullptr;
  }
  if (closed != nullptr) LogUnlessOk(closed->Close(kMaxWait));
}

std::shared_ptr<summary::FileWriter> SessionSummaryWriter::writer() {
  absl::MutexLock lock(&mutex_);
  return writer_;
}

void SessionSummaryWriter::LogUnlessOk(const absl::Status& status) {
  if (status.ok()) return;
  logger_->Warning(
      absl::StrCat("Events for ", logdir_, " were lost: ", status.ToString()));
}

void SessionSummaryWriter::AddScalar(const std::string& tag, float value,
                                     int64_t step) {
  summary::Summary summary;
  summary.value.push_back({.tag = tag, .value = value});
  AddSummary(summary::SerializeSummary(summary), step);
}

void SessionSummaryWriter::AddSummary(absl::string_view summary, int64_t step) {
  const auto open = writer();
  if (open != nullptr) LogUnlessOk(open->AddSummary(summary, step));
}

void SessionSummaryWriter::AddSessionLog(const summary::SessionLog& log,
                                         int64_t step) {
  const auto open = writer();
  if (open != nullptr) LogUnlessOk(open->AddSessionLog(log, step));
}

void SessionSummaryWriter::AddRunMetadata(absl::string_view run_metadata,
                                          absl::string_view tag, int64_t step) {
  const auto open = writer();
  if (open != nullptr) {
    LogUnlessOk(open->AddRunMetadata(run_metadata, tag, step));
  }
}

void SessionSummaryWriter::AddGraphOnce(absl::string_view graph_def) {
  std::shared_ptr<summary::FileWriter> open;
  {
    absl::MutexLock lock(&mutex_);
    if (writer_ == nullptr || std::exchange(has_graph_, true)) return;
    open = writer_;
  }
  LogUnlessOk(open->AddGraph(graph_def));
}

void SessionSummaryWriter::Flush() {
  const auto open = writer();
  if (open != nullptr) LogUnlessOk(open->Flush(kMaxWait));
}

}  // namespace weft::train
