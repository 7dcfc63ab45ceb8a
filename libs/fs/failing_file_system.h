// FailingFileSystem forwards to another FileSystem and injects failures, for
// tests.
//
// Threads: as the underlying FileSystem.
#ifndef WEFT_LIBS_FS_FAILING_FILE_SYSTEM_H_
#define WEFT_LIBS_FS_FAILING_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "libs/fs/file_system.h"

namespace weft {

class FailingFileSystem : public FileSystem {
 public:
  // `base` must outlive it and its files.
  explicit FailingFileSystem(FileSystem& base) : base_(base) {}

  // Fails operation number `n` from now (0: the next) with `status`, without
  // effect; later ones succeed again.
  void FailOperation(int64_t n, absl::Status status);
  // Fails all operations from number `n` on, as if the machine were gone.
  void FailAllFrom(int64_t n, absl::Status status);
  // Leaves space for `bytes` more: the append that exceeds it writes what fits,
  // then fails with RESOURCE_EXHAUSTED, like all later ones.
  void LimitSpace(uint64_t bytes);
  // Stops injecting failures.
  void Heal();

  // Number of operations so far, on the file system and its files, for tests
  // that fail each in turn.
  int64_t num_operations() const;

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override;
  absl::Status FileExists(absl::string_view path) override;
  absl::StatusOr<bool> IsDirectory(absl::string_view path) override;
  absl::StatusOr<uint64_t> GetFileSize(absl::string_view path) override;
  absl::StatusOr<std::vector<std::string>> ListDirectory(
      absl::string_view path) override;
  absl::Status CreateDirectory(absl::string_view path) override;
  absl::Status DeleteFile(absl::string_view path) override;
  absl::Status DeleteDirectory(absl::string_view path) override;
  absl::Status RenameFile(absl::string_view from,
                          absl::string_view to) override;
  absl::Status SyncDirectory(absl::string_view path) override;

 private:
  class File;
  class Reader;

  // Counts one operation; returns its injected failure, if any.
  absl::Status Begin();
  // Returns how many of `bytes` still fit.
  uint64_t TakeSpace(uint64_t bytes);

  FileSystem& base_;
  mutable absl::Mutex mutex_;
  int64_t num_operations_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t first_failure_ ABSL_GUARDED_BY(mutex_) = INT64_MAX;
  int64_t last_failure_ ABSL_GUARDED_BY(mutex_) = INT64_MAX;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  uint64_t space_ ABSL_GUARDED_BY(mutex_) = UINT64_MAX;
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_FAILING_FILE_SYSTEM_H_
