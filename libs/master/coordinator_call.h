// CoordinatorCall is a call to the coordinator that is repeated until its
// deadline if there is no coordinator. It regularly logs what it waits for. No
// thread waits. The coordinator is notified when the call is cancelled.
#ifndef WEFT_LIBS_MASTER_COORDINATOR_CALL_H_
#define WEFT_LIBS_MASTER_COORDINATOR_CALL_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "libs/base/async/or_cancelled.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/master/master.h"
#include "libs/master/open_calls.h"
#include "libs/master/wait_log.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft {

// The maximum interval between log lines, if waits are logged at all.
// TensorFlow's CreateSession also logs every 10 s which tasks it waits for.
inline constexpr absl::Duration kCoordinatorLogInterval = absl::Seconds(10);
// The delay between attempts that find no coordinator.
inline constexpr absl::Duration kCoordinatorBackoff = absl::Milliseconds(200);
// How long to wait for the coordinator's answer about what it waits for.
inline constexpr absl::Duration kCoordinatorAnswerTime = absl::Seconds(1);

// CoordinatorCall is created by AskCoordinatorFor below.
template <typename T>
class CoordinatorCall
    : public std::enable_shared_from_this<CoordinatorCall<T>> {
 public:
  using Answer = protocol::Coordinator::Answer<T>;
  using Ask = absl::AnyInvocable<void(
      absl::Time deadline, std::shared_ptr<Cancellation> cancellation,
      Answer done)>;

  CoordinatorCall(const MasterOptions& options, OpenCalls::CallPtr open,
                  absl::Time deadline, Ask ask, Answer done)
      : options_(options),
        open_(std::move(open)),
        deadline_(deadline),
        ask_(std::move(ask)),
        done_(std::move(done)) {}

  // `what`: for the log, "place nodes of session 7". `device_filters`: of the
  // tasks that it needs.
  void Begin(const std::string& what,
             const std::vector<std::string>& device_filters) {
    absl::Duration interval = options_.log_waits_after;
    if (interval < absl::InfiniteDuration()) {
      interval = std::min(interval, kCoordinatorLogInterval);
    }
    if (options_.logger == nullptr) interval = absl::InfiniteDuration();
    log_ =
        WaitLog::Begin(*options_.scheduler, interval,
                       [weak = this->weak_from_this(), what, device_filters] {
                         if (auto call = weak.lock())
                           call->Say(what, device_filters);
                       });
    AskAgain();
  }

 private:
  absl::Time Now() const { return options_.scheduler->clock().Now(); }

  void AskAgain() {
    const absl::Status cancelled = open_->cancellation()->status();
    if (!cancelled.ok()) return Finish(cancelled);
    ask_(deadline_, open_->cancellation(),
         OrCancelled<absl::StatusOr<T>>(
             open_->cancellation(),
             [self = this->shared_from_this()](absl::StatusOr<T> answer) {
               self->OnAnswer(std::move(answer));
             }));
  }

  void OnAnswer(absl::StatusOr<T> answer) {
    if (open_->cancellation()->IsCancelled()) return Finish(std::move(answer));
    // The route to the coordinator is closed, because this task stops.
    if (absl::IsCancelled(answer.status())) {
      return Finish(absl::UnavailableError(answer.status().message()));
    }
    if (!absl::IsUnavailable(answer.status()) || Now() >= deadline_) {
      return Finish(std::move(answer));
    }
    auto again = OrCancelled<absl::Status>(
        open_->cancellation(),
        [self = this->shared_from_this()](const absl::Status& status) {
          if (!status.ok()) return self->Finish(status);
          self->AskAgain();
        });
    // The next attempt runs on the graph pool: the request may contain a large
    // graph, which control threads must not write.
    options_.scheduler->ScheduleAt(
        Pool::kGraph, std::min(deadline_, Now() + kCoordinatorBackoff),
        [again = std::move(again)]() mutable { again(absl::OkStatus()); });
  }

  void Finish(absl::StatusOr<T> answer) {
    log_->End();
    Answer done = std::move(done_);
    done(std::move(answer));
  }

  // Asks the coordinator, which knows which tasks are missing, and logs them.
  void Say(const std::string& what,
           const std::vector<std::string>& device_filters) {
    options_.coordinator->ListDevices(
        device_filters, Now() + kCoordinatorAnswerTime, nullptr,
        [weak = this->weak_from_this(),
         what](const absl::StatusOr<std::vector<DeviceAttributes>>& devices) {
          const auto call = weak.lock();
          if (call == nullptr) return;
          call->options_.logger->Info(absl::StrCat(
              "Still waiting to ", what, ": ",
              devices.ok() ? "all tasks have joined, the coordinator is working"
                           : devices.status().message()));
        });
  }

  const MasterOptions& options_;  // the master's, which must outlive its calls
  const OpenCalls::CallPtr open_;
  const absl::Time deadline_;
  Ask ask_;
  Answer done_;
  std::shared_ptr<WaitLog> log_;
};

// `ask` is called with its deadline, the cancellation of `open`, and the
// callback for the answer; again after an answer that says that there is no
// coordinator. `done` receives the coordinator's answer, the cause of the
// cancellation of `open`, or UNAVAILABLE if this task stops.
template <typename T>
void AskCoordinatorFor(const MasterOptions& options,
                       const OpenCalls::CallPtr& open, absl::Time deadline,
                       const std::string& what,
                       const std::vector<std::string>& device_filters,
                       typename CoordinatorCall<T>::Ask ask,
                       protocol::Coordinator::Answer<T> done) {
  auto call = std::make_shared<CoordinatorCall<T>>(
      options, open, deadline, std::move(ask), std::move(done));
  call->Begin(what, device_filters);
}

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_COORDINATOR_CALL_H_
