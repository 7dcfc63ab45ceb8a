#include "libs/estimator/run_config.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "libs/base/json_error.h"
#include "libs/base/status.h"
#include "nlohmann/json.hpp"

namespace weft::estimator {
namespace {

using Json = nlohmann::json;

// TensorFlow delays the start of a worker by this number of seconds times its
// index.
constexpr double kDelayOfOneWorker = 5;

constexpr int64_t kMaxTasks = int64_t{1} << 30;  // per job

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("TF_CONFIG ", what,
                   ". It is JSON like {\"cluster\": {\"chief\": "
                   "[\"host:port\"], \"worker\": "
                   "[...], \"ps\": [...]}, \"task\": {\"type\": \"worker\", "
                   "\"index\": 0}}."));
}

absl::StatusOr<std::string> Text(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end()) return std::string();
  if (it->is_string()) return it->get<std::string>();
  return Wrong(absl::StrCat("has a \"", key, "\" that is not a string"));
}

absl::StatusOr<int> Index(const Json& task) {
  const auto it = task.find("index");
  if (it == task.end()) return Wrong("has no \"index\" of the task");
  int64_t index = -1;
  if (it->is_number_unsigned()) {
    index = static_cast<int64_t>(
        std::min(it->get<uint64_t>(), static_cast<uint64_t>(kMaxTasks)));
  }
  if (it->is_string() && !absl::SimpleAtoi(it->get<std::string>(), &index)) {
    index = -1;
  }
  if (index >= 0 && index < kMaxTasks) return static_cast<int>(index);
  return Wrong(absl::StrCat("has the task index ", it->dump(),
                            ", which must be a number of 0 or more, below ",
                            kMaxTasks));
}

int NumTasks(const RunConfig& config, absl::string_view job) {
  return config.cluster_spec.num_tasks(std::string(job));
}

absl::Status TakeModelDir(const Json& json, RunConfig& config) {
  ASSIGN_OR_RETURN(std::string given, Text(json, "model_dir"));
  if (given.empty()) return absl::OkStatus();
  if (!config.model_dir.empty() && config.model_dir != given) {
    return absl::InvalidArgumentError(
        absl::StrCat("`model_dir` provided in RunConfig (", config.model_dir,
                     ") must have the same value as that in TF_CONFIG (", given,
                     "); leave one out."));
  }
  config.model_dir = std::move(given);
  return absl::OkStatus();
}

// Checks the task in a TF_CONFIG without a cluster.
absl::Status CheckAlone(const Json& task) {
  ASSIGN_OR_RETURN(const std::string type, Text(task, "type"));
  if (!type.empty() && type != "worker") {
    return Wrong(
        absl::StrCat("has no \"cluster\", where the task must be a "
                     "\"worker\", but it is a \"",
                     type, "\""));
  }
  if (!task.contains("index")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int index, Index(task));
  return index == 0 ? absl::OkStatus()
                    : Wrong("has no \"cluster\", where the index must be 0");
}

// Configures an evaluator, which sees checkpoints but not the cluster.
absl::Status TakeEvaluator(RunConfig& config) {
  if (NumTasks(config, "master") > 0) {
    return Wrong(
        "has a \"master\", which evaluates by itself, beside a task "
        "\"evaluator\"; call it \"chief\"");
  }
  config.cluster_spec = ClusterSpec();
  config.is_chief = false;
  config.num_ps_replicas = 0;
  config.num_worker_replicas = 0;
  return absl::OkStatus();
}

absl::Status CheckChief(const RunConfig& config) {
  const int chiefs = NumTasks(config, "chief");
  const int masters = NumTasks(config, "master");
  if (chiefs > 0 && masters > 0) {
    return Wrong(
        "has both jobs \"chief\" and \"master\"; use only one of them");
  }
  if (chiefs + masters == 1) return absl::OkStatus();
  if (chiefs + masters == 0 && NumTasks(config, "worker") > 0) {
    return absl::OkStatus();
  }
  return Wrong("must have exactly one task of job \"chief\" in its cluster");
}

bool HasChief(const RunConfig& config) {
  return NumTasks(config, "chief") + NumTasks(config, "master") > 0;
}

absl::Status TakeTask(const Json& task, RunConfig& config) {
  ASSIGN_OR_RETURN(config.task_type, Text(task, "type"));
  if (config.task_type.empty()) return Wrong("has no \"type\" of the task");
  ASSIGN_OR_RETURN(config.task_id, Index(task));
  if (config.task_type == "evaluator") return TakeEvaluator(config);
  RETURN_IF_ERROR(CheckChief(config));
  const auto address =
      config.cluster_spec.TaskAddress(config.task_type, config.task_id);
  if (!address.ok()) return Annotate(address.status(), "TF_CONFIG");
  config.is_chief = config.task_type == "chief" ||
                    config.task_type == "master" ||
                    (config.task_type == "worker" && config.task_id == 0 &&
                     !HasChief(config));
  config.num_ps_replicas = NumTasks(config, "ps");
  config.num_worker_replicas = NumTasks(config, "worker") +
                               NumTasks(config, "chief") +
                               NumTasks(config, "master");
  const bool is_only_task =
      config.num_ps_replicas + config.num_worker_replicas == 1;
  if (!is_only_task) config.master = absl::StrCat("zmq://", *address);
  return absl::OkStatus();
}

absl::Status TakeMasters(const Json& json, RunConfig& config) {
  ASSIGN_OR_RETURN(std::string master, Text(json, "session_master"));
  ASSIGN_OR_RETURN(std::string evaluation, Text(json, "eval_session_master"));
  if (!master.empty()) config.master = std::move(master);
  if (!evaluation.empty()) config.evaluation_master = std::move(evaluation);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunConfig> RunConfig::FromTfConfig(absl::string_view tf_config,
                                                  RunConfig base) {
  constexpr int kMaxDepth = 16;  // TF_CONFIG never needs deeper nesting
  const Json json = Json::parse(
      tf_config.begin(), tf_config.end(),
      [](int depth, Json::parse_event_t, Json&) { return depth <= kMaxDepth; },
      /*allow_exceptions=*/false);
  if (!json.is_object()) {
    const std::string error = JsonError(tf_config);
    return Wrong(
        absl::StrCat("is not a JSON object", error.empty() ? "" : ": ", error));
  }
  RunConfig config = std::move(base);
  RETURN_IF_ERROR(TakeModelDir(json, config));
  const auto found = json.find("task");
  const Json task = found == json.end() ? Json::object() : *found;
  if (!task.is_object()) return Wrong("has a \"task\" that is not an object");
  const auto cluster = json.find("cluster");
  if (cluster == json.end() || cluster->empty()) {
    RETURN_IF_ERROR(CheckAlone(task));
  } else {
    auto spec = ClusterSpec::Parse(cluster->dump());
    if (!spec.ok()) return Annotate(spec.status(), "TF_CONFIG");
    config.cluster_spec = *std::move(spec);
    RETURN_IF_ERROR(TakeTask(task, config));
  }
  RETURN_IF_ERROR(TakeMasters(json, config));
  return config;
}

absl::StatusOr<RunConfig> RunConfig::FromEnvironment(RunConfig base) {
  const char* text = std::getenv("TF_CONFIG");
  if (text == nullptr || *text == '\0') return base;
  return FromTfConfig(text, std::move(base));
}

std::string RunConfig::TaskDevice() const {
  return absl::StrCat("/job:", task_type, "/task:", task_id);
}

RunConfig::Shard RunConfig::InputShard() const {
  if (cluster_spec.empty() || task_type == "ps") return {};
  if (task_type == "chief" || task_type == "master") {
    return {num_worker_replicas, 0};
  }
  return {num_worker_replicas, task_id + (HasChief(*this) ? 1 : 0)};
}

// The device filters let a worker train without waiting for other workers: it
// needs only the parameter servers and itself.
SessionOptions RunConfig::TrainingSession() const {
  SessionOptions options = session_config;
  if (!options.device_filters.empty() || !IsInCluster()) return options;
  if (task_type == "ps") {
    options.device_filters = {"/job:ps", "/job:worker", "/job:chief",
                              "/job:master"};
  } else if (task_type == "chief" || task_type == "master") {
    options.device_filters = {"/job:ps", absl::StrCat("/job:", task_type)};
  } else {
    options.device_filters = {"/job:ps", TaskDevice()};
  }
  return options;
}

absl::Duration RunConfig::DelayOfWorker(int worker) const {
  return absl::Seconds(std::min(experimental_max_worker_delay_secs.value_or(0),
                                kDelayOfOneWorker * (worker + 1.0)));
}

absl::Duration RunConfig::LongestDelayOfWorkers() const {
  const int workers = cluster_spec.num_tasks("worker");
  return workers == 0 ? absl::ZeroDuration() : DelayOfWorker(workers - 1);
}

absl::Status RunConfig::Check() const {
  if (save_checkpoints_steps && save_checkpoints_secs) {
    return absl::InvalidArgumentError(
        "RunConfig: Can not provide both save_checkpoints_steps and "
        "save_checkpoints_secs; give one of them.");
  }
  if (save_summary_steps < 0 || save_checkpoints_steps.value_or(0) < 0 ||
      !(save_checkpoints_secs.value_or(0) >= 0) || keep_checkpoint_max < 0 ||
      log_step_count_steps < 0 || !(keep_checkpoint_every_n_hours > 0) ||
      !(experimental_max_worker_delay_secs.value_or(0) >= 0)) {
    return absl::InvalidArgumentError(
        "RunConfig: save_summary_steps, save_checkpoints_steps, "
        "save_checkpoints_secs, keep_checkpoint_max, log_step_count_steps and "
        "experimental_max_worker_delay_secs must not be negative, and "
        "keep_checkpoint_every_n_hours must be more than 0.");
  }
  return absl::OkStatus();
}

}  // namespace weft::estimator
