#include "libs/runtime/process/zmq_file_system.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/fs/path.h"
#include "libs/protocol/files/file_client.h"
#include "libs/protocol/files/remote_file_system.h"

namespace weft {
namespace {

constexpr absl::string_view kScheme = "zmq://";

// Returns the addresses in a path, at least one: "a:1" and "b:2" for
// "zmq://a:1,b:2/ckpt".
std::vector<absl::string_view> WritersOf(absl::string_view zmq_path) {
  return absl::StrSplit(SchemeAndHost(zmq_path).substr(kScheme.size()), ',');
}

}  // namespace

bool IsZmqPath(absl::string_view path) {
  return absl::StartsWith(path, kScheme);
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

void ZmqFileSystem::BeginExpectingSaves() {
  {
    absl::MutexLock lock(&mutex_);
    if (num_expecting_++ > 0) return;
  }
  BroadcastExpectation();
}

void ZmqFileSystem::EndExpectingSaves() {
  {
    absl::MutexLock lock(&mutex_);
    if (--num_expecting_ > 0) return;
  }
  BroadcastExpectation();
}

bool ZmqFileSystem::ExpectsSaves() {
  absl::MutexLock lock(&mutex_);
  return num_expecting_ > 0;
}

// Another thread may change the expectation meanwhile. The loop repeats until
// the writers have received the current value.
void ZmqFileSystem::BroadcastExpectation() {
  bool told = false;
  do {
    std::vector<std::shared_ptr<protocol::RemoteFileSystem>> writers;
    {
      absl::MutexLock lock(&mutex_);
      told = num_expecting_ > 0;
      for (const auto& [target, connection] : connections_) {
        writers.push_back(connection.files);
      }
    }
    for (const auto& writer : writers) writer->SetExpectsSaves(told);
  } while (ExpectsSaves() != told);
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
        absl::StrCat(target, ": this process cannot reach other processes"));
  }
  std::shared_ptr<FileSystem> ended;  // its destructor waits, without the lock
  std::shared_ptr<FileSystem> files;
  bool is_new_saver = false;
  {
    absl::MutexLock lock(&mutex_);
    auto it = connections_.find(target);
    if (it == connections_.end()) {
      if (connections_.size() >= options_.max_connections) {
        ended = TakeUnused();
        if (ended == nullptr) {
          return absl::ResourceExhaustedError(
              absl::StrCat(target, ": files are open at ", connections_.size(),
                           " checkpoint writers, which is the limit. Close "
                           "files at one of them first"));
        }
      }
      it = connections_.emplace(target, Connection{Connect(writer)}).first;
      is_new_saver = num_expecting_ > 0;
    }
    it->second.last_use = ++uses_;
    files = it->second.files;
  }
  if (is_new_saver) BroadcastExpectation();
  return files;
}

absl::StatusOr<ZmqFileSystem::Place> ZmqFileSystem::PlaceAt(
    absl::string_view writer, absl::string_view path) {
  const auto address = bus::Address::Parse(absl::StrCat(kScheme, writer));
  if (!address.ok()) return Annotate(address.status(), path);
  Place place;
  // With several writers, errors must name the whole path. A single writer's
  // own errors already do.
  if (WritersOf(path).size() > 1) place.name = std::string(path);
  ASSIGN_OR_RETURN(place.holder, At(*address));
  place.files = place.holder.get();
  place.path = std::string(path.substr(SchemeAndHost(path).size()));
  if (place.path.empty()) place.path.push_back('/');
  return place;
}

absl::StatusOr<ZmqFileSystem::Place> ZmqFileSystem::Find(
    absl::string_view path) {
  if (!IsZmqPath(path)) {
    return Place{options_.others, nullptr, std::string(path), ""};
  }
  const auto writers = WritersOf(path);
  const uint32_t shard = checkpoint::ShardOfDataFile(path).value_or(0);
  return PlaceAt(writers[shard % writers.size()], path);
}

absl::StatusOr<std::vector<ZmqFileSystem::Place>> ZmqFileSystem::FindAll(
    absl::string_view path) {
  std::vector<Place> places;
  if (!IsZmqPath(path)) {
    places.push_back({options_.others, nullptr, std::string(path), ""});
    return places;
  }
  for (const absl::string_view writer : WritersOf(path)) {
    ASSIGN_OR_RETURN(places.emplace_back(), PlaceAt(writer, path));
  }
  return places;
}

}  // namespace weft
