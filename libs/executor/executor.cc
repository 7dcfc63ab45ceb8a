#include "libs/executor/executor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/executor/plan.h"
#include "libs/executor/ready_loop.h"
#include "libs/executor/step_state.h"

namespace weft {
namespace {

absl::Status CheckSizes(const PlanImpl& plan, const StepArgs& args) {
  if (args.args.size() >= static_cast<size_t>(plan.num_args()) &&
      args.retvals.size() >= static_cast<size_t>(plan.num_retvals())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "a step was given ", args.args.size(), " arguments and space for ",
      args.retvals.size(), " results; its plan takes ", plan.num_args(),
      " and gives ", plan.num_retvals()));
}

ReadyList Roots(StepState& state) {
  ReadyList roots;
  for (int32_t node : state.plan.roots) {
    roots.push_back({&state.root, node, false});
  }
  return roots;
}

}  // namespace

void Start(std::shared_ptr<const Plan> plan, const StepArgs& args,
           RunWhere where, absl::AnyInvocable<void(absl::Status)> done) {
  // Compile creates no other type.
  auto impl = std::static_pointer_cast<const PlanImpl>(std::move(plan));
  if (absl::Status status = CheckSizes(*impl, args); !status.ok()) {
    return done(std::move(status));
  }
  StepState& state = *impl->TakeState(args.context.step_id).release();
  state.Begin(std::move(impl), args, std::move(done));
  if (where == RunWhere::kPool && !state.plan.roots.empty()) {
    return ContinueOnPool(state, Roots(state));
  }
  ReadyLoop loop(state, where);
  loop.Add(Roots(state));
  loop.Run();
}

}  // namespace weft
