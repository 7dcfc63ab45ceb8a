// WriterHold pauses the steps that write a step's variables, in all sessions of
// all masters of the cluster, so that no write is incomplete while the step
// runs. protocol::StepHold describes the protocol.
//
// Every wait has a deadline, and ends with its call. A task that cannot be
// notified of the end relies on its lease.
//
// Threads: none waits; Begin, then Abandon or End, once each; callbacks run on
// any thread.
#ifndef WEFT_LIBS_MASTER_WRITER_HOLD_H_
#define WEFT_LIBS_MASTER_WRITER_HOLD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/master/call_group.h"
#include "libs/master/open_calls.h"
#include "libs/protocol/worker/worker.h"

namespace weft {

struct WriterHoldOptions {
  // All must outlive the call.
  Scheduler* scheduler = nullptr;
  protocol::WorkerDirectory* directory = nullptr;
  Logger* logger = nullptr;  // may be null
  absl::Duration log_waits_after = absl::InfiniteDuration();
  OpenCalls::CallPtr call;
  // The step, and its registrations on the tasks that have a part.
  protocol::WorkerSession session;
  uint64_t registration = 0;
  uint64_t step = 0;
  struct Part {
    std::string task;
    protocol::Worker* worker = nullptr;
  };
  std::vector<Part> parts;
  // How long running steps may take to end.
  absl::Duration max_wait;
};

class WriterHold : public std::enable_shared_from_this<WriterHold> {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  explicit WriterHold(WriterHoldOptions options);

  // OK: no writing step runs, and none begins. Otherwise the error:
  // DEADLINE_EXCEEDED names a step that has not ended.
  void Begin(Done begun);
  // Stops watching the client's cancellation.
  void ReleaseClient() { options_.call->ReleaseClient(); }
  // After Begin failed: notifies every task that may have been reached.
  void Abandon();
  // After Begin succeeded. OK: it has held all the time.
  void End(Done ended);

 private:
  using Action = protocol::StepHold::Action;
  using Writers = std::vector<protocol::VariableWriter>;

  protocol::StepHold Request(Action action) const;
  absl::Time Deadline() const;
  CallGroup::Log Log(const std::string& what) const;
  // The writers named by the tasks, by task, each once. A separate object, so
  // that a task that never answers keeps nothing else alive.
  class Named {
   public:
    void Add(const Writers& writers) ABSL_LOCKS_EXCLUDED(mutex_);
    std::map<std::string, Writers> ByTask() const ABSL_LOCKS_EXCLUDED(mutex_);

   private:
    // Incarnation and number of the session, and registration.
    using Key = std::tuple<uint64_t, uint64_t, uint64_t>;
    mutable absl::Mutex mutex_;
    std::map<std::string, std::map<Key, protocol::VariableWriter>> writers_
        ABSL_GUARDED_BY(mutex_);
  };

  void HoldMasters(Done begun);
  void HoldMaster(protocol::Worker& worker, const Writers& writers, Done done);
  void Release(CallGroup& group);

  const WriterHoldOptions options_;
  const std::shared_ptr<Named> named_ = std::make_shared<Named>();
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_WRITER_HOLD_H_
