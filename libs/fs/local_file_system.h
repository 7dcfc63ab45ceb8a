// LocalFileSystem accesses local files by POSIX calls.
#ifndef WEFT_LIBS_FS_LOCAL_FILE_SYSTEM_H_
#define WEFT_LIBS_FS_LOCAL_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "libs/fs/file_system.h"

namespace weft {

class LocalFileSystem : public FileSystem {
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
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_LOCAL_FILE_SYSTEM_H_
