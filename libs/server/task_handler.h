// TaskHandler: hands what comes in on a task's endpoint to the roles it plays,
// and tells them who comes and goes.
//
// Threads: as bus::Handler says.
#ifndef WEFT_LIBS_SERVER_TASK_HANDLER_H_
#define WEFT_LIBS_SERVER_TASK_HANDLER_H_

#include <memory>

#include "libs/bus/transport.h"
#include "libs/protocol/master_service.h"
#include "libs/protocol/worker_service.h"
#include "libs/runtime/local_tasks.h"

namespace weft {

class TaskHandler : public bus::Handler {
 public:
  // `peers` is told of the tasks that connect; outlives the handler.
  TaskHandler(const protocol::MasterServiceOptions& master,
              const protocol::WorkerServiceOptions& worker, PeerObserver& peers)
      : master_(master), worker_(worker), peers_(peers) {}

  bool IsFast(uint8_t method) const override;
  absl::Status OnConnect(const bus::Peer& peer) override;
  void OnDisconnect(const bus::Peer& peer, const absl::Status& why) override;
  void OnRequest(std::shared_ptr<bus::IncomingCall> call,
                 bus::Message request) override;
  void OnOneWay(const bus::Peer& peer, bus::Message message,
                const absl::Status& landed) override;

 private:
  protocol::MasterService master_;
  protocol::WorkerService worker_;
  PeerObserver& peers_;
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_TASK_HANDLER_H_
