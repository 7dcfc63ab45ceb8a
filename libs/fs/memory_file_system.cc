#include "libs/fs/memory_file_system.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/fs/posix_error.h"

namespace weft {

class MemoryFileSystem::File : public WritableFile {
 public:
  File(absl::string_view path, Entry contents)
      : path_(path), contents_(std::move(contents)) {}

  absl::Status Append(absl::string_view data) override {
    if (contents_ == nullptr) return PosixError(EBADF, "write", path_);
    absl::MutexLock lock(&contents_->mutex);
    contents_->bytes.append(data.data(), data.size());
    return absl::OkStatus();
  }
  absl::Status Flush() override { return absl::OkStatus(); }
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::Status Close() override {
    contents_ = nullptr;
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  Entry contents_;
};

class MemoryFileSystem::Reader : public RandomAccessFile {
 public:
  explicit Reader(Entry contents) : contents_(std::move(contents)) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t size,
                              char* buffer) const override {
    absl::MutexLock lock(&contents_->mutex);
    const std::string& bytes = contents_->bytes;
    if (offset >= bytes.size()) return 0;
    return bytes.copy(buffer, size, offset);
  }

 private:
  const Entry contents_;
};

MemoryFileSystem::MemoryFileSystem() {
  entries_["/"] = nullptr;
  entries_["."] = nullptr;
}

const MemoryFileSystem::Entry* MemoryFileSystem::Find(
    absl::string_view path) const {
  auto it = entries_.find(CleanPath(path));
  return it == entries_.end() ? nullptr : &it->second;
}

absl::Status MemoryFileSystem::CheckParent(absl::string_view action,
                                           absl::string_view path) const {
  if (path.empty()) return PosixError(ENOENT, action, path);
  const std::string clean = CleanPath(path);
  absl::string_view parent = Dirname(clean);
  if (parent.empty()) parent = ".";
  const Entry* entry = Find(parent);
  if (entry == nullptr) return PosixError(ENOENT, action, path);
  if (*entry != nullptr) return PosixError(ENOTDIR, action, path);
  return absl::OkStatus();
}

absl::StatusOr<MemoryFileSystem::Entry> MemoryFileSystem::FindFile(
    absl::string_view action, absl::string_view path) const {
  const Entry* entry = Find(path);
  if (path.empty() || entry == nullptr) return PosixError(ENOENT, action, path);
  if (*entry == nullptr) return PosixError(EISDIR, action, path);
  return *entry;
}

absl::StatusOr<std::unique_ptr<WritableFile>> MemoryFileSystem::OpenForWriting(
    absl::string_view path, bool truncate) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckParent("open", path));
  auto [it, created] =
      entries_.try_emplace(CleanPath(path), std::make_shared<Contents>());
  if (it->second == nullptr) return PosixError(EISDIR, "open", path);
  if (truncate) {
    absl::MutexLock contents_lock(&it->second->mutex);
    it->second->bytes.clear();
  }
  return std::make_unique<File>(path, it->second);
}

absl::StatusOr<std::unique_ptr<WritableFile>> MemoryFileSystem::NewWritableFile(
    absl::string_view path) {
  return OpenForWriting(path, /*truncate=*/true);
}

absl::StatusOr<std::unique_ptr<WritableFile>>
MemoryFileSystem::NewAppendableFile(absl::string_view path) {
  return OpenForWriting(path, /*truncate=*/false);
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>>
MemoryFileSystem::NewRandomAccessFile(absl::string_view path) {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(Entry contents, FindFile("open", path));
  return std::make_unique<Reader>(std::move(contents));
}

absl::Status MemoryFileSystem::FileExists(absl::string_view path) {
  return IsDirectory(path).status();
}

absl::StatusOr<bool> MemoryFileSystem::IsDirectory(absl::string_view path) {
  absl::MutexLock lock(&mutex_);
  const Entry* entry = Find(path);
  if (path.empty() || entry == nullptr) return PosixError(ENOENT, "stat", path);
  return *entry == nullptr;
}

absl::StatusOr<uint64_t> MemoryFileSystem::GetFileSize(absl::string_view path) {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const Entry contents, FindFile("size of", path));
  absl::MutexLock contents_lock(&contents->mutex);
  return contents->bytes.size();
}

std::vector<std::string> MemoryFileSystem::NamesIn(
    const std::string& directory) const {
  std::vector<std::string> names;
  for (const auto& [path, entry] : entries_) {
    const bool relative = !absl::StartsWith(path, "/") && path != ".";
    const absl::string_view parent = Dirname(path);
    const bool inside =
        directory == "." ? relative && parent.empty() : parent == directory;
    if (inside && path != directory) names.emplace_back(Basename(path));
  }
  return names;
}

absl::StatusOr<std::vector<std::string>> MemoryFileSystem::ListDirectory(
    absl::string_view path) {
  absl::MutexLock lock(&mutex_);
  const Entry* entry = Find(path);
  if (path.empty() || entry == nullptr) return PosixError(ENOENT, "list", path);
  if (*entry != nullptr) return PosixError(ENOTDIR, "list", path);
  std::vector<std::string> names = NamesIn(CleanPath(path));
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status MemoryFileSystem::CreateDirectory(absl::string_view path) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckParent("create directory", path));
  if (!entries_.emplace(CleanPath(path), nullptr).second) {
    return PosixError(EEXIST, "create directory", path);
  }
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::DeleteFile(absl::string_view path) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(FindFile("delete", path).status());
  entries_.erase(CleanPath(path));
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::DeleteDirectory(absl::string_view path) {
  constexpr absl::string_view kAction = "delete directory";
  absl::MutexLock lock(&mutex_);
  const std::string clean = CleanPath(path);
  const Entry* entry = Find(path);
  if (path.empty() || entry == nullptr)
    return PosixError(ENOENT, kAction, path);
  if (*entry != nullptr) return PosixError(ENOTDIR, kAction, path);
  if (clean == "/" || clean == ".") return PosixError(EPERM, kAction, path);
  if (!NamesIn(clean).empty()) return PosixError(ENOTEMPTY, kAction, path);
  entries_.erase(clean);
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::RenameFile(absl::string_view from,
                                          absl::string_view to) {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(Entry contents, FindFile("rename", from));
  RETURN_IF_ERROR(CheckParent("rename", to));
  const Entry* target = Find(to);
  if (target != nullptr && *target == nullptr) {
    return PosixError(EISDIR, "rename", to);
  }
  entries_.erase(CleanPath(from));
  entries_[CleanPath(to)] = std::move(contents);
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::SyncDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(path));
  if (!is_directory) return PosixError(ENOTDIR, "fsync", path);
  return absl::OkStatus();
}

}  // namespace weft
