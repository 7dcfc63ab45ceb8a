#include "libs/protocol/files/file_service.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "libs/base/clock.h"
#include "libs/protocol/files/file_messages.h"
#include "libs/protocol/method.h"

namespace weft::protocol {

FileService::FileService(const FileServiceOptions& options)
    : options_(options) {}

FileService::~FileService() {
  absl::flat_hash_map<uint64_t, Client> clients;
  absl::flat_hash_map<uint64_t, Awaited> awaited;
  {
    absl::MutexLock lock(&mutex_);
    clients.swap(clients_);
    awaited.swap(awaited_);
    is_closed_ = true;
  }
  for (const auto& [incarnation, client] : awaited) {
    if (options_.scheduler->CancelTimer(client.timer)) timers_.End();
  }
  timers_.WaitUntilNone(*options_.scheduler, absl::InfiniteFuture());
  clients.clear();
  awaited.clear();
  replies_.WaitUntilNone(*options_.scheduler);
}

const MethodRow<FileService>* FileService::FindMethod(uint8_t method) {
  // Operations that were begun may end while the task drains; the
  // implementation of the files decides which.
  static constexpr MethodRow<FileService> kRows[] = {
      {.method = Method::kFileOperation,
       .on_request = &FileService::Operate,
       .is_fast = true,
       .is_served_while_draining = true},
  };
  static constexpr MethodTable kTable(kRows);
  return kTable.Find(method);
}

bool FileService::ExpectsSaves(uint64_t incarnation) const {
  absl::MutexLock lock(&mutex_);
  if (awaited_.contains(incarnation)) return true;
  return absl::c_any_of(clients_, [&](const auto& entry) {
    const Client& client = entry.second;
    return client.incarnation == incarnation && client.expects_saves;
  });
}

std::shared_ptr<Files> FileService::NewExpectingFiles() const {
  std::shared_ptr<Files> files = options_.new_client();
  FileRequest request;
  request.action = FileAction::kExpectSaves;
  files->Operate(std::move(request), absl::InfiniteFuture(), nullptr,
                 [](const absl::StatusOr<FileAnswer>&) {});
  return files;
}

// The new client is added before the awaited one is removed, and expects saves
// before it says so: at least one client always does.
void FileService::OnConnect(const bus::Peer& peer) {
  const uint64_t incarnation = peer.identity.incarnation;
  const bool is_back = ExpectsSaves(incarnation);
  Client client{.files = is_back ? NewExpectingFiles() : options_.new_client(),
                .incarnation = incarnation,
                .expects_saves = is_back};
  {
    absl::MutexLock lock(&mutex_);
    clients_.try_emplace(peer.id, std::move(client));
  }
  EndAwaiting(incarnation);
}

void FileService::OnDisconnect(const bus::Peer& peer) {
  Client gone;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = clients_.find(peer.id);
    if (it == clients_.end()) return;
    gone = std::move(it->second);
    clients_.erase(it);
  }
  if (gone.expects_saves) HoldPlaceFor(gone.incarnation);
}

void FileService::HoldPlaceFor(uint64_t incarnation) {
  std::shared_ptr<Files> files = NewExpectingFiles();
  absl::MutexLock lock(&mutex_);
  const bool is_back = absl::c_any_of(clients_, [&](const auto& entry) {
    return entry.second.incarnation == incarnation;
  });
  if (is_closed_ || is_back || awaited_.contains(incarnation)) return;
  Awaited& awaited = awaited_[incarnation];
  awaited.files = std::move(files);
  awaited.number = ++num_waits_;
  timers_.Begin();
  awaited.timer = options_.scheduler->ScheduleAt(
      Pool::kControl, options_.scheduler->clock().Now() + kReconnectLease,
      [this, incarnation, number = awaited.number] {
        EndAwaiting(incarnation, number);
        timers_.End();
      });
}

std::shared_ptr<Files> FileService::EndAwaiting(
    uint64_t incarnation, std::optional<uint64_t> number) {
  absl::MutexLock lock(&mutex_);
  const auto it = awaited_.find(incarnation);
  if (it == awaited_.end()) return nullptr;
  if (number.has_value() && it->second.number != *number) return nullptr;
  // False if its own closure does this.
  if (options_.scheduler->CancelTimer(it->second.timer)) timers_.End();
  std::shared_ptr<Files> files = std::move(it->second.files);
  awaited_.erase(it);
  return files;
}

std::shared_ptr<Files> FileService::ClientOf(const bus::Peer& peer) {
  absl::MutexLock lock(&mutex_);
  const auto it = clients_.find(peer.id);
  return it == clients_.end() ? nullptr : it->second.files;
}

void FileService::NoteExpectation(const bus::Peer& peer, FileAction action) {
  absl::MutexLock lock(&mutex_);
  const auto it = clients_.find(peer.id);
  if (it == clients_.end()) return;
  it->second.expects_saves = action == FileAction::kExpectSaves;
}

void FileService::Operate(Call call, bus::Message request) {
  auto read = ReadFileOperation(std::move(request));
  if (!read.ok()) return call->Fail(read.status());
  const std::shared_ptr<Files> client = ClientOf(call->peer());
  if (client == nullptr) {
    return call->Fail(absl::UnavailableError("The connection was lost"));
  }
  if (IsExpectation(read->action)) NoteExpectation(call->peer(), read->action);
  const absl::Time deadline = call->deadline();
  std::shared_ptr<Cancellation> cancellation(call, &call->cancellation());
  client->Operate(*std::move(read), deadline, std::move(cancellation),
                  replies_.With<FileAnswer>(std::move(call), WriteFileAnswer));
}

}  // namespace weft::protocol
