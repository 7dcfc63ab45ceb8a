// RunningStep is one step of a registration, from Run to its end. Internal to
// this module.
//
// Threads: the thread that ends the last partition also ends the step.
#ifndef WEFT_LIBS_RUNTIME_RUNNING_STEP_H_
#define WEFT_LIBS_RUNTIME_RUNNING_STEP_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/async/join.h"
#include "libs/protocol/worker/worker.h"
#include "libs/resource/resource_manager.h"
#include "libs/runtime/registration.h"
#include "libs/runtime/runtime_metrics.h"
#include "libs/runtime/step_exchange.h"
#include "libs/runtime/step_table.h"
#include "libs/trace/device_trace.h"

namespace weft {

// The object is reused for later steps of the registration, to avoid
// allocations.
class RunningStep {
 public:
  // Starts a step. At its end, the object returns itself to the registration
  // and calls `done`. `table` is null if no other task takes part in the step.
  // `master` is the task that receives values with the answer; null if there is
  // no such task.
  static void Start(std::shared_ptr<Registration> registration,
                    const protocol::PartitionStep& request, StepTable* table,
                    protocol::Worker* master, protocol::Worker::Done done);

 private:
  absl::Status Prepare(const protocol::PartitionStep& request);
  void StartPlans(const protocol::PartitionStep& request);
  void BeginTrace(protocol::PartitionTrace* trace);
  void EndTrace(bool is_wanted);
  void AbortExchangeWhenCancelled();
  void PlanDone(const absl::Status& status);
  void SendRemaining();
  void Finish();
  void NoteBegan();
  void NoteEnded(const absl::Status& status);

  std::shared_ptr<Registration> registration_;
  protocol::StepId id_;
  StepTable* table_ = nullptr;
  protocol::Worker* master_ = nullptr;
  protocol::PartitionStep::WithAnswer* with_answer_ = nullptr;
  std::shared_ptr<Cancellation> cancellation_;
  Cancellation::Token cancellation_token_ = 0;
  std::shared_ptr<StepExchange> exchange_;
  std::shared_ptr<Rendezvous> client_;  // null except for a partial run
  std::unique_ptr<ResourceManager> step_resources_;
  protocol::PartitionTrace* trace_ = nullptr;  // null unless traced
  std::vector<std::unique_ptr<DeviceTrace>> device_traces_;  // by plan
  Join join_;                                                // of its plans
  protocol::Worker::Done done_;
  RuntimeMetrics* metrics_ = nullptr;
  absl::Time began_;  // if there are metrics
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_RUNNING_STEP_H_
