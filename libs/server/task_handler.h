// TaskHandler dispatches the messages of a task's endpoint to its roles, and
// reports connects and disconnects.
//
// Threads: as in bus::Handler.
#ifndef WEFT_LIBS_SERVER_TASK_HANDLER_H_
#define WEFT_LIBS_SERVER_TASK_HANDLER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "libs/bus/handler.h"
#include "libs/protocol/coordinator/coordinator_service.h"
#include "libs/protocol/files/file_service.h"
#include "libs/protocol/master/master_service.h"
#include "libs/protocol/worker/worker_client.h"
#include "libs/protocol/worker/worker_service.h"

namespace weft {

struct TaskHandlerOptions {
  // Neither for a task without devices.
  std::optional<protocol::MasterServiceOptions> master;
  std::optional<protocol::WorkerServiceOptions> worker;
  protocol::CoordinatorServiceOptions coordinator;
  // Of a checkpoint writer.
  std::optional<protocol::FileServiceOptions> files;
  // For a task without devices: why it serves no sessions, and which tasks do.
  std::string refusal;
  // For all but a checkpoint writer: why it stores no files, and which tasks
  // do.
  std::string files_refusal;
  // Of this process.
  uint64_t incarnation = 0;
  // Notified of the tasks that connect; must outlive the handler.
  protocol::PeerEvents* peers = nullptr;
};

class TaskHandler : public bus::Handler {
 public:
  explicit TaskHandler(const TaskHandlerOptions& options);

  // From here on the task refuses connections of new clients.
  void Drain();

  bool IsFast(uint8_t method) const override;
  bool IsFastMessage(const bus::Message& message) const override;
  bool IsControlMessage(const bus::Message& message) const override;
  bool IsServedWhileDraining(uint8_t method) const override;
  bool HasReserve(uint8_t method) const override;
  // Tasks: running steps may have values for this one that were not sent
  // before. Clients whose connections were cut: a chief may still save.
  bool IsAcceptedWhileDraining(const bus::Identity& peer) const override;
  absl::Status OnConnect(const bus::Peer& peer) override;
  void OnDisconnect(const bus::Peer& peer, const absl::Status& why) override;
  void OnRequest(std::shared_ptr<bus::IncomingCall> call,
                 bus::Message request) override;
  void OnRefused(std::shared_ptr<bus::IncomingCall> call, bus::Message request,
                 size_t which, const absl::Status& why) override;
  void OnOneWay(const bus::Peer& peer, bus::Message message,
                const absl::Status& received) override;

 private:
  void Refuse(bus::IncomingCall& call, uint8_t method) const;
  static void RecordUse(const bus::Peer& peer, uint8_t method);

  const std::string refusal_;
  const std::string files_refusal_;
  const uint64_t incarnation_;
  protocol::PeerEvents& peers_;
  std::optional<protocol::MasterService> master_;
  std::optional<protocol::WorkerService> worker_;
  protocol::CoordinatorService coordinator_;
  std::optional<protocol::FileService> files_;
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_TASK_HANDLER_H_
