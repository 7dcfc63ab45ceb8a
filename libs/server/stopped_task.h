// StoppedTask answers at the address of a task whose server has stopped by
// itself while its program continues, and gives each client the reason.
// Otherwise a session of that program would redial its own server forever.
//
// Threads: created and destroyed on any thread. Connections are refused on
// those of the transport.
#ifndef WEFT_LIBS_SERVER_STOPPED_TASK_H_
#define WEFT_LIBS_SERVER_STOPPED_TASK_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "libs/bus/handler.h"
#include "libs/bus/transport.h"

namespace weft {

class StoppedTask : private bus::Handler {
 public:
  // Clients get `why` as FAILED_PRECONDITION, which no recovery retries. Other
  // tasks get UNAVAILABLE: the task may be started again. Null if the address
  // is in use by now. `transport` must outlive it.
  static std::unique_ptr<StoppedTask> Listen(bus::Transport& transport,
                                             const bus::Address& address,
                                             const bus::Identity& self,
                                             const absl::Status& why);

  // Releases the address.
  ~StoppedTask() override = default;

 private:
  explicit StoppedTask(absl::Status why) : why_(std::move(why)) {}

  bool IsFast(uint8_t method) const override;
  absl::Status OnConnect(const bus::Peer& peer) override;
  void OnDisconnect(const bus::Peer& peer, const absl::Status& why) override;
  void OnRequest(std::shared_ptr<bus::IncomingCall> call,
                 bus::Message request) override;
  void OnOneWay(const bus::Peer& peer, bus::Message message,
                const absl::Status& received) override;

  const absl::Status why_;
  std::unique_ptr<bus::Endpoint> endpoint_;  // last: it calls the others
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_STOPPED_TASK_H_
