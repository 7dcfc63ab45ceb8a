// StepExchange: the rendezvous of one step on one task: between its own
// devices, and to and from other tasks. A value for another task is pushed as
// soon as it exists; values from others are put in by TaskRuntime::Deliver,
// perhaps before the step begins here.
#ifndef WEFT_LIBS_RUNTIME_STEP_EXCHANGE_H_
#define WEFT_LIBS_RUNTIME_STEP_EXCHANGE_H_

#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "libs/protocol/worker.h"
#include "libs/rendezvous/rendezvous.h"

namespace weft {

// Which edges of a callable go to other tasks, and to whom.
using RemoteEdges = absl::flat_hash_map<uint64_t, protocol::Worker*>;

// Thread-safe. Lives as long as its step, here or yet to come.
class StepExchange : public Rendezvous {
 public:
  StepExchange(const protocol::WorkerSession& session, uint64_t step)
      : session_(session), step_(step) {}

  // What Send sends away. Before the first Send; outlives the exchange's use.
  void BeginSending(const RemoteEdges* remote_edges) {
    remote_edges_ = remote_edges;
  }

  absl::Status Send(const RendezvousKey& key, Tensor tensor,
                    bool is_dead) override;
  void Receive(const RendezvousKey& key, Receiver receiver) override {
    local_.Receive(key, std::move(receiver));
  }
  void Abort(absl::Status cause) override { local_.Abort(std::move(cause)); }

  // A value from another task, for a Receive here.
  absl::Status Deliver(protocol::Push push) {
    return local_.Send({push.edge, push.frame, push.iteration},
                       std::move(push.tensor), push.is_dead);
  }

 private:
  const protocol::WorkerSession session_;
  const uint64_t step_;
  const RemoteEdges* remote_edges_ = nullptr;
  LocalRendezvous local_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_STEP_EXCHANGE_H_
