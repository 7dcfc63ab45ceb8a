#include "libs/fs/routed_file_system.h"

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {

absl::StatusOr<std::unique_ptr<WritableFile>> RoutedFileSystem::NewWritableFile(
    absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return place.files->NewWritableFile(place.path);
}

absl::StatusOr<std::unique_ptr<WritableFile>>
RoutedFileSystem::NewAppendableFile(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return place.files->NewAppendableFile(place.path);
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>>
RoutedFileSystem::NewRandomAccessFile(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return place.files->NewRandomAccessFile(place.path);
}

absl::Status RoutedFileSystem::FileExists(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return place.files->FileExists(place.path);
}

absl::StatusOr<bool> RoutedFileSystem::IsDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return place.files->IsDirectory(place.path);
}

absl::StatusOr<uint64_t> RoutedFileSystem::GetFileSize(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return place.files->GetFileSize(place.path);
}

absl::StatusOr<std::vector<std::string>> RoutedFileSystem::ListDirectory(
    absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return place.files->ListDirectory(place.path);
}

absl::Status RoutedFileSystem::CreateDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return place.files->CreateDirectory(place.path);
}

absl::Status RoutedFileSystem::DeleteFile(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return place.files->DeleteFile(place.path);
}

absl::Status RoutedFileSystem::DeleteDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return place.files->DeleteDirectory(place.path);
}

absl::Status RoutedFileSystem::RenameFile(absl::string_view from,
                                          absl::string_view to) {
  ASSIGN_OR_RETURN(const Place old_place, Find(from));
  ASSIGN_OR_RETURN(const Place new_place, Find(to));
  if (old_place.files == new_place.files) {
    return old_place.files->RenameFile(old_place.path, new_place.path);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("rename ", from, ": ", to,
                   " is elsewhere; a file keeps to the disk that it is on"));
}

absl::Status RoutedFileSystem::SyncDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return place.files->SyncDirectory(place.path);
}

absl::Status RoutedFileSystem::WriteFileAtomically(absl::string_view path,
                                                   absl::string_view contents) {
  ASSIGN_OR_RETURN(const Place place, Find(path));
  return place.files->WriteFileAtomically(place.path, contents);
}

}  // namespace weft
