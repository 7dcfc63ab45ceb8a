// AskCoordinator: waits for the coordinator's answer, and while it waits says
// so now and then. A coordinator that can't be reached, or that itself waits
// for tasks, is asked again until the deadline.
#ifndef WEFT_LIBS_MASTER_COORDINATOR_CALL_H_
#define WEFT_LIBS_MASTER_COORDINATOR_CALL_H_

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler.h"
#include "libs/master/master.h"
#include "libs/protocol/coordinator.h"

namespace weft {

// At the latest. As TensorFlow: its CreateSession logs every 10 s whom it waits
// for.
inline constexpr absl::Duration kCoordinatorLogInterval = absl::Seconds(10);
// Between attempts that fail at once.
inline constexpr absl::Duration kCoordinatorBackoff = absl::Milliseconds(200);

// `ask` is called with the time until which to wait, and what to answer with.
// Blocks. Errors are the coordinator's; UNAVAILABLE when this task stops.
template <typename T>
absl::StatusOr<T> AskCoordinatorFor(
    const MasterOptions& options, absl::Time deadline,
    absl::FunctionRef<void(absl::Time until,
                           protocol::Coordinator::Answer<T> done)>
        ask) {
  const Clock& clock = options.scheduler->clock();
  while (true) {
    const absl::Time until =
        std::min(deadline, clock.Now() + std::min(options.log_waits_after,
                                                  kCoordinatorLogInterval));
    std::unique_ptr<Event> answered = options.scheduler->NewEvent();
    absl::StatusOr<T> answer;
    ask(until, [&](absl::StatusOr<T> given) {
      answer = std::move(given);
      answered->Set();
    });
    answered->Wait();
    if (answer.ok()) return answer;
    const absl::Status& status = answer.status();
    if (absl::IsCancelled(status)) {
      return absl::UnavailableError(status.message());
    }
    const bool may_come =
        absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
    if (!may_come || clock.Now() >= deadline) return answer;
    if (options.logger != nullptr && clock.Now() >= until) {
      options.logger->Info(absl::StrCat("Still waiting: ", status.message()));
    }
    if (absl::IsUnavailable(status)) {
      options.scheduler->NewEvent()->WaitUntil(
          std::min(deadline, clock.Now() + kCoordinatorBackoff));
    }
  }
}

// The same where only success or an error is answered.
inline absl::Status AskCoordinator(
    const MasterOptions& options, absl::Time deadline,
    absl::FunctionRef<void(absl::Time until, protocol::Coordinator::Done done)>
        ask) {
  struct Nothing {};
  return AskCoordinatorFor<Nothing>(
             options, deadline,
             [&](absl::Time until,
                 protocol::Coordinator::Answer<Nothing> done) {
               ask(until, [done = std::move(done)](
                              const absl::Status& status) mutable {
                 if (!status.ok()) return done(status);
                 done(Nothing());
               });
             })
      .status();
}

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_COORDINATOR_CALL_H_
