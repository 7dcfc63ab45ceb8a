#include "libs/protocol/file_service.h"

#include <utility>

#include "libs/protocol/file_messages.h"
#include "libs/protocol/method.h"

namespace weft::protocol {

FileService::FileService(const FileServiceOptions& options)
    : options_(options) {}

FileService::~FileService() {
  absl::flat_hash_map<uint64_t, std::shared_ptr<Files>> clients;
  {
    absl::MutexLock lock(&mutex_);
    clients.swap(clients_);
  }
  clients.clear();
  replies_.WaitUntilNone(*options_.scheduler);
}

const MethodRow<FileService>* FileService::FindMethod(uint8_t method) {
  // What is begun may be ended while the task drains; whoever keeps the files
  // knows what that is.
  static constexpr MethodRow<FileService> kRows[] = {
      {.method = Method::kFileOperation,
       .on_request = &FileService::Operate,
       .is_fast = true,
       .is_served_while_draining = true},
  };
  static constexpr MethodTable kTable(kRows);
  return kTable.Find(method);
}

void FileService::OnConnect(const bus::Peer& peer) {
  std::shared_ptr<Files> client = options_.new_client();
  absl::MutexLock lock(&mutex_);
  clients_.try_emplace(peer.id, std::move(client));
}

void FileService::OnDisconnect(const bus::Peer& peer) {
  std::shared_ptr<Files> gone;
  absl::MutexLock lock(&mutex_);
  const auto it = clients_.find(peer.id);
  if (it == clients_.end()) return;
  gone = std::move(it->second);
  clients_.erase(it);
}

std::shared_ptr<Files> FileService::ClientOf(const bus::Peer& peer) {
  absl::MutexLock lock(&mutex_);
  const auto it = clients_.find(peer.id);
  return it == clients_.end() ? nullptr : it->second;
}

void FileService::Operate(Call call, bus::Message request) {
  auto read = ReadFileOperation(std::move(request));
  if (!read.ok()) return call->Fail(read.status());
  const std::shared_ptr<Files> client = ClientOf(call->peer());
  if (client == nullptr) {
    return call->Fail(absl::UnavailableError("The connection was lost"));
  }
  const absl::Time deadline = call->deadline();
  std::shared_ptr<Cancellation> cancellation(call, &call->cancellation());
  client->Operate(*std::move(read), deadline, std::move(cancellation),
                  replies_.With<FileAnswer>(std::move(call), WriteFileAnswer));
}

}  // namespace weft::protocol
