// TfConfig is the content of the environment variable TF_CONFIG: the cluster,
// and the task of the cluster that this program is. Launchers set the variable,
// so that all tasks can be started with the same command line.
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
  std::string job_name;  // the key "type" of "task"
  int task_index = 0;    // 0 if the text has no index

  // Parses the text. Returns INVALID_ARGUMENT with the defect or the missing
  // key. It is also an error if the cluster does not have the task, except for
  // an evaluator, which TensorFlow keeps outside of the cluster.
  static absl::StatusOr<TfConfig> Parse(absl::string_view text);
  // Returns the content of the variable; nullopt if it is unset or empty.
  static absl::StatusOr<std::optional<TfConfig>> FromEnvironment();

  // Returns whether the program trains: its job is "worker", "chief", or
  // "master", which is an older name for "chief".
  bool IsTrainer() const;
  // num_trainers returns the number of training tasks. trainer_index returns
  // the index of this task among them; the chief is first. trainer_index
  // REQUIRES IsTrainer().
  int num_trainers() const;
  int trainer_index() const;
  // Returns whether the task is the chief, which initializes variables and
  // saves checkpoints. The chief is the task of job "chief" or "master"; worker
  // 0 if there is no such job.
  bool IsChief() const { return IsTrainer() && trainer_index() == 0; }
};

}  // namespace weft

#endif  // WEFT_LIBS_CLUSTER_TF_CONFIG_H_
