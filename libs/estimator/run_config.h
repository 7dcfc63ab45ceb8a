// RunConfig configures the run of an Estimator: model directory, save
// intervals, and the task of this program in a cluster. It corresponds to
// TensorFlow's tf.estimator.RunConfig.
//
// In a cluster without a job "chief" (or "master"), which TensorFlow rejects,
// worker 0 is the chief, as in tf.contrib.learn.
//
//   ASSIGN_OR_RETURN(auto config, RunConfig::FromEnvironment(
//       {.model_dir = "/job/model", .save_checkpoints_steps = 1000}));
//
// RunConfig declares no flags, because flags of a library would be added to
// each program that links the library. A program declares its own flags and
// fills in the struct, as examples/adult_income does.
//
// RunConfig is a value type, and not thread-safe.
#ifndef WEFT_LIBS_ESTIMATOR_RUN_CONFIG_H_
#define WEFT_LIBS_ESTIMATOR_RUN_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/session/session.h"

namespace weft::estimator {

struct RunConfig {
  // Empty: the model_dir of EstimatorOptions is used.
  std::string model_dir;
  std::optional<int64_t> tf_random_seed;  // null: a random seed
  int64_t save_summary_steps = 100;       // 0: no summaries
  // Interval between checkpoints in steps, or in seconds; 0: no checkpoints. If
  // neither is set, the interval is 600 seconds. Setting both is
  // INVALID_ARGUMENT.
  std::optional<int64_t> save_checkpoints_steps;
  std::optional<double> save_checkpoints_secs;
  int keep_checkpoint_max = 5;  // 0: keep all
  double keep_checkpoint_every_n_hours = 10000;
  int64_t log_step_count_steps = 100;  // 0: never log
  // How long a worker waits for the chief.
  double session_creation_timeout_secs = 7200;
  // A worker starts this many seconds after the chief, but at most 5 seconds
  // times its position later. Null: it starts as soon as variables have values.
  std::optional<double> experimental_max_worker_delay_secs;
  // Options of sessions. If device_filters is empty, TrainingSession() sets
  // filters that let tasks train without waiting for each other.
  SessionOptions session_config = {.allow_soft_placement = true};

  // The cluster and this task, set from TF_CONFIG. The defaults describe a
  // single program without a cluster.
  ClusterSpec cluster_spec;
  std::string task_type = "worker";
  int task_id = 0;
  std::string master;             // target of training and prediction sessions
  std::string evaluation_master;  // target of evaluation sessions
  bool is_chief = true;
  int num_ps_replicas = 0;
  int num_worker_replicas = 1;  // workers including the chief

  // Returns `base` updated from the text of a TF_CONFIG. A cluster must have at
  // most one chief or master; without either it must have a worker.
  // INVALID_ARGUMENT for invalid values, or if model_dir is set in both `base`
  // and TF_CONFIG and differs.
  static absl::StatusOr<RunConfig> FromTfConfig(absl::string_view tf_config,
                                                RunConfig base);
  // Returns FromTfConfig of the environment variable TF_CONFIG, or `base` if
  // the variable is not set.
  static absl::StatusOr<RunConfig> FromEnvironment(RunConfig base);

  // Returns whether this is one of several tasks, each of which trains and runs
  // its own server. False for a single program, even if its sessions use a
  // remote server (`master`).
  bool IsInCluster() const { return !cluster_spec.empty() && !master.empty(); }
  // Returns "/job:TYPE/task:ID" of this task.
  std::string TaskDevice() const;
  // Shard is the part of the training data that a task reads. The chief has the
  // first part, and the workers the next. A task that does not train has {1,
  // 0}.
  struct Shard {
    int num_shards = 1;
    int index = 0;
  };
  Shard InputShard() const;
  // Returns the delay between the start of the chief and the start of worker
  // `worker`, from experimental_max_worker_delay_secs; zero if that is not set.
  absl::Duration DelayOfWorker(int worker) const;
  // Returns the delay of the last worker; zero if there are no workers.
  absl::Duration LongestDelayOfWorkers() const;
  // Returns session_config with device filters.
  SessionOptions TrainingSession() const;
  // Returns INVALID_ARGUMENT for numbers out of their range.
  absl::Status Check() const;
};

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_RUN_CONFIG_H_
