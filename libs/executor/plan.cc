#include "libs/executor/plan.h"

#include <algorithm>
#include <utility>

#include "libs/executor/step_state.h"

namespace weft {
namespace {

// The maximum number of states that a plan keeps for later steps. More were
// needed only briefly.
constexpr size_t kMaxFreeStates = 16;

}  // namespace

PlanImpl::PlanImpl() = default;
PlanImpl::~PlanImpl() = default;

std::unique_ptr<StepState> PlanImpl::TakeState(uint64_t step_id) const {
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<StepState> state;
  if (free_states_.empty()) {
    state = std::make_unique<StepState>(*this);
  } else {
    state = std::move(free_states_.back());
    free_states_.pop_back();
  }
  running_.push_back({step_id, state.get()});
  return state;
}

void PlanImpl::GiveBack(std::unique_ptr<StepState> state) const {
  absl::MutexLock lock(&mutex_);
  // A linear search is sufficient, because few steps run at a time.
  const auto it = std::find_if(
      running_.begin(), running_.end(),
      [&](const Running& running) { return running.state == state.get(); });
  if (it != running_.end()) {
    *it = running_.back();
    running_.pop_back();
  }
  if (free_states_.size() < kMaxFreeStates) {
    free_states_.push_back(std::move(state));
  }
}

bool PlanImpl::DescribeWaits(uint64_t step_id,
                             std::vector<std::string>& waits) const {
  absl::MutexLock lock(&mutex_);
  const auto it = std::find_if(
      running_.begin(), running_.end(),
      [&](const Running& running) { return running.step_id == step_id; });
  if (it == running_.end()) return false;
  it->state->root.DescribeWaits(waits);
  it->state->loops.DescribeWaits(waits);
  return true;
}

void PlanImpl::CountWaits(std::map<std::string, int64_t>& waits) const {
  absl::MutexLock lock(&mutex_);
  for (const Running& running : running_) {
    running.state->root.CountWaits(waits);
    running.state->loops.CountWaits(waits);
  }
}

}  // namespace weft
