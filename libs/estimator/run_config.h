// RunConfig: how an Estimator runs: where its model lies, how often it saves,
// and which task of which cluster this program is; TensorFlow's
// tf.estimator.RunConfig.
//
// In a cluster without a job "chief" (or "master"), which TensorFlow's refuses,
// worker 0 is the chief, as in tf.contrib.learn.
//
//   ASSIGN_OR_RETURN(auto config, RunConfig::FromEnvironment(
//       {.model_dir = "/job/model", .save_checkpoints_steps = 1000}));
//
// It declares no flags: a library that did would give them to each program that
// links it. A program declares those that it wants, and fills in the struct, as
// examples/adult_income does.
//
// A value, not synchronised.
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
  // Empty: the Estimator's own, or no files at all.
  std::string model_dir;
  std::optional<int64_t> tf_random_seed;  // none: another one each time
  int64_t save_summary_steps = 100;       // 0: no summaries
  // A checkpoint each so many steps, or seconds; 0: none. Neither: 600 seconds;
  // both are INVALID_ARGUMENT.
  std::optional<int64_t> save_checkpoints_steps;
  std::optional<double> save_checkpoints_secs;
  int keep_checkpoint_max = 5;  // 0: all
  double keep_checkpoint_every_n_hours = 10000;
  int64_t log_step_count_steps = 100;  // 0: never
  // How long a worker waits for the chief.
  double session_creation_timeout_secs = 7200;
  // A worker begins so many seconds after the chief, or after 5 for each worker
  // up to it, if that is less. None: as soon as variables have values.
  std::optional<double> experimental_max_worker_delay_secs;
  // Of sessions. Its device_filters, where it has none, are those that let
  // tasks train without waiting for each other.
  SessionOptions session_config = {.allow_soft_placement = true};

  // What TF_CONFIG tells; without it, a program alone.
  ClusterSpec cluster_spec;
  std::string task_type = "worker";
  int task_id = 0;
  std::string master;             // the target of training and prediction
  std::string evaluation_master;  // of evaluation
  bool is_chief = true;
  int num_ps_replicas = 0;
  int num_worker_replicas = 1;  // workers and the chief

  // `base` with what the text of a TF_CONFIG says. A cluster has no more than
  // one chief or master, and a worker where it has none. INVALID_ARGUMENT for
  // what cannot be; also where model_dir is in both and differs.
  static absl::StatusOr<RunConfig> FromTfConfig(absl::string_view tf_config,
                                                RunConfig base);
  // The same by the environment variable; `base` where it is not set.
  static absl::StatusOr<RunConfig> FromEnvironment(RunConfig base);

  // Whether this is one of several tasks, which train beside servers of their
  // own. A program alone is none, though its sessions may be on a server
  // elsewhere (`master`).
  bool IsInCluster() const { return !cluster_spec.empty() && !master.empty(); }
  // "/job:TYPE/task:ID"
  std::string TaskDevice() const;
  // Which part of the training data is this task's, so that all have their own:
  // the chief's is the first, then those of the workers. {1, 0} of a task that
  // does not train.
  struct Shard {
    int num_shards = 1;
    int index = 0;
  };
  Shard InputShard() const;
  // How long after the chief the worker with that task_id begins, as
  // experimental_max_worker_delay_secs says; none without that.
  absl::Duration DelayOfWorker(int worker) const;
  // That of the last worker; none without workers.
  absl::Duration LongestDelayOfWorkers() const;
  // session_config with its filters.
  SessionOptions TrainingSession() const;
  // INVALID_ARGUMENT for numbers that cannot be.
  absl::Status Check() const;
};

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_RUN_CONFIG_H_
