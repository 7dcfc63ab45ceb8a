#include "libs/object_store/object_file_system.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/fs/posix_error.h"
#include "libs/object_store/object_files.h"

namespace weft {
namespace {

constexpr int kKeysAPage = 1000;
// The maximum number of attempts to open an object that is repeatedly created
// and deleted.
constexpr int kMostOpens = 5;

bool IsBucketName(absl::string_view bucket) {
  return absl::c_all_of(bucket, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
           c == '-' || c == '_';
  });
}

absl::StatusOr<ObjectName> ParseName(absl::string_view path) {
  const absl::string_view host = SchemeAndHost(path);
  const size_t begin = host.find("://");
  ObjectName name;
  if (begin != absl::string_view::npos) {
    name.bucket = std::string(host.substr(begin + 3));
  }
  if (name.bucket.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no bucket is named; write s3://BUCKET/PATH"));
  }
  // Check the name, because the bucket becomes part of a host name or URL.
  if (!IsBucketName(name.bucket)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": a bucket's name has letters, digits, '.', '-' and '_'"));
  }
  const std::string clean = CleanPath(path.substr(host.size()));
  for (const absl::string_view part : absl::StrSplit(clean, '/')) {
    if (part != "..") continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": \"..\" leads nowhere in an object store"));
  }
  if (clean != "." && clean != "/") {
    name.key = std::string(absl::StripPrefix(clean, "/"));
  }
  return name;
}

bool IsBucket(const ObjectName& name) { return name.key.empty(); }

ObjectName ParentOf(const ObjectName& name) {
  return {name.bucket, std::string(Dirname(name.key))};
}

// Returns the common prefix of the objects in a directory.
std::string PrefixOf(const ObjectName& directory) {
  return IsBucket(directory) ? std::string() : absl::StrCat(directory.key, "/");
}

ObjectName MarkerOf(const ObjectName& directory) {
  return {directory.bucket, PrefixOf(directory)};
}

// Adds the names on a page of a directory listing. Other programs may have
// created keys such as "d/../x" or "d/./x". These cannot be accessed as files,
// and are skipped so that deleting all listed names cannot delete files
// elsewhere.
void AddNames(const ObjectList& list, absl::string_view prefix,
              std::vector<std::string>* names) {
  for (const std::vector<std::string>* found : {&list.keys, &list.prefixes}) {
    for (absl::string_view name : *found) {
      if (!absl::ConsumePrefix(&name, prefix)) continue;
      absl::ConsumeSuffix(&name, "/");
      if (name.empty() || name == "." || name == "..") continue;
      if (!absl::StrContains(name, '/')) names->emplace_back(name);
    }
  }
}

}  // namespace

ObjectFileSystem::ObjectFileSystem(ObjectStore& store, Scheduler& scheduler,
                                   ObjectFileOptions options)
    : store_(store), scheduler_(scheduler), options_(std::move(options)) {}

absl::StatusOr<bool> ObjectFileSystem::HasAnythingBelow(
    const ObjectName& directory) {
  bool found = false;
  // Look at several pages, because an empty page may be followed by others.
  RETURN_IF_ERROR(ForEachPage(store_, directory.bucket, PrefixOf(directory), 1,
                              [&](const ObjectList& list) {
                                found = !list.keys.empty() ||
                                        !list.prefixes.empty();
                                return !found;
                              }));
  return found;
}

absl::StatusOr<ObjectFileSystem::Kind> ObjectFileSystem::KindOf(
    const ObjectName& name) {
  ASSIGN_OR_RETURN(const bool is_directory, HasAnythingBelow(name));
  if (is_directory || IsBucket(name)) return Kind::kDirectory;
  const absl::Status found = store_.Stat(name).status();
  if (absl::IsNotFound(found)) return Kind::kNothing;
  RETURN_IF_ERROR(found);
  return Kind::kFile;
}

absl::Status ObjectFileSystem::CheckDirectory(const ObjectName& name,
                                              absl::string_view action,
                                              absl::string_view path) {
  ASSIGN_OR_RETURN(const Kind kind, KindOf(name));
  if (kind == Kind::kDirectory) return absl::OkStatus();
  return PosixError(kind == Kind::kFile ? ENOTDIR : ENOENT, action, path);
}

absl::StatusOr<ObjectInfo> ObjectFileSystem::StatFile(const ObjectName& name,
                                                      absl::string_view action,
                                                      absl::string_view path) {
  if (IsBucket(name)) return PosixError(EISDIR, action, path);
  auto info = store_.Stat(name);
  if (!absl::IsNotFound(info.status())) return info;
  ASSIGN_OR_RETURN(const bool is_directory, HasAnythingBelow(name));
  return PosixError(is_directory ? EISDIR : ENOENT, action, path);
}

absl::StatusOr<ObjectName> ObjectFileSystem::ToBeWritten(
    absl::string_view path) {
  ASSIGN_OR_RETURN(ObjectName name, ParseName(path));
  if (IsBucket(name)) return PosixError(EISDIR, "open", path);
  RETURN_IF_ERROR(CheckDirectory(ParentOf(name), "open", path));
  ASSIGN_OR_RETURN(const bool is_directory, HasAnythingBelow(name));
  if (is_directory) return PosixError(EISDIR, "open", path);
  return name;
}

absl::StatusOr<std::unique_ptr<WritableFile>> ObjectFileSystem::NewWritableFile(
    absl::string_view path) {
  ASSIGN_OR_RETURN(ObjectName name, ToBeWritten(path));
  return std::make_unique<ObjectWritableFile>(store_, scheduler_, options_,
                                              std::move(name),
                                              std::string(path), ObjectStart());
}

absl::StatusOr<std::unique_ptr<WritableFile>>
ObjectFileSystem::NewAppendableFile(absl::string_view path) {
  ASSIGN_OR_RETURN(ObjectName name, ToBeWritten(path));
  ObjectStart start;
  const auto info = store_.Stat(name);
  if (info.ok()) {
    start.is_there = true;
    start.is_copied = info->size >= options_.part_bytes;
    if (!start.is_copied) {
      ASSIGN_OR_RETURN(start.bytes, ReadFile(path));
    }
  } else if (!absl::IsNotFound(info.status())) {
    return info.status();
  }
  return std::make_unique<ObjectWritableFile>(
      store_, scheduler_, options_, std::move(name), std::string(path),
      std::move(start));
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>>
ObjectFileSystem::NewRandomAccessFile(absl::string_view path) {
  if (path.empty()) return PosixError(ENOENT, "open", path);
  ASSIGN_OR_RETURN(ObjectName name, ParseName(path));
  if (IsBucket(name)) return PosixError(EISDIR, "open", path);
  ASSIGN_OR_RETURN(ObjectRange piece, ReadBeginning(name, path));
  return std::make_unique<ObjectRandomAccessFile>(
      store_, scheduler_, options_, std::move(name), std::move(piece));
}

absl::StatusOr<ObjectRange> ObjectFileSystem::ReadBeginning(
    const ObjectName& name, absl::string_view path) {
  absl::Status last;
  for (int tries = 0; tries < kMostOpens; ++tries) {
    SyncCall<absl::StatusOr<ObjectRange>> call(scheduler_);
    store_.Read(name, "", 0, kReadAheadBytes, call.Done());
    auto piece = call.Wait();
    if (absl::IsNotFound(piece.status())) {
      ASSIGN_OR_RETURN(const bool is_directory, HasAnythingBelow(name));
      return PosixError(is_directory ? EISDIR : ENOENT, "open", path);
    }
    if (!absl::IsFailedPrecondition(piece.status())) return piece;
    RETURN_IF_ERROR(StatFile(name, "open", path).status());
    last = piece.status();  // it was created in between
  }
  return absl::UnavailableError(absl::StrCat(
      "open ", path,
      ": the object is there when its size is asked for, but not when it is "
      "read; is it deleted and written all the time? ",
      last.message()));
}

absl::Status ObjectFileSystem::FileExists(absl::string_view path) {
  return IsDirectory(path).status();
}

absl::StatusOr<bool> ObjectFileSystem::IsDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const ObjectName name, ParseName(path));
  ASSIGN_OR_RETURN(const Kind kind, KindOf(name));
  if (kind == Kind::kNothing) return PosixError(ENOENT, "stat", path);
  return kind == Kind::kDirectory;
}

absl::StatusOr<uint64_t> ObjectFileSystem::GetFileSize(absl::string_view path) {
  ASSIGN_OR_RETURN(const ObjectName name, ParseName(path));
  ASSIGN_OR_RETURN(const ObjectInfo info, StatFile(name, "size of", path));
  return info.size;
}

absl::StatusOr<std::vector<std::string>> ObjectFileSystem::ListDirectory(
    absl::string_view path) {
  ASSIGN_OR_RETURN(const ObjectName name, ParseName(path));
  RETURN_IF_ERROR(CheckDirectory(name, "list", path));
  const std::string prefix = PrefixOf(name);
  std::vector<std::string> names;
  RETURN_IF_ERROR(ForEachPage(store_, name.bucket, prefix, kKeysAPage,
                              [&](const ObjectList& list) {
                                AddNames(list, prefix, &names);
                                return true;
                              }));
  // An object "a" and objects below "a/" give the same name.
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

absl::Status ObjectFileSystem::CreateDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const ObjectName name, ParseName(path));
  ASSIGN_OR_RETURN(const Kind kind, KindOf(name));
  if (kind != Kind::kNothing) return PosixError(EEXIST, "mkdir", path);
  RETURN_IF_ERROR(CheckDirectory(ParentOf(name), "mkdir", path));
  return store_.Put(MarkerOf(name), "");
}

absl::Status ObjectFileSystem::DeleteFile(absl::string_view path) {
  ASSIGN_OR_RETURN(const ObjectName name, ParseName(path));
  RETURN_IF_ERROR(StatFile(name, "delete", path).status());
  return store_.Delete(name);
}

absl::Status ObjectFileSystem::DeleteLeftover(absl::string_view path) {
  ASSIGN_OR_RETURN(const ObjectName name, ParseName(path));
  return store_.DeleteLeftover(name);
}

absl::Status ObjectFileSystem::DeleteDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const ObjectName name, ParseName(path));
  RETURN_IF_ERROR(CheckDirectory(name, "rmdir", path));
  if (IsBucket(name)) {
    return absl::PermissionDeniedError(
        absl::StrCat("rmdir ", path,
                     ": a bucket cannot be deleted through this file system"));
  }
  const ObjectName marker = MarkerOf(name);
  bool is_empty = true;
  RETURN_IF_ERROR(ForEachPage(
      store_, name.bucket, marker.key, 2, [&](const ObjectList& list) {
        is_empty = list.prefixes.empty() &&
                   absl::c_all_of(list.keys, [&](const std::string& key) {
                     return key == marker.key;
                   });
        return is_empty;
      }));
  return is_empty ? store_.Delete(marker)
                  : PosixError(ENOTEMPTY, "rmdir", path);
}

absl::Status ObjectFileSystem::RenameFile(absl::string_view from,
                                          absl::string_view to) {
  const std::string both = absl::StrCat(from, " to ", to);
  ASSIGN_OR_RETURN(const ObjectName old_name, ParseName(from));
  RETURN_IF_ERROR(StatFile(old_name, "rename", both).status());
  ASSIGN_OR_RETURN(const ObjectName new_name, ToBeWritten(to));
  if (old_name.bucket == new_name.bucket && old_name.key == new_name.key) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(store_.Copy(old_name, new_name));
  return store_.Delete(old_name);
}

absl::Status ObjectFileSystem::SyncDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const ObjectName name, ParseName(path));
  return CheckDirectory(name, "sync", path);
}

absl::Status ObjectFileSystem::WriteFileAtomically(absl::string_view path,
                                                   absl::string_view contents) {
  ASSIGN_OR_RETURN(const ObjectName name, ToBeWritten(path));
  return store_.Put(name, std::string(contents));
}

}  // namespace weft
