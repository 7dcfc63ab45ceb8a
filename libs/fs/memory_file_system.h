// MemoryFileSystem: files that live as long as this object, for tests. The root
// and the current directory exist from the start.
//
// One that tracks syncs can lose its power: of a file it may then lose all that
// was appended, or overwritten, since its last Sync; of names each that was
// created, renamed or deleted since the last SyncDirectory of its directory. A
// rename is there whole or not at all, and not without what made its file.
#ifndef WEFT_LIBS_FS_MEMORY_FILE_SYSTEM_H_
#define WEFT_LIBS_FS_MEMORY_FILE_SYSTEM_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/random.h"
#include "libs/fs/file_system.h"

namespace weft {

struct MemoryFileSystemOptions {
  bool tracks_syncs = false;  // takes memory for what is not synced
};

class MemoryFileSystem : public FileSystem {
 public:
  explicit MemoryFileSystem(MemoryFileSystemOptions options = {});

  // What is there when the power is back; `random` draws what is lost. Open
  // files are not to be used any more. REQUIRES: it tracks syncs.
  void LosePower(Random& random) ABSL_LOCKS_EXCLUDED(mutex_);

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
    // Bytes from the first on that are synced; what was, before it was emptied.
    size_t synced ABSL_GUARDED_BY(mutex) = 0;
    std::optional<std::string> emptied ABSL_GUARDED_BY(mutex);
  };
  class File;
  class Reader;
  using Entry = std::shared_ptr<Contents>;  // null: a directory
  using Entries = absl::btree_map<std::string, Entry>;
  // What became of some names at once, in one operation: another entry, or
  // none.
  using Change = std::vector<std::pair<std::string, std::optional<Entry>>>;

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

  void Empty(Contents& contents);
  static void LoseUnsynced(Contents& contents, Random& random);
  // Makes a change, which is not synced.
  void Make(Change change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Apply(const Change& change, Entries& entries);

  const MemoryFileSystemOptions options_;
  mutable absl::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  // Where syncs are tracked: what is sure to survive, and what came after it.
  Entries synced_entries_ ABSL_GUARDED_BY(mutex_);
  std::vector<Change> unsynced_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_MEMORY_FILE_SYSTEM_H_
