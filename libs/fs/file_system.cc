#include "libs/fs/file_system.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/fs/admitted_read.h"
#include "libs/fs/path.h"

namespace weft {
namespace {

// Whether the path after the host, which may be "[::1]", has a wildcard.
bool HasWildcard(absl::string_view path) {
  path.remove_prefix(SchemeAndHost(path).size());
  return path.find_first_of("*?[\\") != absl::string_view::npos;
}

// Whether a directory whose listing has that status has no match: it is a file,
// or missing; or one of several matches, without permission.
bool HasNothing(FileSystem& fs, absl::string_view directory,
                const absl::Status& status, bool is_one_of_several) {
  if (absl::IsFailedPrecondition(status)) {
    // Also an object store that is not configured, or lacks the bucket.
    const absl::string_view host = SchemeAndHost(directory);
    return host.empty() || fs.FileExists(absl::StrCat(host, "/")).ok();
  }
  return absl::IsNotFound(status) ||
         (is_one_of_several && absl::IsPermissionDenied(status));
}

absl::Status WriteAndSync(FileSystem& fs, absl::string_view path,
                          absl::string_view contents) {
  ASSIGN_OR_RETURN(auto file, fs.NewWritableFile(path));
  RETURN_IF_ERROR(file->Append(contents));
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

// `directory` may contain wildcards itself.
absl::StatusOr<std::vector<std::string>> ExpandDirectories(
    FileSystem& fs, absl::string_view directory) {
  if (!HasWildcard(directory)) {
    return std::vector<std::string>{std::string(directory)};
  }
  return fs.GetMatchingPaths(directory);
}

}  // namespace

absl::Status FileSystem::CreateDirectories(absl::string_view path) {
  const std::string clean = CleanPath(path);
  auto is_directory = IsDirectory(clean);
  if (is_directory.ok() && *is_directory) return absl::OkStatus();
  // If that is unknown (a too long path, a hung disk), parent directories are
  // not checked as well.
  if (!is_directory.ok() && !absl::IsNotFound(is_directory.status())) {
    return is_directory.status();
  }
  const absl::string_view parent = Dirname(clean);
  if (!parent.empty() && parent != clean) {
    RETURN_IF_ERROR(CreateDirectories(parent));
  }
  const absl::Status created = CreateDirectory(clean);
  if (!created.ok()) {
    if (!absl::IsAlreadyExists(created)) return created;
    // Another caller may have created it meanwhile, or this call, whose first
    // reply was lost; a file in its place is an error.
    ASSIGN_OR_RETURN(const bool now_directory, IsDirectory(clean));
    if (!now_directory) return created;
  }
  return SyncDirectory(parent.empty() ? "." : parent);
}

absl::Status FileSystem::DeleteRecursively(absl::string_view path) {
  // Tried as a file first: a link to a directory is deleted, not followed.
  absl::Status deleted = DeleteFile(path);
  if (!absl::IsFailedPrecondition(deleted)) return deleted;
  ASSIGN_OR_RETURN(const auto names, ListDirectory(path));
  for (const std::string& name : names) {
    RETURN_IF_ERROR(DeleteRecursively(JoinPath(path, name)));
  }
  // In an object store some directories disappear with their contents.
  absl::Status emptied = DeleteDirectory(path);
  return absl::IsNotFound(emptied) && !names.empty() ? absl::OkStatus()
                                                     : emptied;
}

absl::StatusOr<std::string> FileSystem::ReadFile(absl::string_view path) {
  return ReadAdmittedFile(*this, path,
                          [](uint64_t) { return absl::OkStatus(); });
}

absl::Status FileSystem::WriteFileAtomically(absl::string_view path,
                                             absl::string_view contents) {
  const std::string temporary = absl::StrCat(path, ".tmp");
  absl::Status status = WriteAndSync(*this, temporary, contents);
  if (status.ok()) status = RenameFile(temporary, path);
  if (!status.ok()) {
    DeleteFile(temporary).IgnoreError();  // the first error is returned
    return status;
  }
  const absl::string_view directory = Dirname(path);
  return SyncDirectory(directory.empty() ? "." : directory);
}

absl::StatusOr<std::vector<std::string>> FileSystem::GetMatchingPaths(
    absl::string_view pattern) {
  std::vector<std::string> result;
  if (!HasWildcard(pattern)) {
    absl::Status exists = FileExists(pattern);
    if (exists.ok()) result.emplace_back(pattern);
    return absl::IsNotFound(exists) || exists.ok()
               ? absl::StatusOr<std::vector<std::string>>(std::move(result))
               : exists;
  }
  const absl::string_view name_pattern = Basename(pattern);
  ASSIGN_OR_RETURN(const auto directories,
                   ExpandDirectories(*this, Dirname(pattern)));
  for (const std::string& directory : directories) {
    const std::string listed = directory.empty() ? "." : directory;
    auto names = ListDirectory(listed);
    if (HasNothing(*this, listed, names.status(),
                   HasWildcard(Dirname(pattern)))) {
      continue;
    }
    RETURN_IF_ERROR(names.status());
    for (const std::string& name : *names) {
      if (MatchesPattern(name, name_pattern)) {
        result.push_back(JoinPath(directory, name));
      }
    }
  }
  return result;
}

}  // namespace weft
