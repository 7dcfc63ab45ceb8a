#include "libs/runtime/step_exchange.h"

namespace weft {

absl::Status StepExchange::Send(const RendezvousKey& key, Tensor tensor,
                                bool is_dead) {
  if (remote_edges_ != nullptr) {
    auto it = remote_edges_->find(key.edge);
    if (it != remote_edges_->end()) {
      it->second->Deliver({.session = session_,
                           .step = step_,
                           .edge = key.edge,
                           .frame = key.frame,
                           .iteration = key.iteration,
                           .is_dead = is_dead,
                           .tensor = std::move(tensor)});
      return absl::OkStatus();
    }
  }
  return local_.Send(key, std::move(tensor), is_dead);
}

}  // namespace weft
