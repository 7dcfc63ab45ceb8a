#include "libs/server/task_handler.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {

using protocol::MasterService;
using protocol::WorkerService;

bool TaskHandler::IsFast(uint8_t method) const {
  return MasterService::Handles(method) ? MasterService::IsFast(method)
                                        : WorkerService::IsFast(method);
}

absl::Status TaskHandler::OnConnect(const bus::Peer& peer) {
  if (!peer.identity.task.empty()) {
    peers_.PeerConnected(peer.identity.task, peer.identity.incarnation);
  }
  master_.OnConnect(peer);
  return absl::OkStatus();
}

void TaskHandler::OnDisconnect(const bus::Peer& peer, const absl::Status& why) {
  master_.OnDisconnect(peer);
  if (!peer.identity.task.empty()) {
    peers_.PeerLost(peer.identity.task, peer.identity.incarnation, why);
  }
}

void TaskHandler::OnRequest(std::shared_ptr<bus::IncomingCall> call,
                            bus::Message request) {
  if (MasterService::Handles(request.method)) {
    master_.OnRequest(std::move(call), std::move(request));
  } else if (WorkerService::Handles(request.method)) {
    worker_.OnRequest(std::move(call), std::move(request));
  } else {
    call->Fail(absl::UnimplementedError(
        absl::StrCat("This task does not know requests of number ",
                     request.method, "; it runs another version of Weft.")));
  }
}

void TaskHandler::OnOneWay(const bus::Peer& peer, bus::Message message,
                           const absl::Status& landed) {
  if (WorkerService::Handles(message.method)) {
    worker_.OnOneWay(peer, std::move(message), landed);
  } else if (MasterService::Handles(message.method)) {
    master_.OnOneWay(peer, std::move(message), landed);
  }
}

}  // namespace weft
