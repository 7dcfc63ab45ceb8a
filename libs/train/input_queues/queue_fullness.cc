#include "libs/train/input_queues/queue_fullness.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/summary/summary_ops.h"
#include "libs/train/sessions/queue_runner.h"

namespace weft::train {

bool CheckCapacity(const Scope& scope, int64_t capacity) {
  if (capacity > 0) return scope.ok();
  scope.UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
      "the capacity of an input queue must be > 0 not ", capacity)));
  return false;
}

Scope QueueScope(const Scope& scope) {
  return scope.WithoutControlDependencies().WithDevice("/device:CPU:*");
}

void AddRunner(const Scope& scope, const ops::Queue& queue,
               std::vector<Operation> enqueue_ops, const Operation& cancel_op) {
  if (!scope.ok()) return;
  const Operation close = queue.Close(scope);
  const Operation cancel =
      cancel_op ? cancel_op
                : queue.Close(scope, /*cancel_pending_enqueues=*/true);
  AddQueueRunner(scope, {.queue = queue.handle(),
                         .enqueue_ops = std::move(enqueue_ops),
                         .close_op = close,
                         .cancel_op = cancel});
}

void AddFullness(const Scope& scope, const std::string& name,
                 const Output& amount, int64_t capacity) {
  if (!scope.ok()) return;
  const Output fraction =
      ops::Mul(scope.WithName("mul"), ops::Cast(scope, amount, DT_FLOAT),
               static_cast<float>(1. / static_cast<double>(capacity)));
  ops::ScalarSummary(scope.WithName(name), absl::StrCat(scope.prefix(), name),
                     fraction);
}

}  // namespace weft::train
