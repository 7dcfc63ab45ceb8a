// MemoryFileSystem: files that live as long as this object, for tests. The root
// and the current directory exist from the start.
#ifndef WEFT_LIBS_FS_MEMORY_FILE_SYSTEM_H_
#define WEFT_LIBS_FS_MEMORY_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/synchronization/mutex.h"
#include "libs/fs/file_system.h"

namespace weft {

class MemoryFileSystem : public FileSystem {
 public:
  MemoryFileSystem();

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
  // A file's bytes, shared with open files: a deleted file stays readable.
  struct Contents {
    absl::Mutex mutex;
    std::string bytes ABSL_GUARDED_BY(mutex);
  };
  class File;
  class Reader;
  using Entry = std::shared_ptr<Contents>;  // null: a directory

  const Entry* Find(absl::string_view path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckParent(absl::string_view action,
                           absl::string_view path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Entry> FindFile(absl::string_view action,
                                 absl::string_view path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::string> NamesIn(const std::string& directory) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(
      absl::string_view path, bool truncate);

  mutable absl::Mutex mutex_;
  absl::btree_map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_MEMORY_FILE_SYSTEM_H_
