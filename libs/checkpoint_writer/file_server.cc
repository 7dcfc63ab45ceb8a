#include "libs/checkpoint_writer/file_server.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/checkpoint_writer/ordered_file.h"

namespace weft {
namespace {

using protocol::FileAction;
using protocol::FileAnswer;
using protocol::FileRequest;
using protocol::Files;

bool OpensToWrite(FileAction action) {
  return action == FileAction::kOpenToWrite ||
         action == FileAction::kOpenToAppend;
}

bool ReadsName(FileAction action) {
  return action == FileAction::kStat || action == FileAction::kListDirectory;
}

bool Opens(FileAction action) {
  return OpensToWrite(action) || action == FileAction::kOpenToRead;
}

absl::StatusOr<std::unique_ptr<WritableFile>> OpenToWrite(
    FileSystem& files, const FileRequest& request) {
  if (request.action == FileAction::kOpenToAppend) {
    return files.NewAppendableFile(request.path);
  }
  return files.NewWritableFile(request.path);
}

absl::StatusOr<FileAnswer> ReadPiece(const RandomAccessFile& file,
                                     const FileRequest& request) {
  std::string bytes(request.size, '\0');
  ASSIGN_OR_RETURN(const size_t read,
                   file.Read(request.offset, bytes.size(), bytes.data()));
  bytes.resize(read);
  FileAnswer answer;
  answer.bytes = bus::Blob::FromString(std::move(bytes));
  return answer;
}

absl::StatusOr<FileAnswer> Stat(FileSystem& files, const std::string& path) {
  FileAnswer answer;
  ASSIGN_OR_RETURN(answer.is_directory, files.IsDirectory(path));
  if (answer.is_directory) return answer;
  ASSIGN_OR_RETURN(answer.size, files.GetFileSize(path));
  return answer;
}

// Returns a page of the names in a directory: the names after `request.to` that
// fit into one page.
absl::StatusOr<FileAnswer> List(FileSystem& files, const FileRequest& request) {
  ASSIGN_OR_RETURN(std::vector<std::string> names,
                   files.ListDirectory(request.path));
  auto end = request.to.empty()
                 ? names.begin()
                 : std::upper_bound(names.begin(), names.end(), request.to);
  FileAnswer answer;
  size_t bytes = 0;
  for (; end != names.end(); ++end) {
    bytes += end->size() + 8;
    if (bytes > protocol::kMaxListedBytes) break;
    answer.names.push_back(std::move(*end));
  }
  answer.size = static_cast<uint64_t>(names.end() - end);
  return answer;
}

// Executes an operation that takes a file name instead of an open file.
absl::StatusOr<FileAnswer> DoToName(FileSystem& files,
                                    const FileRequest& request) {
  absl::Status done;
  switch (request.action) {
    case FileAction::kStat:
      return Stat(files, request.path);
    case FileAction::kListDirectory:
      return List(files, request);
    case FileAction::kCreateDirectory:
      done = files.CreateDirectory(request.path);
      break;
    case FileAction::kDeleteFile:
      done = files.DeleteFile(request.path);
      break;
    case FileAction::kDeleteDirectory:
      done = files.DeleteDirectory(request.path);
      break;
    case FileAction::kRename:
      done = files.RenameFile(request.path, request.to);
      break;
    case FileAction::kSyncDirectory:
      done = files.SyncDirectory(request.path);
      break;
    default:
      done = absl::InternalError("the operation does not take a file name");
  }
  RETURN_IF_ERROR(done);
  return FileAnswer();
}

}  // namespace

// Client is one client and its open files. Pending requests keep it alive.
class FileServer::Client : public std::enable_shared_from_this<Client> {
 public:
  Client(FileServer& server, uint64_t number)
      : server_(server), number_(number) {}

  void Operate(FileRequest request, absl::Time deadline,
               std::shared_ptr<Cancellation> cancellation, Files::Done done);
  void SetExpectsSaves(bool expects) {
    if (expects_saves_.exchange(expects) == expects) return;
    expects ? server_.expecting_.Begin() : server_.expecting_.End();
  }
  // Closes open files. Waiting requests fail.
  void Leave();

  // Reserves one of the allowed open files while the slot exists.
  absl::StatusOr<std::shared_ptr<Slot>> TakeSlot(FileAction action);
  void ReturnSlot() { num_open_.fetch_sub(1); }

 private:
  struct Reader {
    std::unique_ptr<RandomAccessFile> file;
    std::shared_ptr<Slot> slot;
  };
  struct OpenFile {
    std::shared_ptr<OrderedFile> written;
    std::shared_ptr<Reader> read;
  };
  using Work = absl::AnyInvocable<absl::StatusOr<FileAnswer>()>;

  // Runs `work` on a thread that may block, unless the call is cancelled
  // before. Then calls `done` with the result.
  void DoSoon(absl::Time deadline, std::shared_ptr<Cancellation> cancellation,
              Files::Done done, Work work);
  absl::Status StillWanted(absl::Time deadline,
                           const Cancellation* cancellation);

  void OpenSoon(FileRequest request, absl::Time deadline,
                std::shared_ptr<Cancellation> cancellation, Files::Done done);
  absl::StatusOr<FileAnswer> Open(const FileRequest& request,
                                  std::shared_ptr<Slot> slot);
  absl::StatusOr<FileAnswer> Keep(uint64_t file, OpenFile open)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<OpenFile> Find(uint64_t file) ABSL_LOCKS_EXCLUDED(mutex_);
  OpenFile Forget(uint64_t file) ABSL_LOCKS_EXCLUDED(mutex_);
  void Close(OpenFile open, const absl::Status& why);
  void CloseReaderSoon(std::shared_ptr<Reader> reader, Files::Done done);
  absl::Status Gone() const {
    return absl::UnavailableError(
        absl::StrCat(server_.options_.task,
                     ": the connection that it was asked over is lost"
                     ", and the files that it had opened are closed"));
  }

  FileServer& server_;
  const uint64_t number_;
  std::atomic<int> num_open_{0};
  std::atomic<bool> expects_saves_{false};
  absl::Mutex mutex_;
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<uint64_t, OpenFile> files_ ABSL_GUARDED_BY(mutex_);
};

// Slot counts an open file while it exists.
class FileServer::Slot {
 public:
  Slot(FileServer& server, std::shared_ptr<Client> client, bool written)
      : server_(server), client_(std::move(client)), written_(written) {
    if (written_) server_.written_.Begin();
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() {
    client_->ReturnSlot();
    server_.num_open_.fetch_sub(1);
    if (written_) server_.written_.End();
  }

 private:
  FileServer& server_;
  const std::shared_ptr<Client> client_;
  const bool written_;
};

// Use counts a writing request until the request is answered.
class FileServer::Use {
 public:
  explicit Use(FileServer& server) : server_(server) { server_.uses_.Begin(); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    server_.NoteUse();
    server_.uses_.End();
  }

 private:
  FileServer& server_;
};

class FileServer::ClientFiles : public Files {
 public:
  explicit ClientFiles(std::shared_ptr<Client> client)
      : client_(std::move(client)) {}
  ~ClientFiles() override { client_->Leave(); }

  void Operate(FileRequest request, absl::Time deadline,
               std::shared_ptr<Cancellation> cancellation, Done done) override {
    client_->Operate(std::move(request), deadline, std::move(cancellation),
                     std::move(done));
  }

 private:
  const std::shared_ptr<Client> client_;
};

absl::StatusOr<std::shared_ptr<FileServer::Slot>> FileServer::Client::TakeSlot(
    FileAction action) {
  const FileServerOptions& options = server_.options_;
  if (num_open_.fetch_add(1) >= options.max_open_files_per_client) {
    num_open_.fetch_sub(1);
    return absl::ResourceExhaustedError(
        absl::StrCat(options.task, ": one client has the ",
                     options.max_open_files_per_client,
                     " files open that it may. Close some, or raise "
                     "max_open_files_per_client there."));
  }
  if (server_.num_open_.fetch_add(1) >= options.max_open_files) {
    server_.num_open_.fetch_sub(1);
    num_open_.fetch_sub(1);
    return absl::ResourceExhaustedError(absl::StrCat(
        options.task, ": its clients have the ", options.max_open_files,
        " files open that they may. Close some, or raise max_open_files "
        "there."));
  }
  return std::make_shared<Slot>(server_, shared_from_this(),
                                OpensToWrite(action));
}

absl::Status FileServer::Client::StillWanted(absl::Time deadline,
                                             const Cancellation* cancellation) {
  if (cancellation != nullptr && cancellation->IsCancelled()) {
    return cancellation->status();
  }
  {
    absl::MutexLock lock(&mutex_);
    if (gone_) return Gone();
  }
  if (server_.options_.scheduler->clock().Now() <= deadline) {
    return absl::OkStatus();
  }
  return absl::DeadlineExceededError(absl::StrCat(
      server_.options_.task, ": it had to wait for too long for other files"));
}

void FileServer::Client::DoSoon(absl::Time deadline,
                                std::shared_ptr<Cancellation> cancellation,
                                Files::Done done, Work work) {
  server_.queue_.Push(number_, [self = shared_from_this(), deadline,
                                cancellation = std::move(cancellation),
                                done = std::move(done),
                                work = std::move(work)]() mutable {
    const absl::Status wanted = self->StillWanted(deadline, cancellation.get());
    auto result = wanted.ok() ? work() : absl::StatusOr<FileAnswer>(wanted);
    work = nullptr;  // destroys its captures
    done(std::move(result));
  });
}

void FileServer::Client::Operate(FileRequest request, absl::Time deadline,
                                 std::shared_ptr<Cancellation> cancellation,
                                 Files::Done done) {
  const FileAction action = request.action;
  if (protocol::IsExpectation(action)) {
    SetExpectsSaves(action == FileAction::kExpectSaves);
    return done(FileAnswer());
  }
  if (Opens(action)) {
    if (OpensToWrite(action)) done = server_.EndingUse(std::move(done));
    return OpenSoon(std::move(request), deadline, std::move(cancellation),
                    std::move(done));
  }
  if (!protocol::IsOfOpenFile(action)) {
    if (!ReadsName(action)) done = server_.EndingUse(std::move(done));
    return DoSoon(deadline, std::move(cancellation), std::move(done),
                  [this, request = std::move(request)] {
                    return DoToName(*server_.options_.file_system, request);
                  });
  }
  auto open = Find(request.file);
  if (!open.ok()) return done(open.status());
  if (action == FileAction::kAbandon || action == FileAction::kClose) {
    if (open->read != nullptr) {
      *open = {};  // readers must be destroyed elsewhere
      return CloseReaderSoon(Forget(request.file).read, std::move(done));
    }
    if (action == FileAction::kAbandon) {
      open->written->Abandon(
          absl::CancelledError("the client has abandoned the file"));
      return done(FileAnswer());
    }
  }
  const bool reads = action == FileAction::kRead;
  if (reads != (open->read != nullptr)) {
    return done(absl::FailedPreconditionError(absl::StrCat(
        "the file was opened for ", reads ? "writing" : "reading")));
  }
  if (!reads) {
    return open->written->Operate(std::move(request), deadline,
                                  std::move(cancellation),
                                  server_.EndingUse(std::move(done)));
  }
  DoSoon(deadline, std::move(cancellation), std::move(done),
         [this, reader = open->read, request = std::move(request)] {
           auto piece = ReadPiece(*reader->file, request);
           if (piece.ok()) server_.read_bytes_.Add(piece->bytes.size());
           return piece;
         });
}

void FileServer::Client::OpenSoon(FileRequest request, absl::Time deadline,
                                  std::shared_ptr<Cancellation> cancellation,
                                  Files::Done done) {
  auto slot = TakeSlot(request.action);
  if (!slot.ok()) return done(slot.status());
  const auto caller = cancellation;
  DoSoon(deadline, std::move(cancellation), std::move(done),
         [this, request = std::move(request), slot = *std::move(slot), deadline,
          caller]() mutable -> absl::StatusOr<FileAnswer> {
           ASSIGN_OR_RETURN(FileAnswer opened, Open(request, std::move(slot)));
           // If the caller has given up, it must not get the number of the open
           // file, because nobody would close the file.
           absl::Status wanted = StillWanted(deadline, caller.get());
           if (wanted.ok()) return opened;
           Close(Forget(opened.file), wanted);
           return wanted;
         });
}

// Opens a file. Open files have random numbers, so that they are not confused
// with files of another connection or of an earlier writer.
absl::StatusOr<FileAnswer> FileServer::Client::Open(
    const FileRequest& request, std::shared_ptr<Slot> slot) {
  FileSystem& files = *server_.options_.file_system;
  const uint64_t number = server_.options_.random->NextId();
  if (!OpensToWrite(request.action)) {
    ASSIGN_OR_RETURN(auto file, files.NewRandomAccessFile(request.path));
    auto reader = std::make_shared<Reader>();
    reader->file = std::move(file);
    reader->slot = std::move(slot);
    return Keep(number, {nullptr, std::move(reader)});
  }
  ASSIGN_OR_RETURN(auto file, OpenToWrite(files, request));
  OrderedFile::Options options;
  options.file = std::move(file);
  options.path = request.path;
  options.written_bytes = &server_.written_bytes_;
  options.clock = &server_.options_.scheduler->clock();
  options.run = [self = shared_from_this()](Scheduler::Closure closure) {
    self->server_.queue_.Push(self->number_, std::move(closure));
  };
  options.on_closed = [weak = weak_from_this(), number,
                       slot = std::move(slot)]() mutable {
    if (const auto self = weak.lock()) self->Forget(number);
    slot.reset();
  };
  return Keep(number,
              {std::make_shared<OrderedFile>(std::move(options)), nullptr});
}

absl::StatusOr<FileAnswer> FileServer::Client::Keep(uint64_t file,
                                                    OpenFile open) {
  {
    absl::MutexLock lock(&mutex_);
    if (!gone_) {
      files_[file] = std::move(open);
      FileAnswer answer;
      answer.file = file;
      return answer;
    }
  }
  Close(std::move(open), Gone());
  return Gone();
}

absl::StatusOr<FileServer::Client::OpenFile> FileServer::Client::Find(
    uint64_t file) {
  absl::MutexLock lock(&mutex_);
  const auto it = files_.find(file);
  if (it != files_.end()) return it->second;
  // The user of the file has lost a connection. The error must say so instead
  // of reporting a wrong call.
  return absl::UnavailableError(absl::StrCat(
      server_.options_.task, ": file ", file,
      " is not open for this client: it was closed, or opened over a "
      "connection that is lost, or at a writer that has stopped"));
}

FileServer::Client::OpenFile FileServer::Client::Forget(uint64_t file) {
  absl::MutexLock lock(&mutex_);
  const auto it = files_.find(file);
  if (it == files_.end()) return {};
  OpenFile open = std::move(it->second);
  files_.erase(it);
  return open;
}

void FileServer::Client::Close(OpenFile open, const absl::Status& why) {
  if (open.written != nullptr) open.written->Abandon(why);
  if (open.read != nullptr) {
    CloseReaderSoon(std::move(open.read), [](const auto&) {});
  }
}

// Closes a reader when its last holder releases it, on a thread that may block.
void FileServer::Client::CloseReaderSoon(std::shared_ptr<Reader> reader,
                                         Files::Done done) {
  server_.queue_.Push(
      number_, [reader = std::move(reader), done = std::move(done)]() mutable {
        reader.reset();
        done(FileAnswer());
      });
}

void FileServer::Client::Leave() {
  absl::flat_hash_map<uint64_t, OpenFile> open;
  {
    absl::MutexLock lock(&mutex_);
    gone_ = true;
    open.swap(files_);
  }
  for (auto& [file, one] : open) Close(std::move(one), Gone());
  SetExpectsSaves(false);
  server_.clients_.End();
}

FileServer::FileServer(const FileServerOptions& options)
    : options_(options), queue_(*options.scheduler, options.max_running) {}

FileServer::~FileServer() = default;

void FileServer::Drain() { NoteUse(); }

void FileServer::NoteUse() {
  absl::MutexLock lock(&mutex_);
  last_used_ = Now();
}

Files::Done FileServer::EndingUse(Files::Done done) {
  return [use = std::make_unique<Use>(*this),
          done = std::move(done)](absl::StatusOr<FileAnswer> answer) mutable {
    use.reset();
    done(std::move(answer));
  };
}

absl::Time FileServer::QuietAt(absl::Duration quiet) const {
  if (uses_.count() > 0) return Now() + quiet;
  absl::MutexLock lock(&mutex_);
  return last_used_ + quiet;
}

bool FileServer::WaitUntilUnused(absl::Time deadline, absl::Duration quiet) {
  Scheduler& scheduler = *options_.scheduler;
  while (true) {
    const bool expects = expecting_.count() > 0;
    const absl::Duration most = expects ? quiet : std::min(quiet, kIdle);
    InFlight& awaited = expects ? expecting_ : clients_;
    const absl::Time until = std::min(deadline, QuietAt(most));
    const bool are_gone = awaited.WaitUntilNone(scheduler, until);
    if (are_gone && expects) continue;
    // All clients are gone; wait until their open files are closed.
    if (are_gone) return written_.WaitUntilNone(scheduler, deadline);
    if (Now() >= deadline) return false;
    if (Now() >= QuietAt(most) && (expects || expecting_.count() == 0)) {
      return true;
    }
  }
}

std::shared_ptr<Files> FileServer::NewClient() {
  clients_.Begin();
  return std::make_shared<ClientFiles>(
      std::make_shared<Client>(*this, num_clients_.fetch_add(1)));
}

}  // namespace weft
