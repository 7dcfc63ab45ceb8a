#include "libs/checkpoint_writer/ordered_file.h"

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace weft {
namespace {

using protocol::FileAction;
using protocol::FileAnswer;
using protocol::FileRequest;
using protocol::kMaxFileChunkBytes;
using protocol::kMaxUnansweredChunks;

constexpr uint64_t kMaxAhead =
    uint64_t{kMaxFileChunkBytes} * kMaxUnansweredChunks;

absl::Status IsClosed(absl::string_view path) {
  return absl::FailedPreconditionError(
      absl::StrCat("write ", path, ": the file has been closed"));
}

void Answer(protocol::Files::Done done, const absl::Status& status) {
  if (!status.ok()) return done(status);
  done(FileAnswer());
}

}  // namespace

absl::Status OrderedFile::CheckLocked(const FileRequest& request) const {
  if (closed_ || to_be_closed_) return IsClosed(options_.path);
  RETURN_IF_ERROR(error_);
  const uint64_t size = request.bytes.size();
  if (size > kMaxFileChunkBytes || request.offset < next_ ||
      request.offset - next_ > kMaxAhead - size) {
    return absl::InvalidArgumentError(absl::StrCat(
        options_.path, ": a chunk of ", size, " bytes at byte ", request.offset,
        ", when ", next_, " bytes are written and ", kMaxAhead,
        " may be on their way"));
  }
  if (waiting_.size() + (has_begun_ ? 1 : 0) >= kMaxUnansweredChunks) {
    return absl::ResourceExhaustedError(
        absl::StrCat(options_.path, ": ", kMaxUnansweredChunks,
                     " chunks are on their way, and no more may be"));
  }
  return absl::OkStatus();
}

void OrderedFile::Operate(FileRequest request, absl::Time deadline,
                          std::shared_ptr<Cancellation> cancellation,
                          protocol::Files::Done done) {
  Position position;
  absl::Status refused;
  const bool closes = request.action == FileAction::kClose;
  {
    absl::MutexLock lock(&mutex_);
    refused = CheckLocked(request);
    if (refused.ok()) {
      position = {request.offset, arrived_++};
      waiting_[position] = {std::move(request), deadline, cancellation,
                            std::move(done)};
    }
  }
  if (!refused.ok()) {
    if (closes) Abandon(refused);
    request.bytes = {};
    return done(refused);
  }
  if (cancellation != nullptr) {
    // The Cancellation is used by this call only, so the callback need not be
    // deregistered.
    const auto give_up = [weak = weak_from_this(),
                          position](const absl::Status& cause) {
      if (const auto file = weak.lock()) file->GiveUp(position, cause);
    };
    if (cancellation->Register(give_up) == 0) give_up(cancellation->status());
  }
  RunSoonIfNeeded();
}

void OrderedFile::GiveUp(const Position& position, const absl::Status& cause) {
  {
    absl::MutexLock lock(&mutex_);
    if (!waiting_.contains(position)) return;
  }
  Fail(Annotate(cause, absl::StrCat(options_.path, ": the chunk at byte ",
                                    position.first, " was given up")));
}

void OrderedFile::Fail(const absl::Status& why) {
  Chunks failed;
  absl::Status error;
  {
    absl::MutexLock lock(&mutex_);
    if (error_.ok()) error_ = why;
    error = error_;
    failed.swap(waiting_);
    for (const auto& [position, chunk] : failed) {
      if (chunk.request.action == FileAction::kClose) to_be_closed_ = true;
    }
  }
  RunSoonIfNeeded();
  for (auto& [position, chunk] : failed) {
    chunk.request.bytes = {};
    chunk.done(error);
  }
}

void OrderedFile::Abandon(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    to_be_closed_ = true;
  }
  Fail(why);
  RunSoonIfNeeded();
}

bool OrderedFile::ShouldRunLocked() const {
  if (running_ || closed_) return false;
  if (to_be_closed_) return true;
  return !waiting_.empty() && waiting_.begin()->first.first <= next_;
}

void OrderedFile::RunSoonIfNeeded() {
  {
    absl::MutexLock lock(&mutex_);
    if (!ShouldRunLocked()) return;
    running_ = true;
  }
  options_.run([self = shared_from_this()] { self->Run(); });
}

// Writes one chunk for each turn in the queue, so that other files are served
// in between. The memory and quota of the chunk are released before its caller
// is notified.
void OrderedFile::Run() {
  Chunk chunk;
  absl::Status status;
  const bool is_due = TakeDue(&chunk);
  if (is_due) {
    status = Do(chunk);
    Ended(chunk, status);
    chunk.request.bytes = {};
  }
  if (EndOfTurn()) {
    options_.file->Abandon();  // has no effect after Close
    options_.file.reset();
    if (options_.on_closed) options_.on_closed();
  }
  if (is_due) Answer(std::move(chunk.done), status);
  RunSoonIfNeeded();
}

bool OrderedFile::EndOfTurn() {
  absl::MutexLock lock(&mutex_);
  has_begun_ = false;
  running_ = false;
  if (!to_be_closed_) return false;
  closed_ = true;
  return true;
}

bool OrderedFile::TakeDue(Chunk* chunk) {
  absl::MutexLock lock(&mutex_);
  if (waiting_.empty() || waiting_.begin()->first.first > next_) return false;
  *chunk = std::move(waiting_.begin()->second);
  waiting_.erase(waiting_.begin());
  has_begun_ = true;
  return true;
}

absl::Status OrderedFile::Do(const Chunk& chunk) {
  const FileRequest& request = chunk.request;
  {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(error_);
    if (request.offset != next_) {
      return absl::InvalidArgumentError(absl::StrCat(
          options_.path, ": the chunk at byte ", request.offset,
          " overlaps the one before it, which ends at byte ", next_));
    }
  }
  if (chunk.cancellation != nullptr && chunk.cancellation->IsCancelled()) {
    return chunk.cancellation->status();
  }
  if (options_.clock->Now() > chunk.deadline) {
    return absl::DeadlineExceededError(
        absl::StrCat(options_.path, ": the chunk at byte ", request.offset,
                     " had to wait for too long for those before it"));
  }
  switch (request.action) {
    case FileAction::kAppend:
      RETURN_IF_ERROR(options_.file->Append(request.bytes.view()));
      if (options_.written_bytes) {
        options_.written_bytes->Add(request.bytes.size());
      }
      return absl::OkStatus();
    case FileAction::kFlush:
      return options_.file->Flush();
    case FileAction::kSync:
      return options_.file->Sync();
    default:
      return options_.file->Close();
  }
}

void OrderedFile::Ended(const Chunk& chunk, const absl::Status& status) {
  {
    absl::MutexLock lock(&mutex_);
    next_ += status.ok() ? chunk.request.bytes.size() : 0;
    if (chunk.request.action == FileAction::kClose) to_be_closed_ = true;
  }
  if (!status.ok()) {
    Fail(status);
  } else if (chunk.request.action == FileAction::kClose) {
    Fail(IsClosed(options_.path));
  }
}

}  // namespace weft
