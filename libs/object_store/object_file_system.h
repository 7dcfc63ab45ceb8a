// ObjectFileSystem is a FileSystem on an ObjectStore:
// "s3://bucket/ckpt/model.index" is the object "ckpt/model.index" of a bucket.
//
// Differences from a disk:
//   - A directory is an empty object "ckpt/", or implied by any object below
//     it; the latter kind disappears with the last object. A bucket is a
//     directory that cannot be created here.
//   - A written file is visible to others, complete and durable, after Flush,
//     Sync or Close. It is uploaded in parts of 8 MiB, which grow with the file
//     (to 5 TB), several at a time; so one file uses max_written_bytes() of
//     memory. Appending after Flush costs a server-side copy of the object.
//   - RenameFile is a server-side copy and a deletion: it is not atomic, but
//     `to` is always either the old or the new object. WriteFileAtomically is
//     one request, and atomic.
//   - An open file reads the version that was opened: if it is deleted or
//     replaced, Read fails with FAILED_PRECONDITION, except for the bytes of
//     the first request (kReadAheadBytes).
//   - ".." is rejected, because there are no symbolic links.
//
// Errors are those of ObjectStore, and of FileSystem for missing files or files
// of another kind. Threads: the same rules as for FileSystem.
#ifndef WEFT_LIBS_OBJECT_STORE_OBJECT_FILE_SYSTEM_H_
#define WEFT_LIBS_OBJECT_STORE_OBJECT_FILE_SYSTEM_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/object_store/object_store.h"

namespace weft {

struct ObjectFileOptions {
  size_t part_bytes = size_t{8} << 20;  // at least the store's min_part_bytes
  int parts_at_once = 4;
};

class ObjectFileSystem : public FileSystem {
 public:
  static constexpr size_t kReadAheadBytes = size_t{256} << 10;

  // All arguments must outlive the file system and its files.
  ObjectFileSystem(ObjectStore& store, Scheduler& scheduler,
                   ObjectFileOptions options = {});

  // Returns the memory that a file of fewer than 1,000 parts needs while it is
  // written. It doubles after each further 1,000 parts.
  size_t max_written_bytes() const {
    return options_.part_bytes *
           (static_cast<size_t>(options_.parts_at_once) + 1);
  }

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
  absl::Status WriteFileAtomically(absl::string_view path,
                                   absl::string_view contents) override;
  // Returns OK if the file does not exist.
  absl::Status DeleteLeftover(absl::string_view path) override;

 private:
  // Returns whether the name of any object begins with the name of the
  // directory.
  absl::StatusOr<bool> HasAnythingBelow(const ObjectName& directory);
  enum class Kind { kNothing, kFile, kDirectory };
  absl::StatusOr<Kind> KindOf(const ObjectName& name);
  // Returns OK for a directory, FAILED_PRECONDITION for a file, and NOT_FOUND
  // if neither exists.
  absl::Status CheckDirectory(const ObjectName& name, absl::string_view action,
                              absl::string_view path);
  // Returns information on the object, or FAILED_PRECONDITION for a directory.
  absl::StatusOr<ObjectInfo> StatFile(const ObjectName& name,
                                      absl::string_view action,
                                      absl::string_view path);
  // Reads the first kReadAheadBytes of the object.
  absl::StatusOr<ObjectRange> ReadBeginning(const ObjectName& name,
                                            absl::string_view path);
  // Returns the name of a file that may be written at `path`.
  absl::StatusOr<ObjectName> ToBeWritten(absl::string_view path);

  ObjectStore& store_;
  Scheduler& scheduler_;
  const ObjectFileOptions options_;
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_OBJECT_FILE_SYSTEM_H_
