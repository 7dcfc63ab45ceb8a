// FinishedJobs records which jobs have finished, and which tasks must be
// notified of that.
//
// A job finishes when all its tasks have left. If the coordinator outlives
// training runs (job "coordinator"), a job finishes once in each run: when
// every task has left as a different process than at the job's last finish.
//
// A process that leaves cleanly ends with one finish of a job. That is the
// first finish of which it must be notified, even if the job has finished again
// before the notification. If the process leaves before the job finishes, it is
// the next finish. The task's next process belongs to a later training run: it
// is not notified of that finish, but of all later ones. The next process of a
// lost task is notified of that finish, too, and so is a process that joins
// before the finish.
//
// A value, not synchronized.
#ifndef WEFT_LIBS_COORDINATOR_FINISHED_JOBS_H_
#define WEFT_LIBS_COORDINATOR_FINISHED_JOBS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libs/cluster/membership.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft {

class FinishedJobs {
 public:
  // Must be called when a task has joined or left. Returns whether the set of
  // finished jobs has changed.
  bool Update(const Membership& members);

  // Records that a new process of the task has joined.
  void OnTaskJoined(const std::string& task);
  // Records that the same process of the task has joined again. It may have
  // missed replies, so it is notified again of the finishes that it must know.
  void OnTaskRejoined(const std::string& task);
  // Records that the process of the task has left cleanly.
  void TaskLeft(const std::string& task);
  // Records that an earlier coordinator has told the task that these processes
  // have left. So the task already knows the finishes of their jobs. REQUIRES:
  // the task's process is new to this coordinator, and Update was called after
  // the processes left.
  void NoteTaskNotified(const std::string& task,
                        const std::vector<protocol::LeftTask>& left);

  // Returns the finished jobs for the reply to the task's next heartbeat. Jobs
  // that have started again since are included if the task was not notified of
  // their finish.
  std::vector<std::string> FinishedJobsFor(const std::string& task);

 private:
  struct Finishes {
    int64_t number = 0;
    // The process of each task of the job at the last finish.
    std::map<std::string, uint64_t> incarnations;
  };
  // Heard tells, for the process of one task, which finishes of each job
  // matter; finishes of a job are numbered from 1.
  struct Heard {
    // For each job, the last finish that was counted before the process joined.
    std::map<std::string, int64_t> at_join;
    // For each job, the first finish of which the process must be notified. Set
    // when the process is notified of a finish, after its last join, or ends
    // with one.
    std::map<std::string, int64_t> first;
    // For each job, the finish with which an earlier process of the task ended.
    std::map<std::string, int64_t> before;
    bool IsNew(const std::string& job, int64_t number) const;
    // Returns first[job], and sets it if it is unknown. REQUIRES: the job has
    // finished since the process joined, or its next finish is being counted.
    int64_t FirstOf(const std::string& job);
    void EndWithFirst(const std::string& job);
  };
  void CountFinish(const std::string& job, const Membership& members);

  std::vector<std::string> finished_;  // sorted
  std::map<std::string, Finishes> finishes_;
  std::map<std::string, Heard> heard_;  // by task
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_FINISHED_JOBS_H_
