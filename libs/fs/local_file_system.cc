#include "libs/fs/local_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "libs/base/status.h"
#include "libs/fs/posix_error.h"

namespace weft {
namespace {

// The size of the write buffer. Smaller appends are collected into one write.
constexpr size_t kBufferBytes = 64 << 10;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Rejects a path with a zero byte, because the system would end the path there.
absl::Status CheckPath(absl::string_view action, absl::string_view path) {
  if (!absl::StrContains(path, '\0')) return absl::OkStatus();
  return PosixError(EINVAL, action, absl::CHexEscape(path));
}

absl::StatusOr<Descriptor> Open(absl::string_view path, int flags) {
  RETURN_IF_ERROR(CheckPath("open", path));
  const int fd = ::open(std::string(path).c_str(), flags | O_CLOEXEC, 0666);
  if (fd < 0) return PosixError(errno, "open", path);
  return Descriptor(fd);
}

// Returns whether fsync of a directory failed because its file system does not
// support it (autofs, squashfs, some SMB mounts). PostgreSQL and git ignore
// this error, too.
bool IsNotOffered(int error) {
  return error == EINVAL || error == EBADF || error == ENOSYS ||
         error == ENOTSUP || error == EROFS;
}

absl::StatusOr<struct stat> Stat(absl::string_view path) {
  RETURN_IF_ERROR(CheckPath("stat", path));
  struct stat result;
  if (::stat(std::string(path).c_str(), &result) != 0) {
    return PosixError(errno, "stat", path);
  }
  return result;
}

class LocalWritableFile : public WritableFile {
 public:
  LocalWritableFile(absl::string_view path, Descriptor descriptor)
      : path_(path), descriptor_(std::move(descriptor)) {}
  ~LocalWritableFile() override { Close().IgnoreError(); }

  absl::Status Append(absl::string_view data) override {
    if (descriptor_.get() < 0) return PosixError(EBADF, "write", path_);
    if (buffer_.size() + data.size() > kBufferBytes) {
      RETURN_IF_ERROR(Flush());
      if (data.size() > kBufferBytes) return Write(&data);
    }
    buffer_.append(data.data(), data.size());
    return absl::OkStatus();
  }

  // After an error, the buffer keeps only the bytes that were not written, so
  // that a later call does not write bytes twice.
  absl::Status Flush() override {
    absl::string_view left = buffer_;
    const absl::Status written = Write(&left);
    buffer_.erase(0, buffer_.size() - left.size());
    return written;
  }

  absl::Status Sync() override {
    RETURN_IF_ERROR(Flush());
    if (::fsync(descriptor_.get()) == 0) return absl::OkStatus();
    return PosixError(errno, "fsync", path_);
  }

  absl::Status Close() override {
    if (descriptor_.get() < 0) return absl::OkStatus();
    absl::Status flushed = Flush();
    buffer_.clear();
    const int result = ::close(descriptor_.Release());
    if (!flushed.ok() || result == 0) return flushed;
    return PosixError(errno, "close", path_);
  }

 private:
  // Writes data, and removes the written bytes from the front of `data`.
  absl::Status Write(absl::string_view* data) {
    while (!data->empty()) {
      const ssize_t n = ::write(descriptor_.get(), data->data(), data->size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return PosixError(errno, "write", path_);
      data->remove_prefix(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }

  const std::string path_;
  Descriptor descriptor_;
  std::string buffer_;
};

class LocalRandomAccessFile : public RandomAccessFile {
 public:
  LocalRandomAccessFile(absl::string_view path, Descriptor descriptor)
      : path_(path), descriptor_(std::move(descriptor)) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t size,
                              char* buffer) const override {
    size_t filled = 0;
    while (filled < size) {
      const ssize_t n =
          ::pread(descriptor_.get(), buffer + filled, size - filled,
                  static_cast<off_t>(offset + filled));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return PosixError(errno, "read", path_);
      if (n == 0) break;
      filled += static_cast<size_t>(n);
    }
    return filled;
  }

 private:
  const std::string path_;
  const Descriptor descriptor_;
};

absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(
    absl::string_view path, int mode) {
  ASSIGN_OR_RETURN(Descriptor descriptor,
                   Open(path, O_WRONLY | O_CREAT | mode));
  return std::make_unique<LocalWritableFile>(path, std::move(descriptor));
}

}  // namespace

absl::StatusOr<std::unique_ptr<WritableFile>> LocalFileSystem::NewWritableFile(
    absl::string_view path) {
  return OpenForWriting(path, O_TRUNC);
}

absl::StatusOr<std::unique_ptr<WritableFile>>
LocalFileSystem::NewAppendableFile(absl::string_view path) {
  return OpenForWriting(path, O_APPEND);
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>>
LocalFileSystem::NewRandomAccessFile(absl::string_view path) {
  // With O_NONBLOCK, opening a pipe does not wait for its writer. A pipe cannot
  // be read at offsets anyway.
  ASSIGN_OR_RETURN(Descriptor descriptor, Open(path, O_RDONLY | O_NONBLOCK));
  // Linux opens directories for reading, and only the first read fails. So
  // check it here.
  ASSIGN_OR_RETURN(const struct stat info, Stat(path));
  if (S_ISDIR(info.st_mode)) return PosixError(EISDIR, "open", path);
  return std::make_unique<LocalRandomAccessFile>(path, std::move(descriptor));
}

absl::Status LocalFileSystem::FileExists(absl::string_view path) {
  return Stat(path).status();
}

absl::StatusOr<bool> LocalFileSystem::IsDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const struct stat info, Stat(path));
  return S_ISDIR(info.st_mode);
}

absl::StatusOr<uint64_t> LocalFileSystem::GetFileSize(absl::string_view path) {
  ASSIGN_OR_RETURN(const struct stat info, Stat(path));
  if (S_ISDIR(info.st_mode)) return PosixError(EISDIR, "size of", path);
  return static_cast<uint64_t>(info.st_size);
}

absl::StatusOr<std::vector<std::string>> LocalFileSystem::ListDirectory(
    absl::string_view path) {
  RETURN_IF_ERROR(CheckPath("list", path));
  DIR* directory = ::opendir(std::string(path).c_str());
  if (directory == nullptr) return PosixError(errno, "list", path);
  std::vector<std::string> names;
  errno = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): safe where no thread shares the DIR.
  while (const dirent* entry = ::readdir(directory)) {
    const absl::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  const int error = errno;
  ::closedir(directory);
  if (error != 0) return PosixError(error, "list", path);
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status LocalFileSystem::CreateDirectory(absl::string_view path) {
  RETURN_IF_ERROR(CheckPath("create directory", path));
  if (::mkdir(std::string(path).c_str(), 0777) == 0) return absl::OkStatus();
  return PosixError(errno, "create directory", path);
}

absl::Status LocalFileSystem::DeleteFile(absl::string_view path) {
  RETURN_IF_ERROR(CheckPath("delete", path));
  if (::unlink(std::string(path).c_str()) == 0) return absl::OkStatus();
  return PosixError(errno, "delete", path);
}

absl::Status LocalFileSystem::DeleteDirectory(absl::string_view path) {
  RETURN_IF_ERROR(CheckPath("delete directory", path));
  if (::rmdir(std::string(path).c_str()) == 0) return absl::OkStatus();
  return PosixError(errno, "delete directory", path);
}

absl::Status LocalFileSystem::RenameFile(absl::string_view from,
                                         absl::string_view to) {
  RETURN_IF_ERROR(CheckPath("rename", from));
  RETURN_IF_ERROR(CheckPath("rename", to));
  if (std::rename(std::string(from).c_str(), std::string(to).c_str()) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  // The system does not report whether `from` or the directory of `to` is
  // missing, so check.
  const bool names_target = FileExists(from).ok();
  return PosixError(error, "rename", names_target ? to : from);
}

absl::Status LocalFileSystem::SyncDirectory(absl::string_view path) {
  const auto descriptor = Open(path, O_RDONLY | O_DIRECTORY);
  // A directory that may be written but not read cannot be synced.
  if (absl::IsPermissionDenied(descriptor.status()) && IsDirectory(path).ok()) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(descriptor.status());
  if (::fsync(descriptor->get()) == 0 || IsNotOffered(errno)) {
    return absl::OkStatus();
  }
  return PosixError(errno, "fsync", path);
}

}  // namespace weft
