// RoutedFileSystem is a FileSystem that forwards each call to one of several
// file systems, by path. Errors are theirs; INVALID_ARGUMENT for a rename from
// one of them to another. Threads: as FileSystem.
//
// A directory may exist in several of them, each with its own files: it is
// created, synced and deleted in all of these, and lists their combined
// contents. If they share a disk, it is one directory.
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
  // The file system of a path, and the path there.
  struct Place {
    FileSystem* files = nullptr;
    std::shared_ptr<FileSystem> holder;  // keeps `files`, where it is not null
    std::string path;
    std::string name;  // put before errors, unless it is empty
  };

 private:
  // May be called from any thread.
  virtual absl::StatusOr<Place> Find(absl::string_view path) = 0;
  // Locations of a directory; the result of Find, unless overridden. Never
  // empty.
  virtual absl::StatusOr<std::vector<Place>> FindAll(absl::string_view path);

  // Returns `result`, with the place's name in an error.
  template <typename Result>
  static Result Named(const Place& place, Result result);
  // Applies an operation to all locations of a directory. An error `tolerated`
  // is ignored if any location succeeded.
  absl::Status AtAll(
      absl::string_view path, absl::StatusCode tolerated,
      absl::FunctionRef<absl::Status(FileSystem&, const std::string&)> act);
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_ROUTED_FILE_SYSTEM_H_
