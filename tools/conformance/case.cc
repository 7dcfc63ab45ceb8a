#include "tools/conformance/case.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "nlohmann/json.hpp"

namespace weft::conformance {
namespace {

using Json = nlohmann::ordered_json;

// nlohmann's library reports errors by exceptions, which LoadCase catches.
using JsonError = nlohmann::json::exception;

absl::Status CheckKeys(const Json& object, absl::string_view what,
                       const std::set<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (known.count(key) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown key \"", key, "\" in ", what));
    }
  }
  return absl::OkStatus();
}

absl::Duration Milliseconds(const Json& object, const char* key) {
  if (!object.contains(key)) return absl::InfiniteDuration();
  return absl::Milliseconds(object[key].get<int64_t>());
}

absl::StatusOr<SessionSpec> ParseSession(const Json& json) {
  SessionSpec spec;
  RETURN_IF_ERROR(CheckKeys(json, "a session", {"graph", "task", "config"}));
  spec.graph = json.at("graph").get<std::string>();
  spec.task = json.value("task", "");
  const Json config = json.value("config", Json::object());
  RETURN_IF_ERROR(CheckKeys(config, "a session's config",
                            {"allow_soft_placement", "log_device_placement",
                             "operation_timeout_in_ms", "experimental"}));
  // Some experimental settings are ignored, because a session always has all
  // devices of its cluster.
  RETURN_IF_ERROR(CheckKeys(config.value("experimental", Json::object()),
                            "a session's experimental config",
                            {"shareClusterDevicesInSession"}));
  spec.allow_soft_placement = config.value("allow_soft_placement", false);
  spec.log_device_placement = config.value("log_device_placement", false);
  spec.operation_timeout = Milliseconds(config, "operation_timeout_in_ms");
  return spec;
}

Interval ParseInterval(const Json& json) {
  return {json.at(0).get<double>(), json.at(1).get<double>()};
}

absl::StatusOr<Comparison> ParseComparison(const Json& json) {
  Comparison result;
  if (json.is_string()) {
    const std::string how = json.get<std::string>();
    if (how == "close") return result;
    if (how == "exact") result.mode = Comparison::Mode::kExact;
    if (how == "multiset") result.mode = Comparison::Mode::kMultiset;
    if (result.mode != Comparison::Mode::kClose) return result;
    return absl::InvalidArgumentError(
        absl::StrCat("unknown comparison \"", how, "\""));
  }
  RETURN_IF_ERROR(CheckKeys(json, "compare", {"dtype", "shape", "moments"}));
  result.mode = Comparison::Mode::kMoments;
  result.dtype = json.value("dtype", "");
  if (json.contains("shape")) {
    result.shape = json["shape"].get<std::vector<int64_t>>();
  }
  const Json moments = json.value("moments", Json::object());
  RETURN_IF_ERROR(CheckKeys(moments, "moments", {"mean", "std", "min", "max"}));
  for (const auto& [name, interval] : moments.items()) {
    result.moments[name] = ParseInterval(interval);
  }
  return result;
}

KeyedFeeds ParseFeeds(const Json& step, const char* key) {
  KeyedFeeds feeds;
  if (!step.contains(key)) return feeds;
  for (const auto& [name, tensor] : step[key].items()) {
    feeds.emplace_back(name, tensor.get<std::string>());
  }
  return feeds;
}

std::vector<PathFeed> ParsePathFeeds(const Json& step) {
  std::vector<PathFeed> feeds;
  if (!step.contains("path_feeds")) return feeds;
  for (const auto& [name, paths] : step["path_feeds"].items()) {
    PathFeed feed{.tensor = name, .paths = {}, .is_vector = paths.is_array()};
    if (feed.is_vector) {
      feed.paths = paths.get<std::vector<std::string>>();
    } else {
      feed.paths.push_back(paths.get<std::string>());
    }
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

absl::Status ParseExpectations(const Json& json, Step& step) {
  using Strings = std::vector<std::string>;
  using StringMap = std::map<std::string, std::string>;
  step.expect = json.value("expect", Strings());
  step.expect_files = json.value("expect_files", StringMap());
  if (json.contains("expect_error")) {
    const Json& error = json["expect_error"];
    step.expect_error = {error.at("code").get<std::string>(),
                         error.value("contains", "")};
  }
  if (json.contains("expect_placement")) {
    step.expect_placement = json["expect_placement"].get<StringMap>();
  }
  if (json.contains("expect_log_lines")) {
    step.expect_log_lines = json["expect_log_lines"].get<Strings>();
  }
  if (json.contains("compare")) {
    ASSIGN_OR_RETURN(step.compare, ParseComparison(json["compare"]));
  }
  return absl::OkStatus();
}

absl::StatusOr<Step> ParseStep(const Json& json, const Tolerance& tolerance) {
  RETURN_IF_ERROR(CheckKeys(json, "a step",
                            {"action",
                             "name",
                             "session",
                             "feeds",
                             "repeat_feeds",
                             "path_feeds",
                             "fetches",
                             "targets",
                             "expect",
                             "expect_error",
                             "compare",
                             "expect_files",
                             "background",
                             "run_options",
                             "expect_placement",
                             "expect_log_lines",
                             "graph",
                             "join",
                             "seconds",
                             "task",
                             "containers",
                             "rtol",
                             "atol"}));
  Step step;
  step.action = json.value("action", "run");
  step.name = json.value("name", "");
  step.session = json.value("session", "main");
  step.feeds = ParseFeeds(json, "feeds");
  step.repeat_feeds = ParseFeeds(json, "repeat_feeds");
  step.path_feeds = ParsePathFeeds(json);
  step.fetches = json.value("fetches", std::vector<std::string>());
  step.targets = json.value("targets", std::vector<std::string>());
  step.background = json.value("background", "");
  const Json options = json.value("run_options", Json::object());
  RETURN_IF_ERROR(CheckKeys(options, "run_options", {"timeout_in_ms"}));
  step.timeout = Milliseconds(options, "timeout_in_ms");
  RETURN_IF_ERROR(ParseExpectations(json, step));
  step.compare.tolerance = {json.value("rtol", tolerance.relative),
                            json.value("atol", tolerance.absolute)};
  step.graph = json.value("graph", "");
  step.join = json.value("join", "");
  step.pause = absl::Seconds(json.value("seconds", 0.0));
  step.task = json.value("task", "");
  step.containers = json.value("containers", std::vector<std::string>());
  return step;
}

GradientSpec ParseGradient(const Json& json) {
  using Strings = std::vector<std::string>;
  GradientSpec spec;
  spec.ys = json.at("ys").get<Strings>();
  spec.xs = json.at("xs").get<Strings>();
  spec.grad_ys = json.value("grad_ys", Strings());
  spec.feeds = ParseFeeds(json, "feeds");
  for (const Json& key : json.at("expect")) {
    spec.expect.push_back(key.is_null()
                              ? std::optional<std::string>()
                              : std::optional(key.get<std::string>()));
  }
  return spec;
}

SaveSpec ParseSave(const Json& json) {
  using Strings = std::vector<std::string>;
  return {json.at("global_step").get<int64_t>(),
          json.at("files").get<Strings>(),
          json.at("checkpoint_lines").get<Strings>(),
          json.at("all_model_checkpoint_paths").get<Strings>()};
}

absl::StatusOr<Case> ParseCase(const Json& json) {
  Case result;
  result.kind = json.value("kind", "");
  result.cluster = json.value("cluster", std::map<std::string, int>());
  result.tolerance = {json.value("rtol", result.tolerance.relative),
                      json.value("atol", result.tolerance.absolute)};
  if (json.contains("sessions")) {
    for (const auto& [name, session] : json["sessions"].items()) {
      ASSIGN_OR_RETURN(result.sessions[name], ParseSession(session));
    }
  }
  if (json.contains("steps")) {
    for (const Json& step_json : json["steps"]) {
      ASSIGN_OR_RETURN(Step step, ParseStep(step_json, result.tolerance));
      result.steps.push_back(std::move(step));
    }
  }
  if (json.contains("gradients")) {
    for (const Json& gradient : json["gradients"]) {
      result.gradients.push_back(ParseGradient(gradient));
    }
  }
  if (json.contains("history")) {
    for (const Json& save : json["history"]) {
      result.history.push_back(ParseSave(save));
    }
    result.max_to_keep = json.at("max_to_keep").get<int>();
  }
  return result;
}

// Returns the group and name of a case, for example "ops/Abs" for
// ".../cases/ops/Abs".
std::string NameOf(absl::string_view directory) {
  return JoinPath(Basename(Dirname(directory)), Basename(directory));
}

}  // namespace

std::vector<std::string> Case::GraphFiles() const {
  std::set<std::string> files;
  for (const auto& [session_name, session] : sessions) {
    files.insert(session.graph);
  }
  for (const Step& step : steps) {
    if (!step.graph.empty()) files.insert(step.graph);
  }
  if (!gradients.empty()) files.insert("graph.pb");
  return {files.begin(), files.end()};
}

absl::StatusOr<std::vector<std::string>> FindCases(
    FileSystem& fs, absl::string_view directory) {
  const std::string clean = CleanPath(directory);
  if (fs.FileExists(JoinPath(clean, "case.json")).ok()) {
    return std::vector<std::string>{clean};
  }
  std::vector<std::string> result;
  ASSIGN_OR_RETURN(const auto names, fs.ListDirectory(clean));
  for (const std::string& name : names) {
    const std::string path = JoinPath(clean, name);
    ASSIGN_OR_RETURN(const bool is_directory, fs.IsDirectory(path));
    if (!is_directory) continue;
    ASSIGN_OR_RETURN(const auto cases, FindCases(fs, path));
    result.insert(result.end(), cases.begin(), cases.end());
  }
  return result;
}

absl::StatusOr<Case> LoadCase(FileSystem& fs, absl::string_view directory) {
  const std::string clean = CleanPath(directory);
  ASSIGN_OR_RETURN(const std::string text,
                   fs.ReadFile(JoinPath(clean, "case.json")));
  absl::StatusOr<Case> result = absl::InternalError("case.json was not parsed");
  try {
    result = ParseCase(Json::parse(text));
  } catch (const JsonError& error) {
    result = absl::InvalidArgumentError(error.what());
  }
  if (!result.ok()) return Annotate(result.status(), clean + "/case.json");
  result->directory = clean;
  result->name = NameOf(clean);
  return result;
}

}  // namespace weft::conformance
