// ClusterSpec lists the jobs of a cluster, their tasks, and the address of each
// task. It corresponds to TensorFlow's tf.train.ClusterSpec. It is a value, and
// not synchronized.
#ifndef WEFT_LIBS_CLUSTER_CLUSTER_SPEC_H_
#define WEFT_LIBS_CLUSTER_CLUSTER_SPEC_H_

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

class ClusterSpec {
 public:
  using Tasks = std::map<int, std::string>;  // index -> "host:port"

  ClusterSpec() = default;
  // Example: {{"ps", {"a:2222"}}, {"worker", {"b:2222", "c:2222"}}}
  ClusterSpec(
      std::initializer_list<std::pair<std::string, std::vector<std::string>>>
          jobs);

  // Parses one of these forms:
  //   {"ps": ["a:2222"], "worker": {"1": "c:2222"}}        as in TF_CONFIG
  //   ps|a:2222,worker|b:2222;c:2222      as for TensorFlow's grpc server
  //   job { name: "ps" tasks { key: 0 value: "a:2222" } }     a ClusterDef
  // A job may leave out task indices; the first example has no worker 0.
  // Returns INVALID_ARGUMENT with the defect and its position.
  static absl::StatusOr<ClusterSpec> Parse(absl::string_view text);

  // Adds a task. Returns INVALID_ARGUMENT for an invalid job name
  // ([a-z][a-z0-9_]* with capitals allowed), a negative index, an empty
  // address, or a task that already has another address.
  absl::Status AddTask(const std::string& job, int index,
                       const std::string& address);

  const std::map<std::string, Tasks>& jobs() const { return jobs_; }
  bool empty() const { return jobs_.empty(); }
  // Returns the number of tasks of the job; 0 for an unknown job.
  int num_tasks(const std::string& job) const;
  // Returns the address of the task. If the job or task does not exist, returns
  // INVALID_ARGUMENT with its name and the names of the existing ones.
  absl::StatusOr<std::string> TaskAddress(const std::string& job,
                                          int index) const;

  // Returns the spec as JSON; equal specs give the same text.
  std::string ToString() const;

  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;

 private:
  std::map<std::string, Tasks> jobs_;
};

// Returns "/job:ps/replica:0/task:0", the canonical name of a task in Weft.
std::string TaskName(absl::string_view job, int index);

// Returns whether tasks of the job have devices for sessions; false for
// coordinators and checkpoint writers.
bool HasDevices(absl::string_view job);

// Returns FAILED_PRECONDITION if a task has different addresses in the two
// specs, or if an address belongs to different tasks. The error names both, and
// the tasks `a_is_of` and `b_is_of` from which the specs come. A job or task
// that is missing in one spec is not a contradiction.
absl::Status CheckSpecsAgree(const ClusterSpec& a, absl::string_view a_is_of,
                             const ClusterSpec& b, absl::string_view b_is_of);

}  // namespace weft

#endif  // WEFT_LIBS_CLUSTER_CLUSTER_SPEC_H_
