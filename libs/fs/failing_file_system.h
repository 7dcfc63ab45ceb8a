// FailingFileSystem forwards to another FileSystem and injects failures, for
// tests.
//
// Threads: the same rules as for the underlying FileSystem.
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
  // `base` must outlive this object and its files.
  explicit FailingFileSystem(FileSystem& base) : base_(base) {}

  // Makes one operation fail with `status` and without any effect: operation
  // number `n` from now, where 0 is the next operation. Later operations
  // succeed again.
  void FailOperation(int64_t n, absl::Status status);
  // Makes all operations from number `n` on fail, as if the machine were gone.
  void FailAllFrom(int64_t n, absl::Status status);
  // Leaves space for `bytes` more bytes. The append that exceeds the limit
  // writes what fits, and then fails with RESOURCE_EXHAUSTED. All later appends
  // fail as well.
  void LimitSpace(uint64_t bytes);
  // Stops injecting failures.
  void Heal();

  // Returns the number of operations so far, on the file system and its files.
  // Tests use it to let each operation fail in turn.
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

  // Counts one operation, and returns its injected failure, or OK.
  absl::Status Begin();
  // Takes space for `bytes` bytes, and returns how many of them still fit.
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
