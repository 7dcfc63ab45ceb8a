// FileSystem: the only way Weft reaches files. Implementations: the machine's
// (local_file_system.h), one in memory (memory_file_system.h), a decorator that
// fails on request (failing_file_system.h), one that chooses among several by
// the path (routed_file_system.h); in other rooms those of checkpoint writers
// (RemoteFileSystem, RootedFileSystem, ZmqFileSystem) and of object stores
// (ObjectFileSystem, ObjectStores).
//
// Paths are '/'-separated bytes, which "scheme://host" may precede; repeated
// and trailing slashes after that do not matter.
//
// Threads: a FileSystem may be used from any thread; a file object by one
// thread at a time, except RandomAccessFile, whose Read may run concurrently.
// All calls may block: not for the compute pool.
//
// Errors name the path and what the system said: NOT_FOUND, ALREADY_EXISTS,
// PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk full), FAILED_PRECONDITION (a
// directory where a file belongs, or not empty), UNAVAILABLE and
// DEADLINE_EXCEEDED (of files elsewhere, which is gone or silent), else
// INTERNAL.
#ifndef WEFT_LIBS_FS_FILE_SYSTEM_H_
#define WEFT_LIBS_FS_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace weft {

// For how long DeleteLeftover waits for files that are elsewhere.
inline constexpr absl::Duration kLeftoverTimeout = absl::Seconds(10);

class WritableFile {
 public:
  // Closes, dropping errors; call Close to hear of them.
  virtual ~WritableFile() = default;
  virtual absl::Status Append(absl::string_view data) = 0;
  // Hands everything appended to the system: other readers see it.
  virtual absl::Status Flush() = 0;
  // Flush, and what was appended survives a power failure.
  virtual absl::Status Sync() = 0;
  // Flushes. Afterwards only destruction is allowed. OK when closed already.
  virtual absl::Status Close() = 0;
  // Instead of Close, by whoever deletes the file next: what it holds is not
  // wanted any more, so what was not handed on yet need not be, and neither
  // this nor destruction has to wait for it. Afterwards only destruction is
  // allowed. Nothing happens when closed already.
  virtual void Abandon() {}
};

class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  // Reads up to `size` bytes at `offset` into `buffer`; returns how many. Fewer
  // than `size` only at the end of the file, which is no error.
  virtual absl::StatusOr<size_t> Read(uint64_t offset, size_t size,
                                      char* buffer) const = 0;
  // Differs between the files that the path had, where the file system tells
  // (stores of objects do); else empty.
  virtual std::string version() const { return ""; }
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Creates the file, or empties it.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) = 0;
  // Creates the file, or goes on at its end.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(
      absl::string_view path) = 0;
  virtual absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) = 0;

  // OK when there is a file or directory, else NOT_FOUND.
  virtual absl::Status FileExists(absl::string_view path) = 0;
  virtual absl::StatusOr<bool> IsDirectory(absl::string_view path) = 0;
  virtual absl::StatusOr<uint64_t> GetFileSize(absl::string_view path) = 0;
  // Names (not paths) in a directory, sorted.
  virtual absl::StatusOr<std::vector<std::string>> ListDirectory(
      absl::string_view path) = 0;

  // The parent must exist. ALREADY_EXISTS when the path does.
  virtual absl::Status CreateDirectory(absl::string_view path) = 0;
  virtual absl::Status DeleteFile(absl::string_view path) = 0;
  // FAILED_PRECONDITION unless empty.
  virtual absl::Status DeleteDirectory(absl::string_view path) = 0;
  // Atomically; replaces a file at `to`. After a power failure either the old
  // or the new state is found; SyncDirectory makes it the new one.
  virtual absl::Status RenameFile(absl::string_view from,
                                  absl::string_view to) = 0;
  // What was created, renamed and deleted in the directory survives a power
  // failure, where its file system offers that; OK also where it does not, and
  // where the directory may not be read.
  virtual absl::Status SyncDirectory(absl::string_view path) = 0;

  // Readers see the old contents or all of the new, also after a power failure:
  // a temporary file beside it, synced, renamed, unless the storage has a
  // better way. One writer per path at a time.
  virtual absl::Status WriteFileAtomically(absl::string_view path,
                                           absl::string_view contents);

  // DeleteFile of what harms nobody if it stays, by whoever may have waited in
  // vain before: files elsewhere, which may be silent, are waited for no longer
  // than kLeftoverTimeout, and then may be deleted later.
  virtual absl::Status DeleteLeftover(absl::string_view path) {
    return DeleteFile(path);
  }

  // Made of the above, the same everywhere:

  // The directory and all above it, which survive a power failure; OK when it
  // exists.
  absl::Status CreateDirectories(absl::string_view path);
  // The directory and all below it.
  absl::Status DeleteRecursively(absl::string_view path);
  absl::StatusOr<std::string> ReadFile(absl::string_view path);
  // Paths that match, sorted. '*' and '?' stay within a name, '[a-c]' and
  // '[!a]' are classes, '\' quotes. No match is an empty list. A directory
  // that can't be listed is an error, unless it is not there or is one of
  // several that match and may not be read.
  absl::StatusOr<std::vector<std::string>> GetMatchingPaths(
      absl::string_view pattern);
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_FILE_SYSTEM_H_
