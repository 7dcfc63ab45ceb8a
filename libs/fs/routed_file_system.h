// RoutedFileSystem: a FileSystem that passes each call on to one of several, by
// the path. Errors are theirs; INVALID_ARGUMENT for a file that is to be
// renamed from one of them to another. Threads: as FileSystem says.
#ifndef WEFT_LIBS_FS_ROUTED_FILE_SYSTEM_H_
#define WEFT_LIBS_FS_ROUTED_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "libs/fs/file_system.h"

namespace weft {

class RoutedFileSystem : public FileSystem {
 public:
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

 protected:
  // Whose file it is, and what that calls it.
  struct Place {
    FileSystem* files = nullptr;
    std::shared_ptr<FileSystem> holder;  // keeps `files`, where it is not null
    std::string path;
  };

 private:
  // From any thread.
  virtual absl::StatusOr<Place> Find(absl::string_view path) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_ROUTED_FILE_SYSTEM_H_
