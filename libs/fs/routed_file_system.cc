#include "libs/fs/routed_file_system.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {

namespace {

absl::Status StatusOf(const absl::Status& status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace

template <typename Result>
Result RoutedFileSystem::Named(const Place& place, Result result) {
  if (place.name.empty() || result.ok()) return result;
  return Annotate(StatusOf(result), place.name);
}

absl::StatusOr<std::vector<RoutedFileSystem::Place>> RoutedFileSystem::FindAll(
    absl::string_view path) {
  std::vector<Place> places(1);
  ASSIGN_OR_RETURN(places[0], Find(path));
  return places;
}

absl::Status RoutedFileSystem::AtAll(
    absl::string_view path, absl::StatusCode tolerated,
    absl::FunctionRef<absl::Status(FileSystem&, const std::string&)> act) {
  ASSIGN_OR_RETURN(const std::vector<Place> places, FindAll(path));
  absl::Status first_tolerated;
  bool is_done = false;
  for (const Place& place : places) {
    const absl::Status status = Named(place, act(*place.files, place.path));
    if (!status.ok() && status.code() != tolerated) return status;
    is_done |= status.ok();
    first_tolerated.Update(status);
  }
  return is_done ? absl::OkStatus() : first_tolerated;
}

absl::StatusOr<std::unique_ptr<WritableFile>> RoutedFileSystem::NewWritableFile(
    absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return Named(place, place.files->NewWritableFile(place.path));
}

absl::StatusOr<std::unique_ptr<WritableFile>>
RoutedFileSystem::NewAppendableFile(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return Named(place, place.files->NewAppendableFile(place.path));
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>>
RoutedFileSystem::NewRandomAccessFile(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return Named(place, place.files->NewRandomAccessFile(place.path));
}

absl::Status RoutedFileSystem::FileExists(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return Named(place, place.files->FileExists(place.path));
}

// Returns true only if the directory exists in all places, because
// CreateDirectories must create it where it is missing.
absl::StatusOr<bool> RoutedFileSystem::IsDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  ASSIGN_OR_RETURN(bool is_directory,
                   Named(place, place.files->IsDirectory(place.path)));
  if (!is_directory) return false;
  ASSIGN_OR_RETURN(const std::vector<Place> places, FindAll(path));
  for (const Place& other : places) {
    if (other.files == place.files || !is_directory) continue;
    ASSIGN_OR_RETURN(is_directory,
                     Named(other, other.files->IsDirectory(other.path)));
  }
  return is_directory;
}

absl::StatusOr<uint64_t> RoutedFileSystem::GetFileSize(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return Named(place, place.files->GetFileSize(place.path));
}

absl::StatusOr<std::vector<std::string>> RoutedFileSystem::ListDirectory(
    absl::string_view path) {
  std::set<std::string> names;
  RETURN_IF_ERROR(
      AtAll(path, absl::StatusCode::kNotFound,
            [&](FileSystem& files, const std::string& there) -> absl::Status {
              ASSIGN_OR_RETURN(const auto some, files.ListDirectory(there));
              names.insert(some.begin(), some.end());
              return absl::OkStatus();
            }));
  return std::vector<std::string>(names.begin(), names.end());
}

absl::Status RoutedFileSystem::CreateDirectory(absl::string_view path) {
  absl::Status is_file;  // set if the path is a file somewhere
  const absl::Status made =
      AtAll(path, absl::StatusCode::kAlreadyExists,
            [&](FileSystem& files, const std::string& there) {
              if (!is_file.ok()) return is_file;
              const absl::Status status = files.CreateDirectory(there);
              if (absl::IsAlreadyExists(status) &&
                  !files.IsDirectory(there).value_or(true)) {
                is_file = status;
              }
              return status;
            });
  return is_file.ok() ? made : is_file;
}

absl::Status RoutedFileSystem::DeleteLeftover(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return Named(place, place.files->DeleteLeftover(place.path));
}

absl::Status RoutedFileSystem::DeleteFile(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  const absl::Status deleted =
      Named(place, place.files->DeleteFile(place.path));
  if (!absl::IsNotFound(deleted)) return deleted;
  // Returns an error if the path is a directory in another place, so that
  // DeleteRecursively does not ignore the parts there.
  ASSIGN_OR_RETURN(const std::vector<Place> places, FindAll(path));
  for (const Place& other : places) {
    if (other.files == place.files) continue;
    if (!other.files->IsDirectory(other.path).value_or(false)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("delete ", path, ": the path is a directory"));
  }
  return deleted;
}

absl::Status RoutedFileSystem::DeleteDirectory(absl::string_view path) {
  return AtAll(path, absl::StatusCode::kNotFound,
               [](FileSystem& files, const std::string& there) {
                 return files.DeleteDirectory(there);
               });
}

absl::Status RoutedFileSystem::RenameFile(absl::string_view from,
                                          absl::string_view to) {
  ASSIGN_OR_RETURN(const Place old_place, Find(from));
  ASSIGN_OR_RETURN(const Place new_place, Find(to));
  if (old_place.files == new_place.files) {
    return Named(old_place,
                 old_place.files->RenameFile(old_place.path, new_place.path));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("rename ", from, ": ", to,
                   " is elsewhere; a file keeps to the disk that it is on"));
}

absl::Status RoutedFileSystem::SyncDirectory(absl::string_view path) {
  return AtAll(path, absl::StatusCode::kOk,
               [](FileSystem& files, const std::string& there) {
                 return files.SyncDirectory(there);
               });
}

absl::Status RoutedFileSystem::WriteFileAtomically(absl::string_view path,
                                                   absl::string_view contents) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return Named(place, place.files->WriteFileAtomically(place.path, contents));
}

}  // namespace weft
