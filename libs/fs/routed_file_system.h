// RoutedFileSystem is a FileSystem that forwards each call to one of several
// file systems, by path. Errors are those of these file systems. A rename from
// one of them to another is INVALID_ARGUMENT. Threads: the same rules as for
// FileSystem.
//
// A directory may exist in several of the file systems, with different files in
// each. It is created, synced and deleted in all of them, and a listing
// combines their contents. If the file systems share a disk, it is the same
// directory.
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
  // Place is the file system for a path, and the path in that file system.
  struct Place {
    FileSystem* files = nullptr;
    std::shared_ptr<FileSystem> holder;  // may be null; keeps `files` alive
    std::string path;
    std::string name;  // prefix of errors, may be empty
  };

 private:
  // Returns the place of a path. May be called from any thread.
  virtual absl::StatusOr<Place> Find(absl::string_view path) = 0;
  // Returns all places of a directory, at least one. By default it is the
  // result of Find.
  virtual absl::StatusOr<std::vector<Place>> FindAll(absl::string_view path);

  // Returns `result`. If it is an error, adds the name of the place to it.
  template <typename Result>
  static Result Named(const Place& place, Result result);
  // Applies an operation to a directory in all its places. Errors with the code
  // `tolerated` are ignored if the operation succeeded in any place.
  absl::Status AtAll(
      absl::string_view path, absl::StatusCode tolerated,
      absl::FunctionRef<absl::Status(FileSystem&, const std::string&)> act);
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_ROUTED_FILE_SYSTEM_H_
