// RecordingWorker is a Worker that records its calls and answers at once, or
// when the test tells it to.
//
// Threads: for tests on one thread at a time (SimulatedScheduler).
#ifndef WEFT_LIBS_PROTOCOL_TESTING_RECORDING_WORKER_H_
#define WEFT_LIBS_PROTOCOL_TESTING_RECORDING_WORKER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "libs/base/async/cancellation.h"
#include "libs/protocol/worker/worker.h"

namespace weft::protocol {

class RecordingWorker : public Worker {
 public:
  // The answer to each call.
  absl::Status answer;
  // The number of DeleteWorkerSession calls that lose their connection, or fail
  // with `loss`.
  int num_losses = 0;
  absl::Status loss = absl::UnavailableError("The connection was lost");
  std::vector<DeviceAttributes> devices;
  std::vector<std::string> waits;
  NewVariables new_variables;  // of each registration
  // Holds runs until the test ends them.
  bool hold_runs = false;
  PartitionTrace trace;  // of each traced run
  bool hold_aborts = false;

  struct Session {
    WorkerSession session;
    WorkerSessionOptions options;
  };
  std::vector<Session> created;
  std::vector<WorkerSession> deleted;
  std::vector<PartitionRegistration> registered;
  std::vector<uint64_t> deregistered;
  std::vector<std::vector<std::string>> cleared;
  std::vector<Push> pushes;
  struct Aborted {
    StepId step;
    uint64_t steps_finished_below = 0;
    absl::Status cause;
    Done done;  // null if it was not held
  };
  std::vector<Aborted> aborted;
  std::vector<StepId> abandoned;  // AbandonPushes
  struct Running {
    PartitionStep step;
    Done done;
  };
  std::vector<Running> running;  // held
  int num_runs = 0;
  // Holds GetStatusWhenConnected and DeleteWorkerSession, as if the task were
  // not connected, until the test calls the held callbacks.
  bool hold = false;
  bool hold_registers = false;  // likewise
  bool hold_step_holds = false;
  bool hold_clears = false;              // likewise
  std::weak_ptr<Cancellation> clearing;  // of the last ClearContainers
  std::deque<absl::AnyInvocable<void()>> held;
  std::function<void()> on_created;  // may be null
  std::vector<StepId> described;
  std::vector<StepHold> step_holds;
  std::vector<VariableWriter> writers;  // the answer

  void GetStatusWhenConnected(absl::Time /*deadline*/,
                              DevicesDone done) override {
    if (hold) {
      held.push_back(
          [this, done = std::move(done)]() mutable { done(devices); });
      return;
    }
    if (!answer.ok()) return done(answer);
    done(devices);
  }
  void CreateWorkerSession(const WorkerSession& session,
                           const WorkerSessionOptions& options,
                           absl::Time /*deadline*/, Done done) override {
    created.push_back({session, options});
    if (on_created) on_created();
    done(answer);
  }
  void DeleteWorkerSession(const WorkerSession& session,
                           absl::Time /*deadline*/, Done done) override {
    deleted.push_back(session);
    if (hold) {
      held.push_back(
          [this, done = std::move(done)]() mutable { done(answer); });
      return;
    }
    if (num_losses == 0) return done(answer);
    --num_losses;
    done(loss);
  }
  void Register(const PartitionRegistration& registration,
                absl::Time /*deadline*/, RegisterDone done) override {
    registered.push_back(registration);
    if (hold_registers) {
      held.push_back([this, done = std::move(done)]() mutable {
        AnswerRegister(std::move(done));
      });
    } else {
      AnswerRegister(std::move(done));
    }
  }
  void Deregister(const WorkerSession& /*session*/,
                  uint64_t registration) override {
    deregistered.push_back(registration);
  }
  void Run(const PartitionStep& step, Done done) override {
    ++num_runs;
    if (hold_runs) {
      running.push_back({step, std::move(done)});
    } else {
      Finish(step, std::move(done));
    }
  }
  void Deliver(std::vector<Push> delivered) override {
    for (Push& push : delivered) pushes.push_back(std::move(push));
  }
  void Abort(const StepId& step, uint64_t steps_finished_below,
             const absl::Status& cause, Done done) override {
    aborted.push_back({step, steps_finished_below, cause, nullptr});
    if (hold_aborts) {
      aborted.back().done = std::move(done);
    } else {
      done(answer);
    }
  }
  void AbandonPushes(const StepId& step) override { abandoned.push_back(step); }
  void DescribeWaits(const StepId& step, absl::Time /*deadline*/,
                     WaitsDone done) override {
    if (!answer.ok()) return done(answer);
    described.push_back(step);
    done(waits);
  }
  void HoldSteps(const StepHold& request, absl::Time /*deadline*/,
                 HoldDone done) override {
    step_holds.push_back(request);
    if (!answer.ok()) return done(answer);
    if (!hold_step_holds) return done(writers);
    held.push_back([this, done = std::move(done)]() mutable { done(writers); });
  }
  void ClearContainers(const std::vector<std::string>& containers,
                       absl::Time /*deadline*/,
                       const std::shared_ptr<Cancellation>& client,
                       Done done) override {
    cleared.push_back(containers);
    clearing = client;
    if (!hold_clears) return done(answer);
    held.push_back([this, done = std::move(done)]() mutable { done(answer); });
  }

  // Ends the oldest held run.
  void EndRun() {
    Running run = std::move(running.front());
    running.erase(running.begin());
    Finish(run.step, std::move(run.done));
  }

 private:
  void AnswerRegister(RegisterDone done) const {
    if (!answer.ok()) return done(answer);
    done(new_variables);
  }
  // The k-th fetch is the k-th feed.
  void Finish(const PartitionStep& step, Done done) const {
    if (!answer.ok()) return done(answer);
    for (size_t i = 0; i < step.fetch_indices.size(); ++i) {
      step.fetches[step.fetch_indices[i]] = step.feeds[step.feed_indices[i]];
    }
    if (step.trace != nullptr) *step.trace = trace;
    done(absl::OkStatus());
  }
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_TESTING_RECORDING_WORKER_H_
