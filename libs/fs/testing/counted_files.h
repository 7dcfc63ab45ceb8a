// CountedFiles counts the files that are open for reading.
#ifndef WEFT_LIBS_FS_TESTING_COUNTED_FILES_H_
#define WEFT_LIBS_FS_TESTING_COUNTED_FILES_H_

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"
#include "libs/fs/failing_file_system.h"

namespace weft {

// CountedFiles is thread-safe, and must outlive its files.
class CountedFiles : public FailingFileSystem {
 public:
  using FailingFileSystem::FailingFileSystem;

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override {
    ASSIGN_OR_RETURN(auto file, FailingFileSystem::NewRandomAccessFile(path));
    return std::make_unique<Counted>(std::move(file), *this);
  }
  // Return the number of files that are open now, that were open at the same
  // time at most, and that were opened in total.
  int num_open() const {
    absl::MutexLock lock(&mutex_);
    return num_open_;
  }
  int most_open() const {
    absl::MutexLock lock(&mutex_);
    return most_open_;
  }
  int num_opened() const {
    absl::MutexLock lock(&mutex_);
    return num_opened_;
  }

 private:
  class Counted : public RandomAccessFile {
   public:
    Counted(std::unique_ptr<RandomAccessFile> file, CountedFiles& counts)
        : file_(std::move(file)), counts_(counts) {
      absl::MutexLock lock(&counts_.mutex_);
      ++counts_.num_opened_;
      counts_.most_open_ = std::max(counts_.most_open_, ++counts_.num_open_);
    }
    ~Counted() override {
      absl::MutexLock lock(&counts_.mutex_);
      --counts_.num_open_;
    }
    absl::StatusOr<size_t> Read(uint64_t offset, size_t size,
                                char* buffer) const override {
      return file_->Read(offset, size, buffer);
    }
    std::string version() const override { return file_->version(); }

   private:
    const std::unique_ptr<RandomAccessFile> file_;
    CountedFiles& counts_;
  };

  mutable absl::Mutex mutex_;
  int num_open_ ABSL_GUARDED_BY(mutex_) = 0;
  int most_open_ ABSL_GUARDED_BY(mutex_) = 0;
  int num_opened_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_TESTING_COUNTED_FILES_H_
