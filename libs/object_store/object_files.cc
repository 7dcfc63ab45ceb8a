#include "libs/object_store/object_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/status.h"
#include "libs/fs/posix_error.h"

namespace weft {
namespace {

// The size of parts doubles after this many parts. 10,000 parts of 8 MiB would
// be only 80 GB, but with growing parts a file can exceed the limit of 5 TB for
// an object.
constexpr int kPartsOfASize = 1000;

// Converts NOT_FOUND of an open file. Callers interpret NOT_FOUND as a file
// that was never written, so only opening a file may return it.
absl::Status DeletedMeanwhile(const absl::Status& status) {
  if (!absl::IsNotFound(status)) return status;
  return absl::FailedPreconditionError(absl::StrCat(
      status.message(), "; it was deleted after it had been opened"));
}

}  // namespace

void SentParts::Begin() {
  absl::MutexLock lock(&mutex_);
  ++sent_;
}

void SentParts::End(absl::StatusOr<UploadedPart> part) {
  absl::MutexLock lock(&mutex_);
  --sent_;
  if (part.ok()) {
    arrived_.push_back(*std::move(part));
  } else if (first_error_.ok()) {
    first_error_ = part.status();
  }
  if (waiting_ != nullptr && sent_ <= most_) waiting_->Set();
}

absl::Status SentParts::WaitUntil(int most) {
  const std::unique_ptr<Event> event = scheduler_.NewEvent();
  {
    absl::MutexLock lock(&mutex_);
    if (sent_ <= most) return first_error_;
    waiting_ = event.get();
    most_ = most;
  }
  event->Wait();
  // End sets the event under the lock. Taking the lock here ensures that End
  // has finished.
  absl::MutexLock lock(&mutex_);
  waiting_ = nullptr;
  return first_error_;
}

std::vector<UploadedPart> SentParts::Take() {
  absl::MutexLock lock(&mutex_);
  std::sort(arrived_.begin(), arrived_.end(),
            [](const UploadedPart& a, const UploadedPart& b) {
              return a.number < b.number;
            });
  return std::exchange(arrived_, {});
}

ObjectWritableFile::ObjectWritableFile(ObjectStore& store, Scheduler& scheduler,
                                       const ObjectFileOptions& options,
                                       ObjectName name, std::string path,
                                       ObjectStart start)
    : store_(store),
      options_(options),
      name_(std::move(name)),
      path_(std::move(path)),
      parts_(std::make_shared<SentParts>(scheduler)),
      is_copied_(start.is_copied),
      tail_(std::move(start.bytes)),
      is_published_(start.is_there) {}

ObjectWritableFile::~ObjectWritableFile() {
  Close().IgnoreError();
  if (upload_ != nullptr) upload_->given_up->store(true);
  // Wait for the callbacks, because they use the store, which may be destroyed
  // after the file.
  parts_->WaitUntil(0).IgnoreError();
  if (upload_ != nullptr) store_.AbortUpload(*upload_).IgnoreError();
}

size_t ObjectWritableFile::PartBytes() const {
  const int doublings = std::min((next_part_ - 1) / kPartsOfASize, 9);
  return options_.part_bytes << doublings;
}

absl::Status ObjectWritableFile::CheckOpen() const {
  return closed_ ? PosixError(EBADF, "write", path_) : error_;
}

absl::Status ObjectWritableFile::Failed(absl::Status status) {
  if (error_.ok()) error_ = status;
  return status;
}

absl::Status ObjectWritableFile::Append(absl::string_view data) {
  RETURN_IF_ERROR(CheckOpen());
  while (!data.empty()) {
    is_published_ = false;
    absl::Status status = AppendPiece(&data);
    if (!status.ok()) return Failed(std::move(status));
  }
  return absl::OkStatus();
}

absl::Status ObjectWritableFile::AppendPiece(absl::string_view* data) {
  const size_t part_bytes = PartBytes();
  const absl::string_view piece = data->substr(0, part_bytes - tail_.size());
  tail_.append(piece.data(), piece.size());
  data->remove_prefix(piece.size());
  return tail_.size() < part_bytes ? absl::OkStatus() : SendTail();
}

absl::Status ObjectWritableFile::BeginUpload() {
  ASSIGN_OR_RETURN(ObjectUpload upload, store_.BeginUpload(name_));
  upload_ = std::make_unique<ObjectUpload>(std::move(upload));
  next_part_ = 1;
  if (!is_copied_) return absl::OkStatus();
  ASSIGN_OR_RETURN(auto parts, store_.CopyParts(*upload_, name_));
  for (UploadedPart& part : parts) {
    ++next_part_;
    parts_->Begin();
    parts_->End(std::move(part));
  }
  return absl::OkStatus();
}

absl::Status ObjectWritableFile::SendTail() {
  if (upload_ == nullptr) RETURN_IF_ERROR(BeginUpload());
  RETURN_IF_ERROR(parts_->WaitUntil(options_.parts_at_once - 1));
  if (next_part_ > store_.max_parts()) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path_, ": an object has at most ", store_.max_parts(),
                     " parts; write several files"));
  }
  parts_->Begin();
  store_.UploadPart(
      *upload_, next_part_++, std::exchange(tail_, {}),
      [parts = parts_](auto part) { parts->End(std::move(part)); });
  return absl::OkStatus();
}

absl::Status ObjectWritableFile::Flush() {
  RETURN_IF_ERROR(CheckOpen());
  if (is_published_) return absl::OkStatus();
  absl::Status status = Publish();
  if (!status.ok()) return Failed(std::move(status));
  is_published_ = true;
  return absl::OkStatus();
}

absl::Status ObjectWritableFile::Publish() {
  // A short file stays in memory after it was written, because it may grow.
  if (upload_ == nullptr && !is_copied_) return store_.Put(name_, tail_);
  if (!tail_.empty()) RETURN_IF_ERROR(SendTail());
  return CompleteUpload();
}

absl::Status ObjectWritableFile::CompleteUpload() {
  RETURN_IF_ERROR(parts_->WaitUntil(0));
  RETURN_IF_ERROR(store_.CompleteUpload(*upload_, parts_->Take()));
  upload_ = nullptr;
  is_copied_ = true;
  return absl::OkStatus();
}

absl::Status ObjectWritableFile::Close() {
  if (closed_) return absl::OkStatus();
  const absl::Status status = Flush();
  closed_ = true;
  return status;
}

ObjectRandomAccessFile::ObjectRandomAccessFile(ObjectStore& store,
                                               Scheduler& scheduler,
                                               const ObjectFileOptions& options,
                                               ObjectName name,
                                               ObjectRange first)
    : store_(store),
      scheduler_(scheduler),
      options_(options),
      name_(std::move(name)),
      object_(std::move(first.object)),
      ahead_(std::make_shared<const std::string>(std::move(first.bytes))) {}

absl::StatusOr<size_t> ObjectRandomAccessFile::Read(uint64_t offset,
                                                    size_t size,
                                                    char* buffer) const {
  if (offset >= object_.size) return 0;
  size = static_cast<size_t>(std::min<uint64_t>(size, object_.size - offset));
  if (size == 0) return 0;
  std::shared_ptr<const std::string> ahead;
  uint64_t from = 0;
  {
    absl::MutexLock lock(&mutex_);
    ahead = ahead_;
    from = ahead_from_;
  }
  const bool is_there = offset >= from && offset - from <= ahead->size() &&
                        size <= ahead->size() - (offset - from);
  if (is_there) {
    std::memcpy(buffer, ahead->data() + (offset - from), size);
    return size;
  }
  if (size < ObjectFileSystem::kReadAheadBytes) {
    return ReadAhead(offset, size, buffer);
  }
  return ReadPieces(offset, size, buffer);
}

absl::StatusOr<size_t> ObjectRandomAccessFile::ReadAhead(uint64_t offset,
                                                         size_t size,
                                                         char* buffer) const {
  const size_t more = static_cast<size_t>(std::min<uint64_t>(
      ObjectFileSystem::kReadAheadBytes, object_.size - offset));
  SyncCall<absl::StatusOr<ObjectRange>> call(scheduler_);
  store_.Read(name_, object_.version, offset, more, call.Done());
  auto read_piece = call.Wait();
  RETURN_IF_ERROR(DeletedMeanwhile(read_piece.status()));
  ObjectRange piece = *std::move(read_piece);
  auto ahead = std::make_shared<const std::string>(std::move(piece.bytes));
  const size_t read = std::min(size, ahead->size());
  std::memcpy(buffer, ahead->data(), read);
  absl::MutexLock lock(&mutex_);
  ahead_ = std::move(ahead);
  ahead_from_ = offset;
  return read;
}

// Reads several chunks concurrently, and waits for all of them.
absl::StatusOr<size_t> ObjectRandomAccessFile::ReadPieces(uint64_t offset,
                                                          size_t size,
                                                          char* buffer) const {
  struct Asked {
    std::unique_ptr<SyncCall<absl::StatusOr<ObjectRange>>> call;
    size_t begin = 0;
    size_t size = 0;
  };
  std::deque<Asked> asked;
  size_t begin = 0;  // start of bytes not requested yet
  absl::Status status;
  while ((status.ok() && begin < size) || !asked.empty()) {
    while (status.ok() && begin < size &&
           asked.size() < static_cast<size_t>(options_.parts_at_once)) {
      const size_t next = std::min(options_.part_bytes, size - begin);
      asked.push_back(
          {std::make_unique<SyncCall<absl::StatusOr<ObjectRange>>>(scheduler_),
           begin, next});
      store_.Read(name_, object_.version, offset + begin, next,
                  asked.back().call->Done());
      begin += next;
    }
    const Asked& first = asked.front();
    auto piece = first.call->Wait();
    if (piece.ok() && piece->bytes.size() != first.size) {
      piece = absl::InternalError(absl::StrCat("the service sent ",
                                               piece->bytes.size(), " of ",
                                               first.size, " bytes"));
    }
    if (status.ok()) status = DeletedMeanwhile(piece.status());
    if (status.ok()) {
      std::memcpy(buffer + first.begin, piece->bytes.data(), first.size);
    }
    asked.pop_front();
  }
  RETURN_IF_ERROR(status);
  return size;
}

}  // namespace weft
