// Registration: the compiled partitions of one callable on one task.
// RunningStep: one step of it. Both internal to this room.
//
// Threads: a Registration is immutable but for its idle step objects, under its
// own lock. A RunningStep belongs to its step: whoever ends the last partition
// ends it.
#ifndef WEFT_LIBS_RUNTIME_REGISTRATION_H_
#define WEFT_LIBS_RUNTIME_REGISTRATION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "libs/base/join.h"
#include "libs/base/scheduler.h"
#include "libs/device/device.h"
#include "libs/executor/executor.h"
#include "libs/protocol/worker.h"
#include "libs/resource/resource_manager.h"
#include "libs/runtime/step_table.h"

namespace weft {

class RunningStep;

class Registration {
 public:
  // What one device runs.
  struct Part {
    std::shared_ptr<const Plan> plan;
    Device* device = nullptr;
    ResourceManager* resources = nullptr;
  };
  // Its edges from and to the master.
  struct Ends {
    struct Arg {
      size_t index;
      DataType type;
      std::string node;
    };
    std::vector<Arg> args;
    size_t num_retvals = 0;  // one more than the largest index
  };
  // Its edges to other tasks.
  struct Edges {
    RemoteEdges outgoing;
    StepPeers peers;
  };

  // `keep_alive` is what the parts use: their session.
  Registration(std::shared_ptr<void> keep_alive, std::vector<Part> parts,
               Ends ends, Edges edges, Scheduler* scheduler);
  ~Registration();

  const std::vector<Part>& parts() const { return parts_; }
  const Edges& edges() const { return edges_; }
  // INVALID_ARGUMENT unless the step brings what the partitions take, with its
  // type, and has room for what they make.
  absl::Status Check(const protocol::PartitionStep& step) const;
  Scheduler* scheduler() const { return scheduler_; }
  // As Plan::DescribeWaits, of all its parts.
  bool DescribeWaits(uint64_t step, std::vector<std::string>& waits) const;

  std::unique_ptr<RunningStep> TakeStep();
  void GiveBack(std::unique_ptr<RunningStep> step);

 private:
  const std::shared_ptr<void> keep_alive_;
  const std::vector<Part> parts_;
  const Ends ends_;
  const Edges edges_;
  Scheduler* const scheduler_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<RunningStep>> idle_steps_ ABSL_GUARDED_BY(mutex_);
};

Registration::Ends FindEnds(
    const std::vector<protocol::DevicePartition>& partitions);

// The edges of the partitions of `task` (canonical name) that begin or end at
// others. NOT_FOUND names a task that `directory` does not know; the directory
// may be null when there is no other task.
absl::StatusOr<Registration::Edges> FindEdges(
    const std::vector<protocol::DevicePartition>& partitions,
    const std::string& task, protocol::WorkerDirectory* directory);

// From Run to its end. Used again for later steps of the registration, so that
// a warm step allocates nothing for it.
class RunningStep {
 public:
  // Ends by calling `done` and giving itself back to the registration. `table`
  // is null for a step that no other task has a part in. `master` is the task
  // that takes values with the answer; null when none does.
  static void Start(std::shared_ptr<Registration> registration,
                    const protocol::PartitionStep& request, StepTable* table,
                    protocol::Worker* master, protocol::Worker::Done done);

 private:
  absl::Status Prepare(const protocol::PartitionStep& request);
  void StartParts(const protocol::PartitionStep& request);
  void AbortExchangeWhenCancelled();
  void PartDone(const absl::Status& status);
  void SendTheRest();
  void Finish();

  std::shared_ptr<Registration> registration_;
  protocol::StepId id_;
  StepTable* table_ = nullptr;
  protocol::Worker* master_ = nullptr;
  protocol::PartitionStep::WithAnswer* with_answer_ = nullptr;
  std::shared_ptr<Cancellation> cancellation_;
  Cancellation::Token cancellation_token_ = 0;
  std::shared_ptr<StepExchange> exchange_;
  std::unique_ptr<ResourceManager> step_resources_;
  Join join_;  // of its parts
  protocol::Worker::Done done_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_REGISTRATION_H_
