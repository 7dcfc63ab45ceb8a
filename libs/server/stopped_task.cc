#include "libs/server/stopped_task.h"

#include <utility>

namespace weft {

std::unique_ptr<StoppedTask> StoppedTask::Listen(bus::Transport& transport,
                                                 const bus::Address& address,
                                                 const bus::Identity& self,
                                                 const absl::Status& why) {
  std::unique_ptr<StoppedTask> task(new StoppedTask(why));
  auto endpoint = transport.Listen(address, self, *task);
  if (!endpoint.ok()) return nullptr;
  task->endpoint_ = *std::move(endpoint);
  return task;
}

bool StoppedTask::IsFast(uint8_t /*method*/) const { return true; }

absl::Status StoppedTask::OnConnect(const bus::Peer& peer) {
  return peer.identity.task.empty()
             ? absl::FailedPreconditionError(why_.message())
             : absl::UnavailableError(why_.message());
}

void StoppedTask::OnDisconnect(const bus::Peer& /*peer*/,
                               const absl::Status& /*why*/) {}

void StoppedTask::OnRequest(std::shared_ptr<bus::IncomingCall> call,
                            bus::Message /*request*/) {
  call->Fail(why_);  // of a peer that was not accepted; this does not happen
}

void StoppedTask::OnOneWay(const bus::Peer& /*peer*/, bus::Message /*message*/,
                           const absl::Status& /*received*/) {}

}  // namespace weft
