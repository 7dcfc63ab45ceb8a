// Files: the role that keeps files for a cluster, as one client of it sees it:
// names below a root, and what this client has open. A checkpoint writer plays
// it; RemoteFileSystem makes a FileSystem of it.
//
// What is open belongs to the client that opened it, over one connection, and
// is closed with it; what was written so far stays, under the name that it was
// written to.
//
// Bytes travel in pieces of up to kMaxFilePiece. Pieces of one file are
// appended in the order of their offsets, however they arrive, one at a time;
// files beside each other. The answer to a piece is its credit: its bytes were
// handed to the file, and their memory is free. No more than kMaxFilePieces may
// be without an answer for one file, so that a slow disk slows who writes, and
// what waits for it has a bound at both ends.
//
// Once an Append, Flush or Sync of a file has failed, all later ones fail with
// the same error, and so does Close, which closes it nevertheless.
//
// Threads: every method may be called from any thread and does not block. Each
// `done` is called exactly once, perhaps before the call returns, on any
// thread: it must return soon and must not wait.
#ifndef WEFT_LIBS_PROTOCOL_FILES_H_
#define WEFT_LIBS_PROTOCOL_FILES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/cancellation.h"
#include "libs/bus/blob.h"

namespace weft::protocol {

// The most that one Append brings and one Read asks for.
inline constexpr size_t kMaxFilePiece = size_t{1} << 20;
// Of one file, without an answer: Appends, Flushes, Syncs and Closes.
inline constexpr int kMaxFilePieces = 16;
inline constexpr size_t kMaxFilePath = 4096;
// The names that one ListDirectory answers, in bytes: a page of the directory.
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
  // The client may have a save to write until the latter, or its end: a writer
  // that stops waits for it.
  kExpectSaves = 16,
  kExpectNoSaves = 17,
};

struct FileRequest {
  FileAction action = FileAction::kStat;
  // Of all that is not done to an open file; absolute or not, it is below the
  // root.
  std::string path;
  // Of kRename; of kListDirectory the name after which the page begins.
  std::string to;
  uint64_t file = 0;  // what is open
  // Of kRead: where in the file. Of what is in order: so many bytes were
  // appended before, since it was opened.
  uint64_t offset = 0;
  uint32_t size = 0;  // of kRead
  bus::Blob bytes;    // of kAppend
};

struct FileAnswer {
  uint64_t file = 0;  // that was opened; never 0
  // Of kStat; of a directory 0. Of kListDirectory how many names follow.
  uint64_t size = 0;
  bool is_directory = false;
  std::vector<std::string> names;  // of kListDirectory
  bus::Blob bytes;                 // of kRead; fewer at the file's end
};

inline bool IsExpectation(FileAction action) {
  return action == FileAction::kExpectSaves ||
         action == FileAction::kExpectNoSaves;
}

// Whether it is done to what is open, and so only over the same connection.
inline bool IsOfOpenFile(FileAction action) {
  return action >= FileAction::kAppend && action <= FileAction::kRead;
}

class Files {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<FileAnswer>)>;

  // Its end closes what is open, and fails what waits.
  virtual ~Files() = default;

  // Errors are those of FileSystem, with its words, which name the path at the
  // other end; besides INVALID_ARGUMENT: what no honest client asks for;
  // RESOURCE_EXHAUSTED: too much at once; UNAVAILABLE: the other end is gone,
  // or is going, or was for a moment, so that the file is not open any more;
  // DEADLINE_EXCEEDED. What was begun when the deadline came or `cancellation`
  // was cancelled goes on to its end; what waits does not begin.
  // `cancellation`, of this call alone, may be null.
  virtual void Operate(FileRequest request, absl::Time deadline,
                       std::shared_ptr<Cancellation> cancellation,
                       Done done) = 0;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_FILES_H_
