// Files is the role that stores files for a cluster, as seen by one client:
// names below a root, and the files that this client has open. A checkpoint
// writer implements it; RemoteFileSystem turns it into a FileSystem.
//
// An open file belongs to the client that opened it, over one connection, and
// is closed with it; what was written so far stays under the name that it was
// written to.
//
// Bytes are sent in pieces of up to kMaxFileChunkBytes. Pieces of one file are
// appended in the order of their offsets, whatever the order of their arrival,
// one at a time; different files are independent. The answer to a piece returns
// its credit: its bytes were passed to the file, and their memory is free. At
// most kMaxUnansweredChunks may be unanswered for one file, so that a slow disk
// slows down the writer, and the memory in use is limited at both ends.
//
// Once an Append, Flush or Sync of a file has failed, all later ones fail with
// the same error, and so does Close, which closes the file nevertheless.
//
// Threads: every method may be called from any thread and does not block. Each
// `done` is called exactly once, perhaps before the call returns, on any
// thread: it must return soon and must not wait.
#ifndef WEFT_LIBS_PROTOCOL_FILES_FILES_H_
#define WEFT_LIBS_PROTOCOL_FILES_FILES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/async/cancellation.h"
#include "libs/bus/blob.h"

namespace weft::protocol {

// The maximum size of one Append and one Read.
inline constexpr size_t kMaxFileChunkBytes = size_t{1} << 20;
// The maximum number of unanswered Appends, Flushes, Syncs and Closes of one
// file.
inline constexpr int kMaxUnansweredChunks = 16;
inline constexpr size_t kMaxFilePath = 4096;
// The maximum size of the names in one answer to ListDirectory, in bytes: a
// page of the directory.
inline constexpr size_t kMaxListedBytes = size_t{8} << 20;

// The numbers are those of schemas::FileAction (schemas/files.fbs).
enum class FileAction : uint8_t {
  kOpenToWrite = 0,
  kOpenToAppend = 1,
  kOpenToRead = 2,
  kAppend = 3,
  kFlush = 4,
  kSync = 5,
  kClose = 6,
  kAbandon = 7,
  kRead = 8,
  kStat = 9,
  kListDirectory = 10,
  kCreateDirectory = 11,
  kDeleteFile = 12,
  kDeleteDirectory = 13,
  kRename = 14,
  kSyncDirectory = 15,
  // Between kExpectSaves and kExpectNoSaves, or until it disconnects, the
  // client may have a save to write. A writer that stops waits for it.
  kExpectSaves = 16,
  kExpectNoSaves = 17,
};

struct FileRequest {
  FileAction action = FileAction::kStat;
  // The path, for all actions without an open file. Even an absolute path is
  // below the root.
  std::string path;
  // For kRename the new path; for kListDirectory the name after which the page
  // begins.
  std::string to;
  uint64_t file = 0;  // the open file
  // For kRead the position in the file. For actions that are executed in order,
  // the number of bytes that were appended before, since the file was opened.
  uint64_t offset = 0;
  uint32_t size = 0;  // for kRead
  bus::Blob bytes;    // for kAppend
};

struct FileAnswer {
  uint64_t file = 0;  // of the opened file; never 0
  // For kStat the size of the file, 0 for a directory. For kListDirectory the
  // number of remaining names.
  uint64_t size = 0;
  bool is_directory = false;
  std::vector<std::string> names;  // for kListDirectory
  bus::Blob bytes;                 // for kRead; fewer at the end of the file
};

inline bool IsExpectation(FileAction action) {
  return action == FileAction::kExpectSaves ||
         action == FileAction::kExpectNoSaves;
}

// Returns whether the action is on an open file, and therefore only valid over
// the connection that opened it.
inline bool IsOfOpenFile(FileAction action) {
  return action >= FileAction::kAppend && action <= FileAction::kRead;
}

class Files {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<FileAnswer>)>;

  // The destructor closes open files and fails waiting calls.
  virtual ~Files() = default;

  // Performs a request. Errors are those of FileSystem, with its messages,
  // which name the path at the other end. In addition: INVALID_ARGUMENT for a
  // request that no correct client sends; RESOURCE_EXHAUSTED for too many
  // requests at once; UNAVAILABLE if the other end is lost, is stopping, or was
  // disconnected for a while, so that the file is no longer open;
  // DEADLINE_EXCEEDED. An operation that has started when the deadline passes
  // or `cancellation` is cancelled runs to its end; a waiting one does not
  // start. `cancellation`, which may be null, belongs to this call alone.
  virtual void Operate(FileRequest request, absl::Time deadline,
                       std::shared_ptr<Cancellation> cancellation,
                       Done done) = 0;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_FILES_FILES_H_
