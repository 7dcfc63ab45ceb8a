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

// Returns whether the path has a wildcard after its host, which may contain
// brackets itself, as in "[::1]".
bool HasWildcard(absl::string_view path) {
  path.remove_prefix(SchemeAndHost(path).size());
  return path.find_first_of("*?[\\") != absl::string_view::npos;
}

// Returns whether a listing that failed with `status` counts as a directory
// without matches. This is so if the directory is a file or does not exist, or
// if it is one of several matches and this program has no permission to list
// it.
bool HasNothing(FileSystem& fs, absl::string_view directory,
                const absl::Status& status, bool is_one_of_several) {
  if (absl::IsFailedPrecondition(status)) {
    // NOT_FOUND may also mean that the object store is not configured or does
    // not have the bucket. This must be reported as an error.
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

// Returns the directories that match `directory`, which may contain wildcards.
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
  // If it is unknown whether the directory exists (the path is too long, or the
  // disk hangs), parent directories are not checked either.
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
    // Another caller may have created the directory meanwhile, or an earlier
    // attempt of this call whose reply was lost. A file with that name is an
    // error.
    ASSIGN_OR_RETURN(const bool now_directory, IsDirectory(clean));
    if (!now_directory) return created;
  }
  return SyncDirectory(parent.empty() ? "." : parent);
}

absl::Status FileSystem::DeleteRecursively(absl::string_view path) {
  // First try to delete the path as a file, so that a link to a directory is
  // deleted and not followed.
  absl::Status deleted = DeleteFile(path);
  if (!absl::IsFailedPrecondition(deleted)) return deleted;
  ASSIGN_OR_RETURN(const auto names, ListDirectory(path));
  for (const std::string& name : names) {
    RETURN_IF_ERROR(DeleteRecursively(JoinPath(path, name)));
  }
  // In an object store some directories disappear with their last file, so
  // NOT_FOUND is not an error.
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
