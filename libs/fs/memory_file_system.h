// MemoryFileSystem holds files in memory, for tests. The root and the current
// directory exist initially.
//
// With tracks_syncs it can simulate a power failure: a file may then lose all
// data appended or overwritten since its last Sync, and each name may lose
// creations, renames and deletions since the last SyncDirectory of its
// directory. A rename is atomic, and never survives without the creation of its
// file.
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
  bool tracks_syncs = false;  // needs memory for unsynced changes
};

class MemoryFileSystem : public FileSystem {
 public:
  explicit MemoryFileSystem(MemoryFileSystemOptions options = {});

  // Simulates a power failure. `random` chooses what is lost. Open files must
  // not be used afterwards. REQUIRES: tracks_syncs.
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
  // Contents holds the bytes of a file. Open files share them, so a deleted
  // file stays readable.
  struct Contents {
    absl::Mutex mutex;
    std::string bytes ABSL_GUARDED_BY(mutex);
    // The number of leading bytes that are synced. `emptied` holds the contents
    // before a truncation that was not synced.
    size_t synced ABSL_GUARDED_BY(mutex) = 0;
    std::optional<std::string> emptied ABSL_GUARDED_BY(mutex);
  };
  class File;
  class Reader;
  using Entry = std::shared_ptr<Contents>;  // null: a directory
  using Entries = absl::btree_map<std::string, Entry>;
  // A change of one or more entries that an operation makes atomically: for
  // each path its new entry, or nothing if the path is deleted.
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
  // Applies a change that is not synced yet.
  void Make(Change change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Apply(const Change& change, Entries& entries);

  const MemoryFileSystemOptions options_;
  mutable absl::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  // Only with tracks_syncs: the durable entries, and the changes since.
  Entries synced_entries_ ABSL_GUARDED_BY(mutex_);
  std::vector<Change> unsynced_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_MEMORY_FILE_SYSTEM_H_
