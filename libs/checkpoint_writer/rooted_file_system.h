// RootedFileSystem gives access to the part of a FileSystem below one
// directory, the root: "/ckpt/model" and "ckpt/model" both mean
// ROOT/ckpt/model.
//
// No path leads outside of the root: a path with a component ".." or a zero
// byte is INVALID_ARGUMENT. Symbolic links below the root are followed, even if
// they lead outside. A FileSystem does not create links, so only the owner of
// the machine can have made them. The root itself cannot be deleted or renamed
// (PERMISSION_DENIED).
//
// Errors are those of the underlying file system, with its paths. Threads: the
// same rules as for FileSystem.
#ifndef WEFT_LIBS_CHECKPOINT_WRITER_ROOTED_FILE_SYSTEM_H_
#define WEFT_LIBS_CHECKPOINT_WRITER_ROOTED_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "libs/fs/file_system.h"

namespace weft {

class RootedFileSystem : public FileSystem {
 public:
  // `base` must outlive this object and its files. `root` is a directory in
  // `base`.
  RootedFileSystem(FileSystem& base, std::string root)
      : base_(base), root_(std::move(root)) {}

  // Returns the path in the underlying file system.
  absl::StatusOr<std::string> PathOf(absl::string_view path) const;

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
  // Returns the same as PathOf, but an error for the root itself.
  absl::StatusOr<std::string> PathBelow(absl::string_view path) const;

  FileSystem& base_;
  const std::string root_;
};

}  // namespace weft

#endif  // WEFT_LIBS_CHECKPOINT_WRITER_ROOTED_FILE_SYSTEM_H_
