// RoutedFileSystem: a FileSystem that passes each call on to one of several, by
// the path. Errors are theirs; INVALID_ARGUMENT for a file that is to be
// renamed from one of them to another. Threads: as FileSystem says.
//
// A directory may be kept by several of them, each with files of its own: it is
// made, synced and deleted at all of these, and lists what they have together.
// Where they share a disk, that is one directory.
#ifndef WEFT_LIBS_FS_ROUTED_FILE_SYSTEM_H_
#define WEFT_LIBS_FS_ROUTED_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
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
  absl::Status DeleteLeftover(absl::string_view path) override;

 protected:
  // Whose file it is, and what that calls it.
  struct Place {
    FileSystem* files = nullptr;
    std::shared_ptr<FileSystem> holder;  // keeps `files`, where it is not null
    std::string path;
    std::string name;  // put before errors, unless it is empty
  };

 private:
  // From any thread.
  virtual absl::StatusOr<Place> Find(absl::string_view path) = 0;
  // Where the path is if it is a directory; that of Find, unless it is
  // overridden. Never empty.
  virtual absl::StatusOr<std::vector<Place>> FindAll(absl::string_view path);

  // `result`, or its error with the place's name.
  template <typename Result>
  static Result Named(const Place& place, Result result);
  // Acts on a directory wherever it is kept. Where that fails with `tolerated`
  // it counts as done, if it was done anywhere.
  absl::Status AtAll(
      absl::string_view path, absl::StatusCode tolerated,
      absl::FunctionRef<absl::Status(FileSystem&, const std::string&)> act);
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_ROUTED_FILE_SYSTEM_H_
