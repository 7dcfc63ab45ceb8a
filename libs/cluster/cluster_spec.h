// ClusterSpec: the jobs of a cluster, their tasks, and where each listens.
// TensorFlow's tf.train.ClusterSpec. A value, not synchronised.
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

  // One of
  //   {"ps": ["a:2222"], "worker": {"1": "c:2222"}}        as in TF_CONFIG
  //   ps|a:2222,worker|b:2222;c:2222      as for TensorFlow's grpc server
  //   job { name: "ps" tasks { key: 0 value: "a:2222" } }     a ClusterDef
  // A job may leave out task indices (as worker 0 above).
  // INVALID_ARGUMENT says what is wrong and where.
  static absl::StatusOr<ClusterSpec> Parse(absl::string_view text);

  // INVALID_ARGUMENT for a job name that is none ([a-z][a-z0-9_]* with capitals
  // allowed), a negative index, an empty address, or a task that is there
  // already with another address.
  absl::Status AddTask(const std::string& job, int index,
                       const std::string& address);

  const std::map<std::string, Tasks>& jobs() const { return jobs_; }
  bool empty() const { return jobs_.empty(); }
  // 0 for an unknown job.
  int num_tasks(const std::string& job) const;
  // INVALID_ARGUMENT names the job or task that is not there, and those that
  // are.
  absl::StatusOr<std::string> TaskAddress(const std::string& job,
                                          int index) const;

  // JSON; the same for equal specs.
  std::string ToString() const;

  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;

 private:
  std::map<std::string, Tasks> jobs_;
};

// "/job:ps/replica:0/task:0": what tasks are called everywhere in Weft.
std::string TaskName(absl::string_view job, int index);

// Of coordinators and checkpoint writers false: no session asks them for any.
bool HasDevices(absl::string_view job);

// FAILED_PRECONDITION when a task has one address in the one spec and another
// in the other, or an address is one task in the one and another in the other;
// tells both, and which tasks the specs come from. A job or task that one of
// them leaves out is no contradiction.
absl::Status CheckSpecsAgree(const ClusterSpec& a, absl::string_view a_is_of,
                             const ClusterSpec& b, absl::string_view b_is_of);

}  // namespace weft

#endif  // WEFT_LIBS_CLUSTER_CLUSTER_SPEC_H_
