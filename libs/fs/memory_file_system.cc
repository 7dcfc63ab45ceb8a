#include "libs/fs/memory_file_system.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "libs/base/scheduler/lock_observer.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/fs/posix_error.h"

namespace weft {
namespace {

std::string DirectoryOf(absl::string_view clean_path) {
  const absl::string_view directory = Dirname(clean_path);
  return directory.empty() ? "." : std::string(directory);
}

}  // namespace

class MemoryFileSystem::File : public WritableFile {
 public:
  File(absl::string_view path, Entry contents)
      : path_(path), contents_(std::move(contents)) {}

  absl::Status Append(absl::string_view data) override {
    if (contents_ == nullptr) return PosixError(EBADF, "write", path_);
    UninterruptedLock lock(&contents_->mutex);
    contents_->bytes.append(data.data(), data.size());
    return absl::OkStatus();
  }
  absl::Status Flush() override { return absl::OkStatus(); }
  absl::Status Sync() override {
    if (contents_ == nullptr) return PosixError(EBADF, "fsync", path_);
    UninterruptedLock lock(&contents_->mutex);
    contents_->synced = contents_->bytes.size();
    contents_->emptied.reset();
    return absl::OkStatus();
  }
  absl::Status Close() override {
    contents_ = nullptr;
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  Entry contents_;
};

// Truncates a file. Until the next sync, the previous synced contents are kept
// for a power failure.
void MemoryFileSystem::Empty(Contents& contents) {
  UninterruptedLock lock(&contents.mutex);
  if (options_.tracks_syncs && !contents.emptied.has_value()) {
    contents.emptied = contents.bytes.substr(0, contents.synced);
  }
  contents.bytes.clear();
  contents.synced = 0;
}

// Returns the bytes that survive a power failure: the contents before the
// truncation, or a prefix of the current contents.
void MemoryFileSystem::LoseUnsynced(Contents& contents, Random& random) {
  UninterruptedLock lock(&contents.mutex);
  if (contents.emptied.has_value() && random.Next() % 2 == 0) {
    contents.bytes = *std::move(contents.emptied);
  } else {
    const size_t unsynced = contents.bytes.size() - contents.synced;
    contents.bytes.resize(contents.synced + random.Next() % (unsynced + 1));
  }
  contents.emptied.reset();
  contents.synced = contents.bytes.size();
}

class MemoryFileSystem::Reader : public RandomAccessFile {
 public:
  explicit Reader(Entry contents) : contents_(std::move(contents)) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t size,
                              char* buffer) const override {
    Contents& contents = *contents_;
    UninterruptedLock lock(&contents.mutex);
    if (offset >= contents.bytes.size()) return 0;
    return contents.bytes.copy(buffer, size, offset);
  }

 private:
  const Entry contents_;
};

MemoryFileSystem::MemoryFileSystem(MemoryFileSystemOptions options)
    : options_(options) {
  entries_["/"] = nullptr;
  entries_["."] = nullptr;
  synced_entries_ = entries_;
}

void MemoryFileSystem::Apply(const Change& change, Entries& entries) {
  for (const auto& [path, entry] : change) {
    if (entry.has_value()) {
      entries[path] = *entry;
    } else {
      entries.erase(path);
    }
  }
}

void MemoryFileSystem::Make(Change change) {
  Apply(change, entries_);
  if (options_.tracks_syncs) unsynced_.push_back(std::move(change));
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
  UninterruptedLock lock(&mutex_);
  RETURN_IF_ERROR(CheckParent("open", path));
  const std::string clean = CleanPath(path);
  auto it = entries_.find(clean);
  if (it == entries_.end()) {
    Make({{clean, std::make_shared<Contents>()}});
    it = entries_.find(clean);
  }
  if (it->second == nullptr) return PosixError(EISDIR, "open", path);
  if (truncate) Empty(*it->second);
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
  UninterruptedLock lock(&mutex_);
  ASSIGN_OR_RETURN(Entry contents, FindFile("open", path));
  return std::make_unique<Reader>(std::move(contents));
}

absl::Status MemoryFileSystem::FileExists(absl::string_view path) {
  return IsDirectory(path).status();
}

absl::StatusOr<bool> MemoryFileSystem::IsDirectory(absl::string_view path) {
  UninterruptedLock lock(&mutex_);
  const Entry* entry = Find(path);
  if (path.empty() || entry == nullptr) return PosixError(ENOENT, "stat", path);
  return *entry == nullptr;
}

absl::StatusOr<uint64_t> MemoryFileSystem::GetFileSize(absl::string_view path) {
  UninterruptedLock lock(&mutex_);
  ASSIGN_OR_RETURN(const Entry contents, FindFile("size of", path));
  UninterruptedLock contents_lock(&contents->mutex);
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
  UninterruptedLock lock(&mutex_);
  const Entry* entry = Find(path);
  if (path.empty() || entry == nullptr) return PosixError(ENOENT, "list", path);
  if (*entry != nullptr) return PosixError(ENOTDIR, "list", path);
  std::vector<std::string> names = NamesIn(CleanPath(path));
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status MemoryFileSystem::CreateDirectory(absl::string_view path) {
  UninterruptedLock lock(&mutex_);
  RETURN_IF_ERROR(CheckParent("create directory", path));
  const std::string clean = CleanPath(path);
  if (entries_.contains(clean)) {
    return PosixError(EEXIST, "create directory", path);
  }
  Make({{clean, Entry()}});
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::DeleteFile(absl::string_view path) {
  UninterruptedLock lock(&mutex_);
  RETURN_IF_ERROR(FindFile("delete", path).status());
  Make({{CleanPath(path), std::nullopt}});
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::DeleteDirectory(absl::string_view path) {
  constexpr absl::string_view kAction = "delete directory";
  UninterruptedLock lock(&mutex_);
  const std::string clean = CleanPath(path);
  const Entry* entry = Find(path);
  if (path.empty() || entry == nullptr)
    return PosixError(ENOENT, kAction, path);
  if (*entry != nullptr) return PosixError(ENOTDIR, kAction, path);
  if (clean == "/" || clean == ".") return PosixError(EPERM, kAction, path);
  if (!NamesIn(clean).empty()) return PosixError(ENOTEMPTY, kAction, path);
  Make({{clean, std::nullopt}});
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::RenameFile(absl::string_view from,
                                          absl::string_view to) {
  UninterruptedLock lock(&mutex_);
  ASSIGN_OR_RETURN(Entry contents, FindFile("rename", from));
  RETURN_IF_ERROR(CheckParent("rename", to));
  const Entry* target = Find(to);
  if (target != nullptr && *target == nullptr) {
    return PosixError(EISDIR, "rename", to);
  }
  Make({{CleanPath(from), std::nullopt}, {CleanPath(to), std::move(contents)}});
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::SyncDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(path));
  if (!is_directory) return PosixError(ENOTDIR, "fsync", path);
  const std::string directory = CleanPath(path);
  UninterruptedLock lock(&mutex_);
  // Go backward, because a synced change also makes the earlier changes durable
  // on which it depends.
  std::set<std::string> needed;
  std::vector<bool> is_synced(unsynced_.size());
  for (size_t i = unsynced_.size(); i-- > 0;) {
    is_synced[i] = absl::c_any_of(unsynced_[i], [&](const auto& entry) {
      return DirectoryOf(entry.first) == directory ||
             needed.count(entry.first) > 0;
    });
    if (!is_synced[i]) continue;
    for (const auto& [name, entry] : unsynced_[i]) needed.insert(name);
  }
  std::vector<Change> left;
  for (size_t i = 0; i < unsynced_.size(); ++i) {
    if (is_synced[i]) {
      Apply(unsynced_[i], synced_entries_);
    } else {
      left.push_back(std::move(unsynced_[i]));
    }
  }
  unsynced_ = std::move(left);
  return absl::OkStatus();
}

void MemoryFileSystem::LosePower(Random& random) {
  UninterruptedLock lock(&mutex_);
  std::set<std::string> lost;
  for (const Change& change : std::exchange(unsynced_, {})) {
    bool stands = true;
    for (const auto& [name, entry] : change) {
      const bool is_lost =
          lost.count(name) > 0 ||
          (entry.has_value() && !synced_entries_.contains(DirectoryOf(name)));
      stands = stands && !is_lost;
    }
    if (stands && random.Next() % 2 == 0) {
      Apply(change, synced_entries_);
    } else {
      for (const auto& [name, entry] : change) lost.insert(name);
    }
  }
  entries_ = synced_entries_;
  for (const auto& [path, contents] : entries_) {
    if (contents != nullptr) LoseUnsynced(*contents, random);
  }
}

}  // namespace weft
