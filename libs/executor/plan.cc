#include "libs/executor/plan.h"

#include <utility>

#include "libs/executor/step_state.h"

namespace weft {
namespace {

// What a plan keeps for later steps; more were only busy for a moment.
constexpr size_t kMaxFreeStates = 16;

}  // namespace

PlanImpl::PlanImpl() = default;
PlanImpl::~PlanImpl() = default;

std::unique_ptr<StepState> PlanImpl::TakeState() const {
  {
    absl::MutexLock lock(&mutex_);
    if (!free_states_.empty()) {
      std::unique_ptr<StepState> state = std::move(free_states_.back());
      free_states_.pop_back();
      return state;
    }
  }
  return std::make_unique<StepState>(*this);
}

void PlanImpl::GiveBack(std::unique_ptr<StepState> state) const {
  absl::MutexLock lock(&mutex_);
  if (free_states_.size() < kMaxFreeStates) {
    free_states_.push_back(std::move(state));
  }
}

}  // namespace weft
