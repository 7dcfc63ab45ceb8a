#include "libs/fs/closable_file_system.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"

namespace weft {

// Uses counts open files and operations. It is shared with everything that it
// counts.
struct ClosableFileSystem::Uses {
  enum class State { kOpen, kClosing, kClosed };

  // A Use is counted while it exists.
  using Use = std::shared_ptr<void>;

  static absl::StatusOr<Use> Begin(const std::shared_ptr<Uses>& uses,
                                   State last, absl::string_view path) {
    absl::MutexLock lock(&uses->mutex);
    if (uses->state > last) {
      return absl::CancelledError(
          absl::StrCat(path, ": the process that reaches it is ending"));
    }
    ++uses->count;
    return Use(nullptr, [uses](void*) { uses->End(); });
  }

  void End() {
    absl::MutexLock lock(&mutex);
    if (--count == 0 && waiter != nullptr) waiter->Set();
  }

  mutable absl::Mutex mutex;
  State state ABSL_GUARDED_BY(mutex) = State::kOpen;
  int64_t count ABSL_GUARDED_BY(mutex) = 0;
  Event* waiter ABSL_GUARDED_BY(mutex) = nullptr;
};

class ClosableFileSystem::Writer : public WritableFile {
 public:
  Writer(Uses::Use use, std::unique_ptr<WritableFile> file)
      : use_(std::move(use)), file_(std::move(file)) {}

  absl::Status Append(absl::string_view data) override {
    return file_->Append(data);
  }
  absl::Status Flush() override { return file_->Flush(); }
  absl::Status Sync() override { return file_->Sync(); }
  absl::Status Close() override { return file_->Close(); }
  void Abandon() override { file_->Abandon(); }

 private:
  const Uses::Use use_;  // ends after the file
  const std::unique_ptr<WritableFile> file_;
};

class ClosableFileSystem::Reader : public RandomAccessFile {
 public:
  Reader(Uses::Use use, std::unique_ptr<RandomAccessFile> file)
      : use_(std::move(use)), file_(std::move(file)) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t size,
                              char* buffer) const override {
    return file_->Read(offset, size, buffer);
  }
  std::string version() const override { return file_->version(); }

 private:
  const Uses::Use use_;
  const std::unique_ptr<RandomAccessFile> file_;
};

ClosableFileSystem::ClosableFileSystem(FileSystem& files, Scheduler& scheduler)
    : files_(files), scheduler_(scheduler), uses_(std::make_shared<Uses>()) {}

ClosableFileSystem::~ClosableFileSystem() = default;

bool ClosableFileSystem::Close(absl::Time deadline) {
  const std::unique_ptr<Event> unused = scheduler_.NewEvent();
  {
    absl::MutexLock lock(&uses_->mutex);
    uses_->state = Uses::State::kClosing;
    uses_->waiter = unused.get();
    if (uses_->count == 0) unused->Set();
  }
  const bool in_time = unused->WaitUntil(deadline);
  absl::MutexLock lock(&uses_->mutex);
  uses_->state = Uses::State::kClosed;
  uses_->waiter = nullptr;
  return in_time;
}

int64_t ClosableFileSystem::num_in_use() const {
  absl::MutexLock lock(&uses_->mutex);
  return uses_->count;
}

absl::StatusOr<std::unique_ptr<WritableFile>>
ClosableFileSystem::NewWritableFile(absl::string_view path) {
  ASSIGN_OR_RETURN(Uses::Use use, Uses::Begin(uses_, Uses::State::kOpen, path));
  ASSIGN_OR_RETURN(auto file, files_.NewWritableFile(path));
  return std::make_unique<Writer>(std::move(use), std::move(file));
}

absl::StatusOr<std::unique_ptr<WritableFile>>
ClosableFileSystem::NewAppendableFile(absl::string_view path) {
  ASSIGN_OR_RETURN(Uses::Use use, Uses::Begin(uses_, Uses::State::kOpen, path));
  ASSIGN_OR_RETURN(auto file, files_.NewAppendableFile(path));
  return std::make_unique<Writer>(std::move(use), std::move(file));
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>>
ClosableFileSystem::NewRandomAccessFile(absl::string_view path) {
  ASSIGN_OR_RETURN(Uses::Use use, Uses::Begin(uses_, Uses::State::kOpen, path));
  ASSIGN_OR_RETURN(auto file, files_.NewRandomAccessFile(path));
  return std::make_unique<Reader>(std::move(use), std::move(file));
}

// Operations other than opens continue while the file system closes, because a
// pipeline that ends deletes its files.
absl::StatusOr<RoutedFileSystem::Place> ClosableFileSystem::Find(
    absl::string_view path) {
  ASSIGN_OR_RETURN(Uses::Use use,
                   Uses::Begin(uses_, Uses::State::kClosing, path));
  return Place{.files = &files_,
               .holder = std::shared_ptr<FileSystem>(std::move(use), &files_),
               .path = std::string(path)};
}

}  // namespace weft
