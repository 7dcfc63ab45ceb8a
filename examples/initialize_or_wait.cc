#include "examples/initialize_or_wait.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"

namespace weft::examples {

absl::Status Poll(Session& session, absl::Duration interval,
                  absl::Duration limit,
                  const std::function<absl::StatusOr<bool>()>& done) {
  Scheduler& scheduler = session.scheduler();
  const absl::Time deadline = scheduler.clock().Now() + limit;
  while (true) {
    ASSIGN_OR_RETURN(const bool is_done, done());
    if (is_done) return absl::OkStatus();
    const absl::Time now = scheduler.clock().Now();
    if (now >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("waited ", absl::FormatDuration(limit)));
    }
    // Nobody sets it: this is a sleep.
    scheduler.NewEvent()->WaitUntil(now + interval);
  }
}

absl::Status InitializeOrWait(Session& session, const Scope& scope,
                              bool is_chief, absl::Duration limit) {
  if (is_chief) return session.Run(ops::GlobalVariablesInitializer(scope));
  const std::vector<ops::Variable> variables = ops::GlobalVariables(scope);
  std::vector<Output> checks;
  for (const ops::Variable& variable : variables) {
    checks.push_back(variable.IsInitialized(scope));
  }
  std::string missing;
  const absl::Status status = Poll(
      session, absl::Milliseconds(100), limit, [&]() -> absl::StatusOr<bool> {
        ASSIGN_OR_RETURN(std::vector<Tensor> there, session.Run({}, checks));
        missing.clear();
        for (size_t i = 0; i < there.size(); ++i) {
          if (!there[i].scalar<bool>()) missing = variables[i].name();
        }
        return missing.empty();
      });
  if (!absl::IsDeadlineExceeded(status) || missing.empty()) return status;
  return absl::DeadlineExceededError(
      absl::StrCat("The chief has not initialized ", missing, ": ",
                   status.message(), ". Is it running?"));
}

}  // namespace weft::examples
