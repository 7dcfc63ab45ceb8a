#include "libs/server/task_handler.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/protocol/method.h"
#include "libs/protocol/peer_checks.h"

namespace weft {

using protocol::CoordinatorService;
using protocol::FileService;
using protocol::MasterService;
using protocol::WorkerService;

TaskHandler::TaskHandler(const TaskHandlerOptions& options)
    : refusal_(options.refusal),
      files_refusal_(options.files_refusal),
      incarnation_(options.incarnation),
      peers_(*options.peers),
      coordinator_(options.coordinator) {
  if (options.master) master_.emplace(*options.master);
  if (options.worker) worker_.emplace(*options.worker);
  if (options.files) files_.emplace(*options.files);
}

void TaskHandler::Drain() {
  if (master_) master_->Drain();
}

bool TaskHandler::IsFast(uint8_t method) const {
  return MasterService::IsFast(method) || WorkerService::IsFast(method) ||
         CoordinatorService::IsFast(method) || FileService::IsFast(method);
}

bool TaskHandler::IsFastMessage(const bus::Message& message) const {
  return MasterService::IsFastMessage(message) ||
         WorkerService::IsFastMessage(message) ||
         CoordinatorService::IsFastMessage(message) ||
         FileService::IsFastMessage(message);
}

bool TaskHandler::IsControlMessage(const bus::Message& message) const {
  return MasterService::IsControlMessage(message) ||
         WorkerService::IsControlMessage(message) ||
         CoordinatorService::IsControlMessage(message) ||
         FileService::IsControlMessage(message);
}

bool TaskHandler::IsServedWhileDraining(uint8_t method) const {
  return MasterService::IsServedWhileDraining(method) ||
         WorkerService::IsServedWhileDraining(method) ||
         CoordinatorService::IsServedWhileDraining(method) ||
         FileService::IsServedWhileDraining(method);
}

bool TaskHandler::IsAcceptedWhileDraining(const bus::Identity& peer) const {
  if (!peer.task.empty()) return true;
  return (master_ && master_->HasMonitoredSession(peer.incarnation)) ||
         (files_ && files_->ExpectsSaves(peer.incarnation));
}

bool TaskHandler::HasReserve(uint8_t method) const {
  return MasterService::HasReserve(method) ||
         WorkerService::HasReserve(method) ||
         CoordinatorService::HasReserve(method) ||
         FileService::HasReserve(method);
}

absl::Status TaskHandler::OnConnect(const bus::Peer& peer) {
  RETURN_IF_ERROR(protocol::CheckIsOther(peer, incarnation_));
  if (!peer.identity.task.empty()) {
    RETURN_IF_ERROR(peers_.OnPeerConnected(peer.identity));
  }
  if (master_) master_->OnConnect(peer);
  coordinator_.OnConnect(peer);
  if (files_) files_->OnConnect(peer);
  return absl::OkStatus();
}

void TaskHandler::OnDisconnect(const bus::Peer& peer, const absl::Status& why) {
  if (master_) master_->OnDisconnect(peer, why);
  coordinator_.OnDisconnect(peer, why);
  if (files_) files_->OnDisconnect(peer);
  const bus::Identity& identity = peer.identity;
  if (identity.task.empty()) return;
  if (peer.is_used.IsSet()) {
    peers_.OnPeerLost(identity.task, identity.incarnation, why);
  } else {
    peers_.OnUnusedConnectionLost(identity.task, identity.incarnation, why);
  }
}

// A connection counts as used once it has carried a step or values for one.
// Called for each message.
void TaskHandler::RecordUse(const bus::Peer& peer, uint8_t method) {
  if (peer.identity.task.empty()) return;
  if (method == static_cast<uint8_t>(protocol::Method::kRunPartition) ||
      method == static_cast<uint8_t>(protocol::Method::kPushes)) {
    peer.is_used.Set();
  }
}

void TaskHandler::OnRequest(std::shared_ptr<bus::IncomingCall> call,
                            bus::Message request) {
  RecordUse(call->peer(), request.method);
  if (master_ && MasterService::Handles(request.method)) {
    master_->OnRequest(std::move(call), std::move(request));
  } else if (worker_ && WorkerService::Handles(request.method)) {
    worker_->OnRequest(std::move(call), std::move(request));
  } else if (CoordinatorService::Handles(request.method)) {
    coordinator_.OnRequest(std::move(call), std::move(request));
  } else if (files_ && FileService::Handles(request.method)) {
    files_->OnRequest(std::move(call), std::move(request));
  } else {
    Refuse(*call, request.method);
  }
}

void TaskHandler::OnRefused(std::shared_ptr<bus::IncomingCall> call,
                            bus::Message request, size_t which,
                            const absl::Status& why) {
  if (master_ && MasterService::Handles(request.method)) {
    master_->OnRefused(std::move(call), std::move(request), which, why);
  } else {
    call->Fail(why);
  }
}

void TaskHandler::Refuse(bus::IncomingCall& call, uint8_t method) const {
  if (MasterService::Handles(method) || WorkerService::Handles(method)) {
    return call.Fail(absl::FailedPreconditionError(refusal_));
  }
  if (FileService::Handles(method)) {
    return call.Fail(absl::FailedPreconditionError(files_refusal_));
  }
  call.Fail(absl::UnimplementedError(
      absl::StrCat("This task does not know requests of number ", method,
                   "; it runs another version of Weft.")));
}

void TaskHandler::OnOneWay(const bus::Peer& peer, bus::Message message,
                           const absl::Status& received) {
  RecordUse(peer, message.method);
  if (worker_ && WorkerService::Handles(message.method)) {
    worker_->OnOneWay(peer, std::move(message), received);
  } else if (master_ && MasterService::Handles(message.method)) {
    master_->OnOneWay(peer, std::move(message), received);
  }
}

}  // namespace weft
