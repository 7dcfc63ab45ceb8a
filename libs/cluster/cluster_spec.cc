#include "libs/cluster/cluster_spec.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/base/json_error.h"
#include "libs/base/keys_of.h"
#include "libs/base/status.h"
#include "libs/base/text_proto.h"
#include "libs/base/utf8.h"
#include "nlohmann/json.hpp"
#include "schemas/tf/cluster.pb.h"

namespace weft {
namespace {

using Json = nlohmann::json;

bool IsJobName(absl::string_view name) {
  return !name.empty() && absl::ascii_isalpha(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

absl::Status NotAddress(absl::string_view job, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("Job \"", job, "\" of the cluster spec: ", what,
                   " is not an address (\"host:port\")."));
}

// Describes a JSON value for an error. Of lists and objects it returns only the
// kind, because printing deeply nested values could overflow the stack.
std::string Describe(const Json& json) {
  return json.is_structured() ? json.type_name() : json.dump();
}

absl::Status NoTasks(absl::string_view job) {
  return absl::InvalidArgumentError(
      absl::StrCat("Job \"", job,
                   "\" of the cluster spec has no tasks. Give it an address "
                   "(\"host:port\") for each task, or leave the job out."));
}

absl::Status AddList(const std::string& job, const Json& tasks,
                     ClusterSpec& spec) {
  if (tasks.empty()) return NoTasks(job);
  int index = 0;
  for (const Json& address : tasks) {
    if (!address.is_string()) return NotAddress(job, Describe(address));
    RETURN_IF_ERROR(spec.AddTask(job, index++, address.get<std::string>()));
  }
  return absl::OkStatus();
}

absl::Status AddSparse(const std::string& job, const Json& tasks,
                       ClusterSpec& spec) {
  if (tasks.empty()) return NoTasks(job);
  for (const auto& [key, address] : tasks.items()) {
    int index = 0;
    if (!absl::SimpleAtoi(key, &index)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Job \"", job, "\" of the cluster spec: \"", key,
                       "\" is not a task index. Use a number from 0."));
    }
    if (!address.is_string()) return NotAddress(job, Describe(address));
    RETURN_IF_ERROR(spec.AddTask(job, index, address.get<std::string>()));
  }
  return absl::OkStatus();
}

absl::StatusOr<ClusterSpec> ParseJson(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("The cluster spec is not a JSON object like {\"ps\": "
                     "[\"host:port\"], \"worker\": [\"host:port\"]}: ",
                     JsonError(text)));
  }
  ClusterSpec spec;
  for (const auto& [job, tasks] : json.items()) {
    if (tasks.is_array()) {
      RETURN_IF_ERROR(AddList(job, tasks, spec));
    } else if (tasks.is_object()) {
      RETURN_IF_ERROR(AddSparse(job, tasks, spec));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("Job \"", job,
                       "\" of the cluster spec is neither a list of addresses "
                       "nor an object of index to address."));
    }
  }
  return spec;
}

absl::StatusOr<ClusterSpec> ParseShort(absl::string_view text) {
  ClusterSpec spec;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::vector<std::string> halves = absl::StrSplit(part, '|');
    if (halves.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", part,
                       "\" of the cluster spec is not of the form "
                       "job|host:port;host:port"));
    }
    int index = 0;
    for (absl::string_view address : absl::StrSplit(halves[1], ';')) {
      RETURN_IF_ERROR(spec.AddTask(halves[0], index++, std::string(address)));
    }
  }
  return spec;
}

// Returns whether the text is that of a ClusterDef: "job {", "job: {" or "job
// <", perhaps after comments. No other format has a brace or colon at that
// position.
bool IsTextProto(absl::string_view text) {
  if (absl::StartsWith(text, "#")) return true;
  if (!absl::ConsumePrefix(&text, "job")) return false;
  text = absl::StripLeadingAsciiWhitespace(text);
  return !text.empty() && absl::StrContains("{:<", text[0]);
}

absl::StatusOr<ClusterSpec> ParseClusterDef(absl::string_view text) {
  tf::ClusterDef cluster;
  if (absl::Status parsed = ParseTextProto(text, cluster); !parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("The cluster spec is not the text of a ClusterDef: ",
                     parsed.message()));
  }
  ClusterSpec spec;
  for (const tf::JobDef& job : cluster.job()) {
    if (job.tasks().empty()) return NoTasks(job.name());
    // Sorted, so that the same text always gives the same error.
    const std::map<int, std::string> tasks(job.tasks().begin(),
                                           job.tasks().end());
    for (const auto& [index, address] : tasks) {
      RETURN_IF_ERROR(spec.AddTask(job.name(), index, address));
    }
  }
  return spec;
}

}  // namespace

ClusterSpec::ClusterSpec(
    std::initializer_list<std::pair<std::string, std::vector<std::string>>>
        jobs) {
  for (const auto& [job, addresses] : jobs) {
    for (size_t i = 0; i < addresses.size(); ++i) {
      jobs_[job][static_cast<int>(i)] = addresses[i];
    }
  }
}

absl::StatusOr<ClusterSpec> ClusterSpec::Parse(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.empty()) {
    return absl::InvalidArgumentError(
        "The cluster spec is empty. Give it as --cluster='{\"ps\": "
        "[\"host:port\"], \"worker\": [\"host:port\"]}'.");
  }
  if (text[0] == '{') return ParseJson(text);
  return IsTextProto(text) ? ParseClusterDef(text) : ParseShort(text);
}

absl::Status ClusterSpec::AddTask(const std::string& job, int index,
                                  const std::string& address) {
  if (!IsJobName(job)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", job, "\" of the cluster spec is not a job name."));
  }
  if (index < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Job \"", job,
                     "\" of the cluster spec: a task can't have "
                     "the index ",
                     index, "."));
  }
  if (address.empty()) return NotAddress(job, "\"\"");
  if (!IsUtf8(address)) return NotAddress(job, "text that is not UTF-8");
  auto [it, is_new] = jobs_[job].emplace(index, address);
  if (is_new || it->second == address) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Task ", index, " of job \"", job,
                   "\" has two addresses in the cluster spec: ", it->second,
                   " and ", address, "."));
}

int ClusterSpec::num_tasks(const std::string& job) const {
  auto it = jobs_.find(job);
  return it == jobs_.end() ? 0 : static_cast<int>(it->second.size());
}

absl::StatusOr<std::string> ClusterSpec::TaskAddress(const std::string& job,
                                                     int index) const {
  auto it = jobs_.find(job);
  if (it == jobs_.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Job \"", job, "\" was not defined in the cluster; it has ",
        KeysOf(jobs_), "."));
  }
  auto task = it->second.find(index);
  if (task != it->second.end()) return task->second;
  return absl::InvalidArgumentError(
      absl::StrCat("Task ", index, " was not defined in job \"", job,
                   "\"; it has ", KeysOf(it->second), "."));
}

std::string ClusterSpec::ToString() const {
  Json json = Json::object();
  for (const auto& [job, tasks] : jobs_) {
    const bool is_dense =
        tasks.rbegin()->first == static_cast<int>(tasks.size()) - 1;
    Json& list = json[job] = is_dense ? Json::array() : Json::object();
    for (const auto& [index, address] : tasks) {
      if (is_dense) {
        list.push_back(address);
      } else {
        list[std::to_string(index)] = address;
      }
    }
  }
  return json.dump();
}

std::string TaskName(absl::string_view job, int index) {
  return absl::StrCat("/job:", job, "/replica:0/task:", index);
}

bool HasDevices(absl::string_view job) {
  return job != "coordinator" && job != "checkpoint_writer";
}

namespace {

std::string Quoted(const std::string& job, int index) {
  return absl::StrCat("task ", index, " of job \"", job, "\"");
}

absl::Status Contradiction(absl::string_view a_is_of, absl::string_view b_is_of,
                           const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat("The cluster specs of ", a_is_of, " and ", b_is_of,
                   " contradict each other: ", what,
                   " Start all tasks of a cluster with the same spec."));
}

bool HaveSameAddresses(const ClusterSpec::Tasks& a,
                       const ClusterSpec::Tasks& b) {
  std::multiset<std::string> a_addresses, b_addresses;
  for (const auto& [index, address] : a) a_addresses.insert(address);
  for (const auto& [index, address] : b) b_addresses.insert(address);
  return a_addresses == b_addresses;
}

// Returns whether all tasks of the cluster are in one process: then their
// addresses have port 0.
bool IsOfOneProcess(const std::string& address) {
  return absl::EndsWith(address, ":0");
}

std::map<std::string, std::pair<std::string, int>> TasksByAddress(
    const ClusterSpec& spec) {
  std::map<std::string, std::pair<std::string, int>> result;
  for (const auto& [job, tasks] : spec.jobs()) {
    for (const auto& [index, address] : tasks) {
      if (!IsOfOneProcess(address)) result[address] = {job, index};
    }
  }
  return result;
}

}  // namespace

absl::Status CheckSpecsAgree(const ClusterSpec& a, absl::string_view a_is_of,
                             const ClusterSpec& b, absl::string_view b_is_of) {
  for (const auto& [job, tasks] : a.jobs()) {
    const auto others = b.jobs().find(job);
    if (others == b.jobs().end()) continue;
    for (const auto& [index, address] : tasks) {
      const auto other = others->second.find(index);
      if (other == others->second.end() || other->second == address) continue;
      return Contradiction(
          a_is_of, b_is_of,
          absl::StrCat(Quoted(job, index), " is ", address,
                       " in the first and ", other->second, " in the second.",
                       HaveSameAddresses(tasks, others->second)
                           ? " The addresses of the job are the same, in "
                             "another order."
                           : ""));
    }
  }
  const auto named_by_b = TasksByAddress(b);
  for (const auto& [address, task] : TasksByAddress(a)) {
    const auto other = named_by_b.find(address);
    if (other == named_by_b.end() || other->second == task) continue;
    return Contradiction(
        a_is_of, b_is_of,
        absl::StrCat(address, " is ", Quoted(task.first, task.second),
                     " in the first and ",
                     Quoted(other->second.first, other->second.second),
                     " in the second."));
  }
  return absl::OkStatus();
}

}  // namespace weft
