#include "libs/protocol/files/remote_file_system.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/fs/posix_error.h"

namespace weft::protocol {

class RemoteFileSystem::Caller {
 public:
  explicit Caller(RemoteFileSystemOptions options)
      : options_(std::move(options)) {}

  Scheduler& scheduler() const { return *options_.scheduler; }
  std::string NameOf(absl::string_view path) const {
    return absl::StrCat(options_.name, path);
  }

  void Start(FileRequest request, Files::Done done,
             absl::Duration at_most = absl::InfiniteDuration()) const {
    options_.files->Operate(std::move(request),
                            scheduler().clock().Now() +
                                std::min(at_most, options_.operation_timeout),
                            nullptr, std::move(done));
  }
  absl::StatusOr<FileAnswer> Wait(
      FileRequest request,
      absl::Duration at_most = absl::InfiniteDuration()) const {
    SyncCall<absl::StatusOr<FileAnswer>> call(scheduler());
    Start(std::move(request), call.Done(), at_most);
    return call.Wait();
  }

 private:
  const RemoteFileSystemOptions options_;
};

namespace {

// Pages of kMaxListedBytes each: a task that never ends a list must not fill
// memory.
constexpr int kMaxListPages = 64;

// Joined to its directory it must be a file in that directory.
bool IsNameInDirectory(absl::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         !absl::StrContains(name, '/') && !absl::StrContains(name, '\0');
}

using CallerPtr = std::shared_ptr<const RemoteFileSystem::Caller>;

// Counts the pieces of a file in flight, and keeps their first error. Also
// owned by the callbacks, which may outlive the file.
class SentPieces {
 public:
  explicit SentPieces(Scheduler& scheduler) : scheduler_(scheduler) {}

  void Begin() {
    absl::MutexLock lock(&mutex_);
    ++sent_;
  }
  void End(const absl::Status& status) {
    absl::MutexLock lock(&mutex_);
    --sent_;
    if (first_error_.ok()) first_error_ = status;
    if (waiting_ != nullptr && sent_ <= most_) waiting_->Set();
  }
  // Waits until at most `most` are in flight: up to the deadline of one piece.
  absl::Status WaitUntil(int most) {
    const std::unique_ptr<Event> event = scheduler_.NewEvent();
    {
      absl::MutexLock lock(&mutex_);
      if (sent_ <= most) return first_error_;
      waiting_ = event.get();
      most_ = most;
    }
    event->Wait();
    // End sets the event under the lock: after this it has released the event.
    absl::MutexLock lock(&mutex_);
    waiting_ = nullptr;
    return first_error_;
  }
  absl::Status first_error() const {
    absl::MutexLock lock(&mutex_);
    return first_error_;
  }

 private:
  Scheduler& scheduler_;
  mutable absl::Mutex mutex_;
  int sent_ ABSL_GUARDED_BY(mutex_) = 0;
  int most_ ABSL_GUARDED_BY(mutex_) = 0;  // being waited for
  Event* waiting_ ABSL_GUARDED_BY(mutex_) = nullptr;
  absl::Status first_error_ ABSL_GUARDED_BY(mutex_);
};

class RemoteWritableFile : public WritableFile {
 public:
  RemoteWritableFile(CallerPtr caller, uint64_t file, absl::string_view path)
      : caller_(std::move(caller)),
        file_(file),
        path_(path),
        pieces_(std::make_shared<SentPieces>(caller_->scheduler())) {}
  ~RemoteWritableFile() override { Close().IgnoreError(); }

  absl::Status Append(absl::string_view data) override {
    RETURN_IF_ERROR(CheckUsable());
    while (!data.empty()) {
      const absl::string_view part =
          data.substr(0, kMaxFileChunkBytes - piece_.size());
      if (piece_.empty() && part.size() == kMaxFileChunkBytes) {
        RETURN_IF_ERROR(Send(std::string(part)));
      } else {
        piece_.append(part.data(), part.size());
        if (piece_.size() == kMaxFileChunkBytes)
          RETURN_IF_ERROR(SendGathered());
      }
      data.remove_prefix(part.size());
    }
    return Explained(pieces_->first_error());
  }

  absl::Status Flush() override { return InOrder(FileAction::kFlush); }
  absl::Status Sync() override { return InOrder(FileAction::kSync); }

  absl::Status Close() override {
    if (closed_) return absl::OkStatus();
    const absl::Status status = InOrder(FileAction::kClose);
    if (!status.ok()) GiveUp();
    closed_ = true;
    return status;
  }

  void Abandon() override {
    if (closed_) return;
    GiveUp();
    closed_ = true;
  }

 private:
  FileRequest Of(FileAction action) const {
    FileRequest request;
    request.action = action;
    request.file = file_;
    request.offset = sent_bytes_;
    return request;
  }

  absl::Status Explained(const absl::Status& status) const {
    return Annotate(status, caller_->NameOf(path_));
  }

  // The first error is kept. A hung disk is waited for only once.
  absl::Status CheckUsable() const {
    if (closed_) return PosixError(EBADF, "write", caller_->NameOf(path_));
    RETURN_IF_ERROR(Explained(pieces_->first_error()));
    return Explained(error_);
  }

  // Whether the other end was told does not matter: there the file ends with
  // the connection at the latest.
  void GiveUp() {
    caller_->Start(Of(FileAction::kAbandon), [](auto) {});
  }

  absl::Status Send(std::string piece) {
    RETURN_IF_ERROR(Explained(pieces_->WaitUntil(kMaxUnansweredChunks - 1)));
    FileRequest request = Of(FileAction::kAppend);
    sent_bytes_ += piece.size();
    request.bytes = bus::Blob::FromString(std::move(piece));
    pieces_->Begin();
    caller_->Start(std::move(request),
                   [pieces = pieces_](const absl::StatusOr<FileAnswer>& done) {
                     pieces->End(done.status());
                   });
    return absl::OkStatus();
  }
  absl::Status SendGathered() {
    if (piece_.empty()) return absl::OkStatus();
    return Send(std::exchange(piece_, {}));
  }

  // Runs once all pieces are written. One slot among them must be free.
  absl::Status InOrder(FileAction action) {
    RETURN_IF_ERROR(CheckUsable());
    RETURN_IF_ERROR(SendGathered());
    RETURN_IF_ERROR(Explained(pieces_->WaitUntil(kMaxUnansweredChunks - 1)));
    error_ = caller_->Wait(Of(action)).status();
    return CheckUsable();
  }

  const CallerPtr caller_;
  const uint64_t file_;
  const std::string path_;
  const std::shared_ptr<SentPieces> pieces_;
  std::string piece_;  // being collected
  uint64_t sent_bytes_ = 0;
  absl::Status error_;  // of Flush, Sync or Close
  bool closed_ = false;
};

class RemoteRandomAccessFile : public RandomAccessFile {
 public:
  RemoteRandomAccessFile(CallerPtr caller, uint64_t file,
                         absl::string_view path)
      : caller_(std::move(caller)), file_(file), path_(path) {}
  ~RemoteRandomAccessFile() override {
    FileRequest request;
    request.action = FileAction::kAbandon;
    request.file = file_;
    caller_->Start(std::move(request), [](auto) {});
  }

  absl::StatusOr<size_t> Read(uint64_t offset, size_t size,
                              char* buffer) const override {
    if (size == 0) return 0;
    if (size >= kReadAheadBytes) return ReadPieces(offset, size, buffer);
    bus::Blob ahead;
    uint64_t from = 0;
    {
      absl::MutexLock lock(&mutex_);
      ahead = ahead_;
      from = ahead_from_;
    }
    const bool is_there = offset >= from && offset - from <= ahead.size() &&
                          size <= ahead.size() - (offset - from);
    if (!is_there) {
      ASSIGN_OR_RETURN(ahead, ReadAhead(offset));
      from = offset;
    }
    const size_t read = std::min<size_t>(size, ahead.size() - (offset - from));
    // At the end of the file there may be no bytes to point to.
    if (read > 0) std::memcpy(buffer, ahead.data() + (offset - from), read);
    return read;
  }

 private:
  using Piece = SyncCall<absl::StatusOr<FileAnswer>>;

  FileRequest PieceAt(uint64_t offset, size_t size) const {
    FileRequest request;
    request.action = FileAction::kRead;
    request.file = file_;
    request.offset = offset;
    request.size = static_cast<uint32_t>(size);
    return request;
  }

  absl::Status Explained(const absl::Status& status) const {
    return Annotate(status, caller_->NameOf(path_));
  }

  // Returns what the other end reads, if that is no more than was requested.
  absl::StatusOr<bus::Blob> Checked(absl::StatusOr<FileAnswer> answer,
                                    size_t size) const {
    if (!answer.ok()) return Explained(answer.status());
    if (answer->bytes.size() > size) {
      return Explained(absl::InternalError(
          absl::StrCat("its task read ", answer->bytes.size(), " bytes of ",
                       size, " that were asked for")));
    }
    return std::move(answer->bytes);
  }

  absl::StatusOr<bus::Blob> ReadAhead(uint64_t offset) const {
    ASSIGN_OR_RETURN(bus::Blob ahead,
                     Checked(caller_->Wait(PieceAt(offset, kReadAheadBytes)),
                             kReadAheadBytes));
    absl::MutexLock lock(&mutex_);
    ahead_ = ahead;
    ahead_from_ = offset;
    return ahead;
  }

  // Requests several pieces at once, and waits for all of them.
  absl::StatusOr<size_t> ReadPieces(uint64_t offset, size_t size,
                                    char* buffer) const {
    struct Asked {
      std::unique_ptr<Piece> piece;
      size_t begin = 0;
      size_t size = 0;
    };
    std::deque<Asked> asked;
    size_t begin = 0;  // of what has not been requested yet
    size_t read = 0;
    absl::Status status;
    bool at_end = false;
    const auto goes_on = [&] { return status.ok() && !at_end && begin < size; };
    while (goes_on() || !asked.empty()) {
      while (goes_on() && asked.size() < kMaxUnansweredChunks) {
        const size_t next = std::min(kMaxFileChunkBytes, size - begin);
        asked.push_back(
            {std::make_unique<Piece>(caller_->scheduler()), begin, next});
        caller_->Start(PieceAt(offset + begin, next),
                       asked.back().piece->Done());
        begin += next;
      }
      const Asked& first = asked.front();
      const auto bytes = Checked(first.piece->Wait(), first.size);
      if (status.ok() && !at_end) {
        status = bytes.status();
        if (status.ok()) {
          if (bytes->size() > 0) {
            std::memcpy(buffer + first.begin, bytes->data(), bytes->size());
          }
          read += bytes->size();
          at_end = bytes->size() < first.size;
        }
      }
      asked.pop_front();
    }
    RETURN_IF_ERROR(status);
    return read;
  }

  const CallerPtr caller_;
  const uint64_t file_;
  const std::string path_;
  mutable absl::Mutex mutex_;
  mutable bus::Blob ahead_ ABSL_GUARDED_BY(mutex_);
  mutable uint64_t ahead_from_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

RemoteFileSystem::RemoteFileSystem(RemoteFileSystemOptions options)
    : caller_(std::make_shared<const Caller>(std::move(options))) {}

void RemoteFileSystem::SetExpectsSaves(bool expects) {
  FileRequest request;
  request.action =
      expects ? FileAction::kExpectSaves : FileAction::kExpectNoSaves;
  caller_->Start(std::move(request), [](const absl::StatusOr<FileAnswer>&) {});
}

absl::StatusOr<FileAnswer> RemoteFileSystem::Call(FileAction action,
                                                  absl::string_view path,
                                                  absl::string_view to,
                                                  absl::Duration at_most) {
  for (const absl::string_view name : {path, to}) {
    if (name.size() > kMaxFilePath) {
      return PosixError(ENAMETOOLONG, "use", caller_->NameOf(name));
    }
  }
  FileRequest request;
  request.action = action;
  request.path = std::string(path);
  request.to = std::string(to);
  auto answer = caller_->Wait(std::move(request), at_most);
  if (answer.ok()) return answer;
  return Annotate(answer.status(), caller_->NameOf(path));
}

absl::StatusOr<std::unique_ptr<WritableFile>> RemoteFileSystem::OpenForWriting(
    FileAction action, absl::string_view path) {
  ASSIGN_OR_RETURN(const FileAnswer opened, Call(action, path));
  return std::make_unique<RemoteWritableFile>(caller_, opened.file, path);
}

absl::StatusOr<std::unique_ptr<WritableFile>> RemoteFileSystem::NewWritableFile(
    absl::string_view path) {
  return OpenForWriting(FileAction::kOpenToWrite, path);
}

absl::StatusOr<std::unique_ptr<WritableFile>>
RemoteFileSystem::NewAppendableFile(absl::string_view path) {
  return OpenForWriting(FileAction::kOpenToAppend, path);
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>>
RemoteFileSystem::NewRandomAccessFile(absl::string_view path) {
  ASSIGN_OR_RETURN(const FileAnswer opened,
                   Call(FileAction::kOpenToRead, path));
  return std::make_unique<RemoteRandomAccessFile>(caller_, opened.file, path);
}

absl::Status RemoteFileSystem::FileExists(absl::string_view path) {
  return Call(FileAction::kStat, path).status();
}

absl::StatusOr<bool> RemoteFileSystem::IsDirectory(absl::string_view path) {
  ASSIGN_OR_RETURN(const FileAnswer found, Call(FileAction::kStat, path));
  return found.is_directory;
}

absl::StatusOr<uint64_t> RemoteFileSystem::GetFileSize(absl::string_view path) {
  ASSIGN_OR_RETURN(const FileAnswer found, Call(FileAction::kStat, path));
  if (!found.is_directory) return found.size;
  return PosixError(EISDIR, "size of", caller_->NameOf(path));
}

absl::StatusOr<std::vector<std::string>> RemoteFileSystem::ListDirectory(
    absl::string_view path) {
  std::vector<std::string> names;
  for (int page = 0; page < kMaxListPages; ++page) {
    ASSIGN_OR_RETURN(FileAnswer listed, Call(FileAction::kListDirectory, path,
                                             page == 0 ? "" : names.back()));
    for (std::string& name : listed.names) {
      const bool is_next = page == 0 || name > names.back();
      if (!is_next || !IsNameInDirectory(name)) {
        return absl::InternalError(absl::StrCat(
            caller_->NameOf(path), ": its task lists '", absl::CHexEscape(name),
            is_next ? "', which is not a name" : "', which is out of order"));
      }
      names.push_back(std::move(name));
    }
    if (listed.size == 0) return names;
    if (listed.names.empty()) break;
  }
  return absl::InternalError(absl::StrCat(caller_->NameOf(path),
                                          ": its task lists ", names.size(),
                                          " names, and the list has no end"));
}

absl::Status RemoteFileSystem::CreateDirectory(absl::string_view path) {
  return Call(FileAction::kCreateDirectory, path).status();
}

absl::Status RemoteFileSystem::DeleteFile(absl::string_view path) {
  return Call(FileAction::kDeleteFile, path).status();
}

absl::Status RemoteFileSystem::DeleteLeftover(absl::string_view path) {
  return Call(FileAction::kDeleteFile, path, "", kLeftoverTimeout).status();
}

absl::Status RemoteFileSystem::DeleteDirectory(absl::string_view path) {
  return Call(FileAction::kDeleteDirectory, path).status();
}

absl::Status RemoteFileSystem::RenameFile(absl::string_view from,
                                          absl::string_view to) {
  return Call(FileAction::kRename, from, to).status();
}

absl::Status RemoteFileSystem::SyncDirectory(absl::string_view path) {
  return Call(FileAction::kSyncDirectory, path).status();
}

}  // namespace weft::protocol
