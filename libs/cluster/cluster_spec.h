// ClusterSpec lists the jobs of a cluster, their tasks, and the address of
// each. It corresponds to TensorFlow's tf.train.ClusterSpec. A value, not
// synchronized.
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
  // {{"ps", {"a:2222"}}, {"worker", {"b:2222", "c:2222"}}}
  ClusterSpec(
      std::initializer_list<std::pair<std::string, std::vector<std::string>>>
          jobs);

  // Parses one of
  //   {"ps": ["a:2222"], "worker": {"1": "c:2222"}}        as in TF_CONFIG
  //   ps|a:2222,worker|b:2222;c:2222      as for TensorFlow's grpc server
  //   job { name: "ps" tasks { key: 0 value: "a:2222" } }     a ClusterDef
  // A job may leave out task indices (as worker 0 above). An INVALID_ARGUMENT
  // error names the defect and its position.
  static absl::StatusOr<ClusterSpec> Parse(absl::string_view text);

  // INVALID_ARGUMENT for an invalid job name ([a-z][a-z0-9_]* with capitals
  // allowed), a negative index, an empty address, or an existing task with
  // another address.
  absl::Status AddTask(const std::string& job, int index,
                       const std::string& address);

  const std::map<std::string, Tasks>& jobs() const { return jobs_; }
  bool empty() const { return jobs_.empty(); }
  // Returns 0 for an unknown job.
  int num_tasks(const std::string& job) const;
  // INVALID_ARGUMENT names the missing job or task, and the existing ones.
  absl::StatusOr<std::string> TaskAddress(const std::string& job,
                                          int index) const;

  // Returns JSON; the same for equal specs.
  std::string ToString() const;

  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;

 private:
  std::map<std::string, Tasks> jobs_;
};

// Returns "/job:ps/replica:0/task:0", the canonical name of a task in Weft.
std::string TaskName(absl::string_view job, int index);

// Returns false for coordinators and checkpoint writers: no session uses
// devices of theirs.
bool HasDevices(absl::string_view job);

// Returns FAILED_PRECONDITION if a task has different addresses in the two
// specs, or an address belongs to different tasks; names both, and the tasks
// that the specs come from. A job or task that is missing in one of them is not
// a contradiction.
absl::Status CheckSpecsAgree(const ClusterSpec& a, absl::string_view a_is_of,
                             const ClusterSpec& b, absl::string_view b_is_of);

}  // namespace weft

#endif  // WEFT_LIBS_CLUSTER_CLUSTER_SPEC_H_
