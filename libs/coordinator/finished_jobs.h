// FinishedJobs: which jobs have finished, and which tasks are to hear of it.
//
// A job has finished when all its tasks have left. Where the coordinator
// outlives trainings (job "coordinator") it finishes once in each: when every
// task has left as another process than at its last finish.
//
// A process that leaves cleanly ends with one finish: the first that it has
// heard of, or else the last one that was counted before it left, or else the
// next one. The task's next process belongs to a later training and does not
// hear of that finish. The next process of a task that was lost does, and so
// does one that joins before the finish.
//
// A value, not synchronised.
#ifndef WEFT_LIBS_COORDINATOR_FINISHED_JOBS_H_
#define WEFT_LIBS_COORDINATOR_FINISHED_JOBS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libs/cluster/membership.h"
#include "libs/protocol/coordinator.h"

namespace weft {

class FinishedJobs {
 public:
  // To be called when a task has joined or left. Returns whether other jobs
  // than before have finished.
  bool Update(const Membership& members);

  // A process has become the task.
  void TaskCame(const std::string& task);
  // It has left, cleanly.
  void TaskLeft(const std::string& task);
  // An earlier coordinator has told the task that these processes have left,
  // and with that of the finishes of their jobs that concern the task.
  // REQUIRES: Update was called since they left.
  void TaskKnows(const std::string& task,
                 const std::vector<protocol::LeftTask>& left);

  // What the next heartbeat of the task is answered: jobs that have finished,
  // and those that have started again since but whose finish it has not heard
  // of.
  std::vector<std::string> NewsFor(const std::string& task);

 private:
  struct Finishes {
    int64_t number = 0;
    // Which processes the tasks were at the last one.
    std::map<std::string, uint64_t> incarnations;
  };
  // By job: numbers of finishes.
  struct Heard {
    // That the process has heard of, or has ended with.
    std::map<std::string, int64_t> first;
    std::map<std::string, int64_t> before;  // that an earlier one ended with
    bool IsNew(const std::string& job, int64_t number) const;
    void EndWith(const std::string& job, int64_t number);
  };
  void CountFinish(const std::string& job, const Membership& members);

  std::vector<std::string> finished_;  // sorted
  std::map<std::string, Finishes> finishes_;
  std::map<std::string, Heard> heard_;  // by task
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_FINISHED_JOBS_H_
