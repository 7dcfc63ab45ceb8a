// UnsyncedRenames records the directories of a remote task in which files were
// renamed and that were not synced since. A restarted task may have lost these
// renames in a power failure of its machine, and its SyncDirectory does not
// report that.
//
// Threads: not thread-safe.
#ifndef WEFT_LIBS_PROTOCOL_FILES_UNSYNCED_RENAMES_H_
#define WEFT_LIBS_PROTOCOL_FILES_UNSYNCED_RENAMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "libs/protocol/files/files.h"

namespace weft::protocol {

class UnsyncedRenames {
 public:
  // The maximum number of recorded directories. If there are more, some are
  // forgotten.
  static constexpr size_t kMaxDirectories = 1000;

  // Must be called when the task, with this incarnation, has executed a
  // request. Returns UNAVAILABLE if the request synced a directory in which
  // another incarnation had renamed a file.
  absl::Status OnDone(const FileRequest& request, uint64_t incarnation) {
    if (request.action == FileAction::kRename) {
      Note(DirectoryOf(request.to), incarnation);
    }
    if (request.action != FileAction::kSyncDirectory) return absl::OkStatus();
    const auto renamed = renamed_by_.extract(Directory(request.path));
    if (renamed.empty() || renamed.mapped() == incarnation) {
      return absl::OkStatus();
    }
    return absl::UnavailableError(absl::StrCat(
        request.path,
        ": the task has started again since files were renamed there, and may "
        "have lost them. Write them again."));
  }

 private:
  static std::string Directory(absl::string_view path) {
    return std::string(absl::StripSuffix(path, "/"));
  }
  static std::string DirectoryOf(absl::string_view path) {
    const size_t slash = path.rfind('/');
    return slash == absl::string_view::npos ? ""
                                            : Directory(path.substr(0, slash));
  }
  // Records a rename. Until the next sync, the incarnation of the first rename
  // counts.
  void Note(std::string directory, uint64_t incarnation) {
    renamed_by_.emplace(std::move(directory), incarnation);
    if (renamed_by_.size() > kMaxDirectories) {
      renamed_by_.erase(renamed_by_.begin());
    }
  }

  std::map<std::string, uint64_t> renamed_by_;  // incarnation by directory
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_FILES_UNSYNCED_RENAMES_H_
