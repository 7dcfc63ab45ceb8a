#include "libs/fs/failing_file_system.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "libs/base/scheduler/lock_observer.h"
#include "libs/base/status.h"
#include "libs/fs/posix_error.h"

namespace weft {

class FailingFileSystem::File : public WritableFile {
 public:
  File(FailingFileSystem* owner, absl::string_view path,
       std::unique_ptr<WritableFile> base)
      : owner_(owner), path_(path), base_(std::move(base)) {}

  absl::Status Append(absl::string_view data) override {
    RETURN_IF_ERROR(owner_->Begin());
    const uint64_t fits = owner_->TakeSpace(data.size());
    RETURN_IF_ERROR(base_->Append(data.substr(0, fits)));
    if (fits == data.size()) return absl::OkStatus();
    return PosixError(ENOSPC, "write", path_);
  }
  absl::Status Flush() override {
    RETURN_IF_ERROR(owner_->Begin());
    return base_->Flush();
  }
  absl::Status Sync() override {
    RETURN_IF_ERROR(owner_->Begin());
    return base_->Sync();
  }
  absl::Status Close() override {
    RETURN_IF_ERROR(owner_->Begin());
    return base_->Close();
  }
  // Abandon cannot fail, so it is not counted as an operation.
  void Abandon() override { base_->Abandon(); }

 private:
  FailingFileSystem* const owner_;
  const std::string path_;
  const std::unique_ptr<WritableFile> base_;
};

class FailingFileSystem::Reader : public RandomAccessFile {
 public:
  Reader(FailingFileSystem* owner, std::unique_ptr<RandomAccessFile> base)
      : owner_(owner), base_(std::move(base)) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t size,
                              char* buffer) const override {
    RETURN_IF_ERROR(owner_->Begin());
    return base_->Read(offset, size, buffer);
  }
  std::string version() const override { return base_->version(); }

 private:
  FailingFileSystem* const owner_;
  const std::unique_ptr<RandomAccessFile> base_;
};

void FailingFileSystem::FailOperation(int64_t n, absl::Status status) {
  UninterruptedLock lock(&mutex_);
  first_failure_ = last_failure_ = num_operations_ + n;
  failure_ = std::move(status);
}

void FailingFileSystem::FailAllFrom(int64_t n, absl::Status status) {
  UninterruptedLock lock(&mutex_);
  first_failure_ = num_operations_ + n;
  last_failure_ = INT64_MAX;
  failure_ = std::move(status);
}

void FailingFileSystem::LimitSpace(uint64_t bytes) {
  UninterruptedLock lock(&mutex_);
  space_ = bytes;
}

void FailingFileSystem::Heal() {
  UninterruptedLock lock(&mutex_);
  first_failure_ = last_failure_ = INT64_MAX;
  space_ = UINT64_MAX;
}

int64_t FailingFileSystem::num_operations() const {
  UninterruptedLock lock(&mutex_);
  return num_operations_;
}

absl::Status FailingFileSystem::Begin() {
  UninterruptedLock lock(&mutex_);
  const int64_t operation = num_operations_++;
  const bool fails = operation >= first_failure_ && operation <= last_failure_;
  return fails ? failure_ : absl::OkStatus();
}

uint64_t FailingFileSystem::TakeSpace(uint64_t bytes) {
  UninterruptedLock lock(&mutex_);
  if (space_ == UINT64_MAX) return bytes;
  const uint64_t taken = std::min(bytes, space_);
  space_ -= taken;
  return taken;
}

absl::StatusOr<std::unique_ptr<WritableFile>>
FailingFileSystem::NewWritableFile(absl::string_view path) {
  RETURN_IF_ERROR(Begin());
  ASSIGN_OR_RETURN(auto file, base_.NewWritableFile(path));
  return std::make_unique<File>(this, path, std::move(file));
}

absl::StatusOr<std::unique_ptr<WritableFile>>
FailingFileSystem::NewAppendableFile(absl::string_view path) {
  RETURN_IF_ERROR(Begin());
  ASSIGN_OR_RETURN(auto file, base_.NewAppendableFile(path));
  return std::make_unique<File>(this, path, std::move(file));
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>>
FailingFileSystem::NewRandomAccessFile(absl::string_view path) {
  RETURN_IF_ERROR(Begin());
  ASSIGN_OR_RETURN(auto file, base_.NewRandomAccessFile(path));
  return std::make_unique<Reader>(this, std::move(file));
}

absl::Status FailingFileSystem::FileExists(absl::string_view path) {
  RETURN_IF_ERROR(Begin());
  return base_.FileExists(path);
}

absl::StatusOr<bool> FailingFileSystem::IsDirectory(absl::string_view path) {
  RETURN_IF_ERROR(Begin());
  return base_.IsDirectory(path);
}

absl::StatusOr<uint64_t> FailingFileSystem::GetFileSize(
    absl::string_view path) {
  RETURN_IF_ERROR(Begin());
  return base_.GetFileSize(path);
}

absl::StatusOr<std::vector<std::string>> FailingFileSystem::ListDirectory(
    absl::string_view path) {
  RETURN_IF_ERROR(Begin());
  return base_.ListDirectory(path);
}

absl::Status FailingFileSystem::CreateDirectory(absl::string_view path) {
  RETURN_IF_ERROR(Begin());
  return base_.CreateDirectory(path);
}

absl::Status FailingFileSystem::DeleteFile(absl::string_view path) {
  RETURN_IF_ERROR(Begin());
  return base_.DeleteFile(path);
}

absl::Status FailingFileSystem::DeleteDirectory(absl::string_view path) {
  RETURN_IF_ERROR(Begin());
  return base_.DeleteDirectory(path);
}

absl::Status FailingFileSystem::RenameFile(absl::string_view from,
                                           absl::string_view to) {
  RETURN_IF_ERROR(Begin());
  return base_.RenameFile(from, to);
}

absl::Status FailingFileSystem::SyncDirectory(absl::string_view path) {
  RETURN_IF_ERROR(Begin());
  return base_.SyncDirectory(path);
}

}  // namespace weft
