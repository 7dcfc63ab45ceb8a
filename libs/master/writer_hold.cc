#include "libs/master/writer_hold.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/master/when_connected.h"

namespace weft {
namespace {

// How long a live task takes to answer, with a margin.
constexpr absl::Duration kHoldAnswerTime = absl::Seconds(5);

}  // namespace

WriterHold::WriterHold(WriterHoldOptions options)
    : options_(std::move(options)) {}

protocol::StepHold WriterHold::Request(Action action) const {
  return {.action = action,
          .holder = {options_.session.master_incarnation, options_.step},
          .session = options_.session.session,
          .registration = options_.registration,
          .max_wait = options_.max_wait,
          .lease = 2 * (options_.max_wait + kHoldAnswerTime)};
}

absl::Time WriterHold::Deadline() const {
  return options_.scheduler->clock().Now() + options_.max_wait +
         kHoldAnswerTime;
}

CallGroup::Log WriterHold::Log(const std::string& what) const {
  return {.what = absl::StrCat(what, " for step ", options_.step,
                               " of session ", options_.session.session),
          .interval = options_.log_waits_after,
          .logger = options_.logger};
}

void WriterHold::Named::Add(const Writers& writers) {
  absl::MutexLock lock(&mutex_);
  for (const protocol::VariableWriter& writer : writers) {
    const Key key = {writer.session.master_incarnation, writer.session.session,
                     writer.registration};
    writers_[writer.task].try_emplace(key, writer);
  }
}

std::map<std::string, WriterHold::Writers> WriterHold::Named::ByTask() const {
  std::map<std::string, Writers> result;
  absl::MutexLock lock(&mutex_);
  for (const auto& [task, writers] : writers_) {
    for (const auto& [key, writer] : writers) result[task].push_back(writer);
  }
  return result;
}

void WriterHold::Begin(Done begun) {
  CallGroup group(*options_.scheduler);
  for (const WriterHoldOptions::Part& part : options_.parts) {
    part.worker->HoldSteps(Request(Action::kHoldVariables), Deadline(),
                           [named = named_, done = group.Add(part.task)](
                               const absl::StatusOr<Writers>& writers) mutable {
                             if (writers.ok()) named->Add(*writers);
                             done(writers.status());
                           });
  }
  group.WhenDone(options_.call, Log("hold variables"),
                 [self = shared_from_this(),
                  begun = std::move(begun)](const absl::Status& held) mutable {
                   if (!held.ok()) return begun(held);
                   self->HoldMasters(std::move(begun));
                 });
}

void WriterHold::HoldMasters(Done begun) {
  CallGroup group(*options_.scheduler);
  for (auto& [task, writers] : named_->ByTask()) {
    CallGroup::Done done = group.Add(task);
    protocol::Worker* const worker = options_.directory->Find(task);
    if (worker == nullptr) {
      done(absl::FailedPreconditionError(absl::StrCat(
          task,
          " runs steps that write the variables but is not a task of this "
          "cluster, so its steps cannot be held. Check the cluster spec.")));
      continue;
    }
    if (writers.size() > protocol::Worker::kMaxWriters) {
      done(absl::ResourceExhaustedError(absl::StrCat(
          task, " has ", writers.size(), " callables that write the variables,",
          " and ", protocol::Worker::kMaxWriters,
          " can be held. Release some.")));
      continue;
    }
    HoldMaster(*worker, writers, std::move(done));
  }
  group.WhenDone(options_.call, Log("hold the steps that write variables"),
                 std::move(begun));
}

// Workers that never pushed anything to each other have no connection yet.
void WriterHold::HoldMaster(protocol::Worker& worker, const Writers& writers,
                            Done done) {
  WhenConnected(
      worker, options_.scheduler->clock().Now() + kHoldAnswerTime,
      options_.call->cancellation(), std::move(done),
      [self = shared_from_this(), &worker,
       writers](protocol::Worker::Done held) {
        protocol::StepHold request = self->Request(Action::kHoldSteps);
        request.writers = writers;
        worker.HoldSteps(request, self->Deadline(),
                         [held = std::move(held)](
                             const absl::StatusOr<Writers>& answer) mutable {
                           held(answer.status());
                         });
      });
}

void WriterHold::Release(CallGroup& group) {
  const auto tell = [&](const std::string& task, protocol::Worker& worker,
                        Action action) {
    worker.HoldSteps(Request(action), Deadline(),
                     [done = group.Add(task)](
                         const absl::StatusOr<Writers>& released) mutable {
                       done(released.status());
                     });
  };
  // Steps first: a task that is released later need not wait longer.
  for (const auto& [task, writers] : named_->ByTask()) {
    protocol::Worker* const worker = options_.directory->Find(task);
    if (worker != nullptr) tell(task, *worker, Action::kReleaseSteps);
  }
  for (const WriterHoldOptions::Part& part : options_.parts) {
    tell(part.task, *part.worker, Action::kReleaseVariables);
  }
}

// A release that overtakes its hold, which is still in flight, makes that hold
// fail.
void WriterHold::Abandon() {
  CallGroup group(*options_.scheduler);
  Release(group);
  group.WhenDone(options_.call, {}, [](const absl::Status&) {});
}

void WriterHold::End(Done ended) {
  CallGroup group(*options_.scheduler);
  Release(group);
  group.WhenDone(
      options_.call, Log("release variables"),
      [self = shared_from_this(),
       ended = std::move(ended)](const absl::Status& held) mutable {
        ended(Annotate(
            held, "The step may have seen partial updates of other steps"));
      });
}

}  // namespace weft
