// TfConfig: what the environment variable TF_CONFIG tells a program: the
// cluster, and which task of it the program is. Launchers set it, so that one
// command line serves every task.
//
//   TF_CONFIG='{"cluster": {"ps": ["a:2222"], "worker": ["b:2222", "c:2222"]},
//               "task": {"type": "worker", "index": 1}}'
//
// Format: JSON as TensorFlow's RunConfig reads it (tf.estimator.RunConfig);
// other keys ("environment", "model_dir") are left to who knows them. A value,
// not synchronised.
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
  int task_index = 0;    // 0 where the text has none

  // INVALID_ARGUMENT says what is wrong or missing; also when the cluster does
  // not have the task, unless that is an evaluator, which TensorFlow keeps
  // beside the cluster.
  static absl::StatusOr<TfConfig> Parse(absl::string_view text);
  // Null where the variable is not set or empty.
  static absl::StatusOr<std::optional<TfConfig>> FromEnvironment();

  // The program trains: its job is "worker", or "chief" or its older name
  // "master".
  bool IsTrainer() const;
  // Of the tasks that train, chief first: how many there are, and which of them
  // this is. REQUIRES for the index: IsTrainer().
  int num_trainers() const;
  int trainer_index() const;
  // The one that initialises and saves: the task of job "chief" or "master", or
  // worker 0 where there is no such job.
  bool IsChief() const { return IsTrainer() && trainer_index() == 0; }
};

}  // namespace weft

#endif  // WEFT_LIBS_CLUSTER_TF_CONFIG_H_
