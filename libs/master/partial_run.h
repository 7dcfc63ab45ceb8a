// PartialRun is a step whose feeds arrive, and whose fetches are returned, in
// several calls while it runs: TensorFlow's partial run. It exchanges values
// with its client at its own rendezvous, on the master's task.
//
// Threads: thread-safe. Calls hold no thread. `done` of a call runs once, on
// the thread that produces the last fetch or ends the step.
#ifndef WEFT_LIBS_MASTER_PARTIAL_RUN_H_
#define WEFT_LIBS_MASTER_PARTIAL_RUN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/protocol/master/master.h"
#include "libs/rendezvous/rendezvous.h"
#include "libs/tensor/data_type.h"

namespace weft {

class PartialRun : public std::enable_shared_from_this<PartialRun> {
 public:
  // `keeps_open` is released when the step has ended; may be null.
  PartialRun(std::vector<DataType> feed_types, size_t num_fetches,
             std::shared_ptr<const void> keeps_open = nullptr)
      : feed_types_(std::move(feed_types)),
        fed_(feed_types_.size(), false),
        fetched_(num_fetches, false),
        keeps_open_(std::move(keeps_open)) {}

  // Where the step exchanges values with the client.
  const std::shared_ptr<Rendezvous>& client() const { return client_; }

  // Called once when its step begins.
  void StepBegins(std::shared_ptr<Cancellation> step);
  // Called when the step has ended; returns the part of the session's quota
  // that its feeds took.
  int64_t StepEnds(const absl::Status& status);
  // Ends the step.
  void Cancel(const absl::Status& why);
  // The same, once no call is pending: no further call will arrive.
  void CancelWhenIdle(const absl::Status& why);

  // Feeds values, which take `fed_bytes` of the session's quota until the step
  // ends, and fetches values; `done` is taken and called. If a call ends early,
  // times out, or fetches a value that does not exist, the step ends; its error
  // is then that of all calls. INVALID_ARGUMENT, without any change and without
  // taking `done`, for a feed or fetch that does not exist, was used already,
  // or has another type. `number`: the call's own (StepCounter::Skip), which
  // determines its age.
  absl::Status Run(const protocol::CallableRun& run, int64_t fed_bytes,
                   absl::Time deadline, uint64_t number, Scheduler& scheduler,
                   protocol::Master::Done& done);

  // Returns the number of the oldest pending call. If there is none, the run
  // waits for its client.
  std::optional<uint64_t> OldestCall() const;

 private:
  struct Call;
  using CallPtr = std::shared_ptr<Call>;

  // Records the feeds and fetches of the call, and that it is pending; returns
  // whether it is the last one.
  absl::StatusOr<bool> Take(const protocol::CallableRun& run, int64_t fed_bytes,
                            uint64_t number);
  absl::Status Check(const protocol::CallableRun& run) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Limit(const CallPtr& call, absl::Time deadline, absl::Duration timeout);
  void Fetch(const CallPtr& call, int fetch, Tensor& to);
  void PartDone(const CallPtr& call, const absl::Status& status);
  void WaitForEnd(const CallPtr& call);
  void EndCall(const CallPtr& call, absl::Status status);
  // Ends a call because the step has ended, with the step's status, which may
  // be OK.
  void EndWithStep(const CallPtr& call, const absl::Status& ended);

  const std::vector<DataType> feed_types_;
  const std::shared_ptr<Rendezvous> client_ =
      std::make_shared<LocalRendezvous>();
  mutable absl::Mutex mutex_;
  std::vector<bool> fed_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> fetched_ ABSL_GUARDED_BY(mutex_);
  int64_t fed_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const void> keeps_open_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Cancellation> step_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mutex_);
  std::vector<CallPtr> waiting_ ABSL_GUARDED_BY(mutex_);  // for the step's end
  absl::btree_set<uint64_t> under_way_ ABSL_GUARDED_BY(mutex_);  // by number
  absl::Status cancel_when_idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_PARTIAL_RUN_H_
