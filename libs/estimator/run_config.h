// RunConfig configures the run of an Estimator: model directory, save
// intervals, and the task of this program in a cluster; TensorFlow's
// tf.estimator.RunConfig.
//
// In a cluster without a job "chief" (or "master"), which TensorFlow rejects,
// worker 0 is the chief, as in tf.contrib.learn.
//
//   ASSIGN_OR_RETURN(auto config, RunConfig::FromEnvironment(
//       {.model_dir = "/job/model", .save_checkpoints_steps = 1000}));
//
// It declares no flags, because a library would add them to each program that
// links it. A program declares its own flags and fills in the struct, as
// examples/adult_income does.
//
// A value type, not thread-safe.
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
  // Empty: the Estimator's own, or no files.
  std::string model_dir;
  std::optional<int64_t> tf_random_seed;  // none: random
  int64_t save_summary_steps = 100;       // 0: no summaries
  // Interval between checkpoints in steps, or in seconds; 0: none. Neither: 600
  // seconds; both are INVALID_ARGUMENT.
  std::optional<int64_t> save_checkpoints_steps;
  std::optional<double> save_checkpoints_secs;
  int keep_checkpoint_max = 5;  // 0: all
  double keep_checkpoint_every_n_hours = 10000;
  int64_t log_step_count_steps = 100;  // 0: never
  // How long a worker waits for the chief.
  double session_creation_timeout_secs = 7200;
  // A worker starts this many seconds after the chief, or after 5 seconds times
  // its position if that is less. None: as soon as variables have values.
  std::optional<double> experimental_max_worker_delay_secs;
  // Options of sessions. If device_filters is empty, filters are used that let
  // tasks train without waiting for each other.
  SessionOptions session_config = {.allow_soft_placement = true};

  // Set from TF_CONFIG; without it, a single program.
  ClusterSpec cluster_spec;
  std::string task_type = "worker";
  int task_id = 0;
  std::string master;             // target of training and prediction
  std::string evaluation_master;  // target of evaluation
  bool is_chief = true;
  int num_ps_replicas = 0;
  int num_worker_replicas = 1;  // workers including the chief

  // Returns `base` updated from the text of a TF_CONFIG. A cluster must have at
  // most one chief or master, and a worker if it has none. INVALID_ARGUMENT for
  // invalid values; also if model_dir is set in both and differs.
  static absl::StatusOr<RunConfig> FromTfConfig(absl::string_view tf_config,
                                                RunConfig base);
  // As FromTfConfig with the environment variable; returns `base` if it is not
  // set.
  static absl::StatusOr<RunConfig> FromEnvironment(RunConfig base);

  // Whether this is one of several tasks, which train beside their own servers.
  // False for a single program, even if its sessions use a remote server
  // (`master`).
  bool IsInCluster() const { return !cluster_spec.empty() && !master.empty(); }
  // "/job:TYPE/task:ID"
  std::string TaskDevice() const;
  // Part of the training data for this task: the chief's is the first, then
  // those of the workers. {1, 0} for a task that does not train.
  struct Shard {
    int num_shards = 1;
    int index = 0;
  };
  Shard InputShard() const;
  // Delay between the start of the chief and the start of the worker with that
  // task_id, from experimental_max_worker_delay_secs; zero if that is unset.
  absl::Duration DelayOfWorker(int worker) const;
  // Delay of the last worker; zero without workers.
  absl::Duration LongestDelayOfWorkers() const;
  // session_config with device filters.
  SessionOptions TrainingSession() const;
  // INVALID_ARGUMENT for invalid numbers.
  absl::Status Check() const;
};

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_RUN_CONFIG_H_
