// TfConfig is the content of the environment variable TF_CONFIG: the cluster,
// and which task of it the program is. Launchers set it, so that one command
// line serves every task.
//
//   TF_CONFIG='{"cluster": {"ps": ["a:2222"], "worker": ["b:2222", "c:2222"]},
//               "task": {"type": "worker", "index": 1}}'
//
// Format: JSON as read by TensorFlow's RunConfig (tf.estimator.RunConfig);
// other keys ("environment", "model_dir") are ignored. A value, not
// synchronized.
#ifndef WEFT_LIBS_CLUSTER_TF_CONFIG_H_
#define WEFT_LIBS_CLUSTER_TF_CONFIG_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/cluster/cluster_spec.h"

namespace weft {

struct TfConfig {
  ClusterSpec cluster;
  std::string job_name;  // "type"
  int task_index = 0;    // 0 if the text has none

  // An INVALID_ARGUMENT error names the defect or the missing key; also if the
  // cluster does not have the task, unless that is an evaluator, which
  // TensorFlow keeps outside of the cluster.
  static absl::StatusOr<TfConfig> Parse(absl::string_view text);
  // Null if the variable is unset or empty.
  static absl::StatusOr<std::optional<TfConfig>> FromEnvironment();

  // Whether the program trains: its job is "worker", or "chief" or its older
  // name "master".
  bool IsTrainer() const;
  // The number of training tasks, and the index of this one among them, chief
  // first. The index REQUIRES: IsTrainer().
  int num_trainers() const;
  int trainer_index() const;
  // The task that initializes and saves: the task of job "chief" or "master",
  // or worker 0 if there is no such job.
  bool IsChief() const { return IsTrainer() && trainer_index() == 0; }
};

}  // namespace weft

#endif  // WEFT_LIBS_CLUSTER_TF_CONFIG_H_
