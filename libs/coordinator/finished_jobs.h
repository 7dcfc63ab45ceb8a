// FinishedJobs records which jobs have finished, and which tasks must be
// notified of it.
//
// A job has finished when all its tasks have left. If the coordinator outlives
// training runs (job "coordinator"), a job finishes once in each run: when
// every task has left as another process than at the job's last finish.
//
// A process that leaves cleanly ends with one finish: the first one that
// concerns it, even if the job has finished again before the process was
// notified, or else the next one. The task's next process belongs to a later
// training run and is not notified of that finish, but of all later ones. The
// next process of a lost task is notified, and so is a process that joins
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

  // A new process of the task has joined.
  void OnTaskJoined(const std::string& task);
  // The process of the task has joined again. It may have missed replies, so it
  // is notified again of the finishes that concern it.
  void OnTaskRejoined(const std::string& task);
  // The process of the task has left cleanly.
  void TaskLeft(const std::string& task);
  // An earlier coordinator has notified the task that these processes have
  // left, and so of the finishes of their jobs that concern the task.
  // REQUIRES: the process is new to this coordinator, and Update was called
  // since they left.
  void NoteTaskNotified(const std::string& task,
                        const std::vector<protocol::LeftTask>& left);

  // Returns the jobs for the reply to the task's next heartbeat: finished jobs,
  // including those that have started again since, if the task was not notified
  // of their finish.
  std::vector<std::string> FinishedJobsFor(const std::string& task);

 private:
  struct Finishes {
    int64_t number = 0;
    // The processes of the tasks at the last finish, by task.
    std::map<std::string, uint64_t> incarnations;
  };
  // Heard contains numbers of finishes by job, for the process of one task.
  struct Heard {
    // The last finish that was counted before the process joined.
    std::map<std::string, int64_t> at_join;
    // The first finish that concerns the process, once it was notified of one
    // since it last joined, or has ended with one.
    std::map<std::string, int64_t> first;
    // The finish with which an earlier process of the task ended.
    std::map<std::string, int64_t> before;
    bool IsNew(const std::string& job, int64_t number) const;
    // Sets `first`, if it is unknown.
    // REQUIRES: there was a new finish, or the next one is counted now.
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
