#include "libs/checkpoint_writer/rooted_file_system.h"

#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/fs/posix_error.h"

namespace weft {
namespace {

// Returns the components of `path` below the root, or "" if `path` is the root.
absl::StatusOr<std::string> NamesBelowRoot(absl::string_view path) {
  if (path.empty()) return PosixError(ENOENT, "open", path);
  if (path.find('\0') != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("a path has a zero byte: ", absl::CHexEscape(path)));
  }
  std::vector<absl::string_view> names;
  for (absl::string_view name : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (name == "..") {
      return absl::InvalidArgumentError(absl::StrCat(
          path,
          ": a path may not lead upwards: all files lie below the root "
          "of the checkpoint writer"));
    }
    if (name != ".") names.push_back(name);
  }
  return absl::StrJoin(names, "/");
}

}  // namespace

absl::StatusOr<std::string> RootedFileSystem::PathOf(
    absl::string_view path) const {
  ASSIGN_OR_RETURN(const std::string names, NamesBelowRoot(path));
  return JoinPath(root_, names);
}

absl::StatusOr<std::string> RootedFileSystem::PathBelow(
    absl::string_view path) const {
  ASSIGN_OR_RETURN(const std::string names, NamesBelowRoot(path));
  if (names.empty()) return PosixError(EPERM, "change", root_);
  return JoinPath(root_, names);
}

absl::StatusOr<std::unique_ptr<WritableFile>> RootedFileSystem::NewWritableFile(
    absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string there, PathOf(path));
  return base_.NewWritableFile(there);
}

absl::StatusOr<std::unique_ptr<WritableFile>>
RootedFileSystem::NewAppendableFile(absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string there, PathOf(path));
  return base_.NewAppendableFile(there);
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>>
RootedFileSystem::NewRandomAccessFile(absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string there, PathOf(path));
  return base_.NewRandomAccessFile(there);
}

absl::Status RootedFileSystem::FileExists(absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string there, PathOf(path));
  return base_.FileExists(there);
}

absl::StatusOr<bool> RootedFileSystem::IsDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string there, PathOf(path));
  return base_.IsDirectory(there);
}

absl::StatusOr<uint64_t> RootedFileSystem::GetFileSize(absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string there, PathOf(path));
  return base_.GetFileSize(there);
}

absl::StatusOr<std::vector<std::string>> RootedFileSystem::ListDirectory(
    absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string there, PathOf(path));
  return base_.ListDirectory(there);
}

absl::Status RootedFileSystem::CreateDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string there, PathOf(path));
  return base_.CreateDirectory(there);
}

absl::Status RootedFileSystem::DeleteFile(absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string there, PathOf(path));
  return base_.DeleteFile(there);
}

absl::Status RootedFileSystem::DeleteDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string there, PathBelow(path));
  return base_.DeleteDirectory(there);
}

absl::Status RootedFileSystem::RenameFile(absl::string_view from,
                                          absl::string_view to) {
  ASSIGN_OR_RETURN(const std::string old_path, PathBelow(from));
  ASSIGN_OR_RETURN(const std::string new_path, PathBelow(to));
  return base_.RenameFile(old_path, new_path);
}

absl::Status RootedFileSystem::SyncDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string there, PathOf(path));
  return base_.SyncDirectory(there);
}

}  // namespace weft
