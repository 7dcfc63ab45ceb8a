#include "libs/runtime/zmq_file_system.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/protocol/file_client.h"
#include "libs/protocol/remote_file_system.h"

namespace weft {

bool IsZmqPath(absl::string_view path) {
  return absl::StartsWith(path, "zmq://");
}

ZmqFileSystem::ZmqFileSystem(ZmqFileSystemOptions options)
    : options_(std::move(options)) {}

std::shared_ptr<protocol::RemoteFileSystem> ZmqFileSystem::Connect(
    const bus::Address& writer) {
  auto client = std::make_shared<protocol::FileClient>(
      options_.transport(),
      protocol::FileClientOptions{
          .address = writer,
          .self = {.incarnation = options_.random->NextId()},
          .scheduler = options_.scheduler});
  return std::make_shared<protocol::RemoteFileSystem>(
      protocol::RemoteFileSystemOptions{
          .files = std::move(client),
          .scheduler = options_.scheduler,
          .name = writer.ToTarget(),
          .operation_timeout = options_.operation_timeout});
}

std::shared_ptr<FileSystem> ZmqFileSystem::TakeUnused() {
  auto oldest = connections_.end();
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    const Connection& connection = it->second;
    if (connection.files.use_count() > 1 ||
        connection.files->has_open_files()) {
      continue;
    }
    if (oldest == connections_.end() ||
        connection.last_use < oldest->second.last_use) {
      oldest = it;
    }
  }
  if (oldest == connections_.end()) return nullptr;
  auto taken = std::move(oldest->second.files);
  connections_.erase(oldest);
  return taken;
}

absl::StatusOr<std::shared_ptr<FileSystem>> ZmqFileSystem::At(
    const bus::Address& writer) {
  const std::string target = writer.ToTarget();
  if (auto local = options_.local_tasks->FindFiles(target)) return local;
  if (options_.transport == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(target, ": this process reaches no others"));
  }
  std::shared_ptr<FileSystem> ended;  // whose end waits, without the lock
  absl::MutexLock lock(&mutex_);
  auto it = connections_.find(target);
  if (it == connections_.end()) {
    if (connections_.size() >= options_.max_connections) {
      ended = TakeUnused();
      if (ended == nullptr) {
        return absl::ResourceExhaustedError(
            absl::StrCat(target, ": files are open at ", connections_.size(),
                         " checkpoint writers, and at no more may they be"));
      }
    }
    it = connections_.emplace(target, Connection{Connect(writer)}).first;
  }
  it->second.last_use = ++uses_;
  return it->second.files;
}

absl::StatusOr<ZmqFileSystem::Place> ZmqFileSystem::Find(
    absl::string_view path) {
  if (!IsZmqPath(path)) {
    return Place{options_.others, nullptr, std::string(path)};
  }
  const absl::string_view target = SchemeAndHost(path);
  const auto address = bus::Address::Parse(target);
  if (!address.ok()) return Annotate(address.status(), path);
  Place place;
  ASSIGN_OR_RETURN(place.holder, At(*address));
  place.files = place.holder.get();
  place.path = std::string(path.substr(target.size()));
  if (place.path.empty()) place.path.push_back('/');
  return place;
}

}  // namespace weft
