#include "libs/runtime/step_exchange.h"

#include "absl/strings/str_cat.h"

namespace weft {

StepExchange::~StepExchange() {
  if (quota_ != nullptr) quota_->GiveBack(unclaimed_bytes());
}

void StepExchange::GiveBack(int64_t bytes) {
  unclaimed_.fetch_sub(bytes, std::memory_order_relaxed);
  quota_->GiveBack(bytes);
}

absl::Status StepExchange::Deliver(protocol::Push push) {
  const RendezvousKey key{push.edge, push.frame, push.iteration};
  if (quota_ == nullptr) {
    return local_.Send(key, std::move(push.tensor), push.is_dead);
  }
  const int64_t cost = UnclaimedBytes::CostOf(push.tensor);
  if (!quota_->Take(cost)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no room for a value of ", cost,
        " bytes from another task: values that no step of the session has used "
        "yet take ",
        quota_->taken(), " of the ", quota_->limit(),
        " that they may. Raise max_unclaimed_bytes_per_session there."));
  }
  unclaimed_.fetch_add(cost, std::memory_order_relaxed);
  absl::Status sent = local_.Send(key, std::move(push.tensor), push.is_dead);
  if (!sent.ok()) GiveBack(cost);
  return sent;
}

void StepExchange::Receive(const RendezvousKey& key, Receiver receiver) {
  const bool counts = quota_ != nullptr && incoming_ != nullptr &&
                      incoming_->contains(key.edge);
  if (!counts) return local_.Receive(key, std::move(receiver));
  local_.Receive(key, [this, receiver = std::move(receiver)](
                          absl::Status status, Tensor tensor,
                          bool is_dead) mutable {
    if (status.ok()) GiveBack(UnclaimedBytes::CostOf(tensor));
    receiver(std::move(status), std::move(tensor), is_dead);
  });
}

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
