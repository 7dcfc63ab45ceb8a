#include "libs/cluster/tf_config.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "libs/base/json_error.h"
#include "libs/base/status.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;

// The jobs whose tasks train; their order is the order of trainer indices.
constexpr const char* kTrainers[] = {"chief", "master", "worker"};

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("TF_CONFIG ", what,
                   ". It is JSON like {\"cluster\": {\"ps\": [\"host:port\"], "
                   "\"worker\": [\"host:port\"]}, \"task\": {\"type\": "
                   "\"worker\", \"index\": 0}}."));
}

std::string NotAnObject(absl::string_view text) {
  const std::string error = JsonError(text);
  return absl::StrCat("is not a JSON object", error.empty() ? "" : ": ", error);
}

// Parses the task index: a number, or a number in quotes, as some launchers
// write it.
absl::StatusOr<int> ParseIndex(const Json& task) {
  auto it = task.find("index");
  if (it == task.end()) return 0;
  int64_t index = -1;
  if (it->is_number_integer()) index = it->get<int64_t>();
  if (it->is_string() && !absl::SimpleAtoi(it->get<std::string>(), &index)) {
    index = -1;
  }
  if (index < 0 || index > std::numeric_limits<int>::max()) {
    return Wrong(
        absl::StrCat("has the task index ", it->dump(), ", which is none"));
  }
  return static_cast<int>(index);
}

absl::StatusOr<ClusterSpec> ParseCluster(const Json& json) {
  auto it = json.find("cluster");
  if (it == json.end()) return Wrong("has no \"cluster\"");
  if (!it->is_object() || it->empty()) {
    return Wrong("has a \"cluster\" without jobs");
  }
  absl::StatusOr<ClusterSpec> cluster = ClusterSpec::Parse(it->dump());
  if (cluster.ok()) return cluster;
  return Annotate(cluster.status(), "TF_CONFIG");
}

}  // namespace

absl::StatusOr<TfConfig> TfConfig::Parse(absl::string_view text) {
  // Deeper values are not part of TF_CONFIG, and serializing them again would
  // need a deep stack.
  constexpr int kMaxDepth = 16;
  const Json json = Json::parse(
      text.begin(), text.end(),
      [](int depth, Json::parse_event_t, Json&) { return depth <= kMaxDepth; },
      /*allow_exceptions=*/false);
  if (!json.is_object()) return Wrong(NotAnObject(text));
  TfConfig config;
  ASSIGN_OR_RETURN(config.cluster, ParseCluster(json));
  auto task = json.find("task");
  if (task == json.end() || !task->is_object()) return Wrong("has no \"task\"");
  auto type = task->find("type");
  if (type == task->end() || !type->is_string()) {
    return Wrong("has no \"type\" of the task");
  }
  config.job_name = type->get<std::string>();
  ASSIGN_OR_RETURN(config.task_index, ParseIndex(*task));
  if (config.job_name == "evaluator") return config;  // not part of the cluster
  auto address = config.cluster.TaskAddress(config.job_name, config.task_index);
  if (!address.ok()) return Annotate(address.status(), "TF_CONFIG");
  return config;
}

absl::StatusOr<std::optional<TfConfig>> TfConfig::FromEnvironment() {
  const char* text = std::getenv("TF_CONFIG");
  if (text == nullptr || *text == '\0') return std::nullopt;
  ASSIGN_OR_RETURN(TfConfig config, Parse(text));
  return config;
}

bool TfConfig::IsTrainer() const {
  return std::find(std::begin(kTrainers), std::end(kTrainers), job_name) !=
         std::end(kTrainers);
}

int TfConfig::num_trainers() const {
  int result = 0;
  for (const char* job : kTrainers) result += cluster.num_tasks(job);
  return result;
}

int TfConfig::trainer_index() const {
  int before = 0;
  for (const char* job : kTrainers) {
    if (job != job_name) {
      before += cluster.num_tasks(job);
      continue;
    }
    // The trainer index is the position of the task in its job, because task
    // indices may have gaps.
    const auto& tasks = cluster.jobs().at(job);
    return before + static_cast<int>(
                        std::distance(tasks.begin(), tasks.find(task_index)));
  }
  return before;
}

}  // namespace weft
