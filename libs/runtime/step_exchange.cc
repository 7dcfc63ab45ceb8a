#include "libs/runtime/step_exchange.h"

#include <algorithm>
#include <map>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// Larger values are sent as soon as their kernels are done. For them an extra
// message costs little in comparison, and the receivers should begin their
// longer work soon.
constexpr size_t kSmallBytes = 4 << 10;
// The maximum total bytes of small values that are held back to be sent
// together.
constexpr size_t kMaxHeldBytes = 64 << 10;
// The maximum number of values of any size that are held back for one task.
// Dead values have no bytes, but all values must fit into one message
// (TransportOptions::max_control_bytes).
constexpr size_t kMaxHeldPushes = 4096;
// A value of this size is sent as a stream of its own
// (TransportOptions::inline_bytes). Other values must not wait until that
// stream ends.
constexpr size_t kStreamBytes = 64 << 10;

bool IsSmall(const protocol::Push& push) {
  return push.tensor.TotalBytes() <= kSmallBytes;
}

bool IsStream(const protocol::Push& push) {
  return push.tensor.TotalBytes() >= kStreamBytes;
}

// Sends all small values in one message, and each large value in a message of
// its own.
void DeliverAll(protocol::Worker& receiver,
                std::vector<protocol::Push> pushes) {
  const auto streams =
      std::stable_partition(pushes.begin(), pushes.end(),
                            [](const auto& push) { return !IsStream(push); });
  std::vector<std::vector<protocol::Push>> alone;
  for (auto stream = streams; stream != pushes.end(); ++stream) {
    alone.emplace_back().push_back(std::move(*stream));
  }
  pushes.erase(streams, pushes.end());
  if (!pushes.empty()) receiver.Deliver(std::move(pushes));
  for (auto& stream : alone) receiver.Deliver(std::move(stream));
}

}  // namespace

StepExchange::~StepExchange() { ReleaseQuota(); }

void StepExchange::ReleaseQuota() {
  if (quota_ == nullptr) return;
  quota_->GiveBack(unclaimed_.exchange(0, std::memory_order_relaxed));
}

void StepExchange::GiveBack(int64_t bytes) {
  unclaimed_.fetch_sub(bytes, std::memory_order_relaxed);
  quota_->GiveBack(bytes);
}

absl::Status StepExchange::DeliverLocally(const RendezvousKey& key,
                                          protocol::Push& push) {
  switch (local_.SendOrKeep(key, push.tensor, push.is_dead)) {
    case LocalRendezvous::Sent::kYes:
      return absl::OkStatus();
    case LocalRendezvous::Sent::kAborted:
      return absl::AbortedError("the step was aborted");
    case LocalRendezvous::Sent::kTwice:
      break;
  }
  return absl::InternalError(
      absl::StrCat("edge ", key.edge, " (frame ", key.frame, ", iteration ",
                   key.iteration, ") has delivered two values in one step"));
}

absl::Status StepExchange::Deliver(protocol::Push& push) {
  const RendezvousKey key{push.edge, push.frame, push.iteration};
  if (quota_ == nullptr) return DeliverLocally(key, push);
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
  absl::Status delivered = DeliverLocally(key, push);
  if (!delivered.ok()) GiveBack(cost);
  return delivered;
}

void StepExchange::Receive(const RendezvousKey& key, Receiver receiver) {
  if (IsToClient(key.edge)) return client_->Receive(key, std::move(receiver));
  const bool counts = quota_ != nullptr && elsewhere_ != nullptr &&
                      elsewhere_->contains(key.edge);
  if (!counts) return local_.Receive(key, std::move(receiver));
  local_.Receive(key,
                 [this, receiver = std::move(receiver)](
                     absl::Status status, Tensor tensor, bool is_dead) mutable {
                   if (status.ok()) GiveBack(UnclaimedBytes::CostOf(tensor));
                   receiver(std::move(status), std::move(tensor), is_dead);
                 });
}

protocol::Worker* StepExchange::ReceiverOf(uint64_t edge) const {
  if (remote_edges_ == nullptr) return nullptr;
  const auto found = remote_edges_->find(edge);
  return found == remote_edges_->end() ? nullptr : found->second;
}

absl::Status StepExchange::Send(const RendezvousKey& key, Tensor tensor,
                                bool is_dead) {
  if (IsToClient(key.edge)) {
    return client_->Send(key, std::move(tensor), is_dead);
  }
  protocol::Worker* receiver = ReceiverOf(key.edge);
  if (receiver == nullptr) return local_.Send(key, std::move(tensor), is_dead);
  protocol::Push push{.session = session_,
                      .step = step_,
                      .edge = key.edge,
                      .frame = key.frame,
                      .iteration = key.iteration,
                      .is_dead = is_dead,
                      .tensor = std::move(tensor)};
  if (Hold(receiver, std::move(push))) Flush();
  return absl::OkStatus();
}

bool StepExchange::Hold(protocol::Worker* receiver, protocol::Push push) {
  absl::MutexLock lock(&mutex_);
  if (IsSmall(push)) {
    held_bytes_ += push.tensor.TotalBytes();
  } else {
    is_urgent_.store(true, std::memory_order_relaxed);
  }
  auto held = std::find_if(held_.begin(), held_.end(), [&](const Held& other) {
    return other.receiver == receiver;
  });
  if (held == held_.end()) {
    held_.push_back({receiver, {}});
    held = held_.end() - 1;
  }
  held->pushes.push_back(std::move(push));
  return held_bytes_ > kMaxHeldBytes || held->pushes.size() >= kMaxHeldPushes;
}

void StepExchange::Flush() {
  HeldList held;
  {
    absl::MutexLock lock(&mutex_);
    held.swap(held_);
    held_bytes_ = 0;
    is_urgent_.store(false, std::memory_order_relaxed);
  }
  for (Held& batch : held) {
    DeliverAll(*batch.receiver, std::move(batch.pushes));
  }
}

void StepExchange::AbandonSent() const {
  if (remote_edges_ == nullptr) return;
  // Visits edges in order, so that a simulation is reproducible.
  const std::map<uint64_t, protocol::Worker*> edges(remote_edges_->begin(),
                                                    remote_edges_->end());
  absl::flat_hash_set<protocol::Worker*> told;
  for (const auto& [edge, receiver] : edges) {
    if (!told.insert(receiver).second) continue;
    receiver->AbandonPushes({session_.master_incarnation, step_});
  }
}

std::vector<protocol::Push> StepExchange::TakeHeldFor(
    const protocol::Worker& receiver) {
  std::vector<protocol::Push> taken;
  absl::MutexLock lock(&mutex_);
  for (auto held = held_.begin(); held != held_.end(); ++held) {
    if (held->receiver != &receiver) continue;
    taken = std::move(held->pushes);
    held_.erase(held);
    for (const protocol::Push& push : taken) {
      if (IsSmall(push)) held_bytes_ -= push.tensor.TotalBytes();
    }
    break;
  }
  return taken;
}

}  // namespace weft
