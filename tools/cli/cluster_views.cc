#include "tools/cli/cluster_views.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/protocol/coordinator/only_declared.h"
#include "libs/tensor/data_type.h"
#include "tools/cli/json_text.h"
#include "tools/cli/table.h"

namespace weft::tools {
namespace {

using protocol::ClusterStatus;
using protocol::DeviceUse;
using protocol::IsOnlyDeclared;
using protocol::PlacedResource;
using protocol::TaskState;
using protocol::TaskStatus;

// The Resource::type_name of variables.
constexpr absl::string_view kVariable = "Var";

const char* StateText(TaskState state) {
  switch (state) {
    case TaskState::kExpected:
      return "expected";
    case TaskState::kAlive:
      return "alive";
    case TaskState::kLost:
      return "lost";
    case TaskState::kLeft:
      return "left";
  }
  return "unknown";
}

bool IsAlive(const TaskStatus& task) { return task.state == TaskState::kAlive; }

// Returns the sum. It saturates, because a larger sum would be meaningless.
int64_t Add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum)
             ? std::numeric_limits<int64_t>::max()
             : sum;
}

int64_t BytesHeld(const TaskStatus& task) {
  int64_t bytes = 0;
  if (!IsAlive(task)) return 0;
  for (const PlacedResource& resource : task.resources) {
    bytes = Add(bytes, resource.num_bytes);
  }
  return bytes;
}

int64_t NumResources(const TaskStatus& task) {
  if (!IsAlive(task)) return 0;
  return std::count_if(
      task.resources.begin(), task.resources.end(),
      [](const PlacedResource& resource) { return !IsOnlyDeclared(resource); });
}

// Returns whether the variable is initialized. A declared variable uses no
// memory, and any value uses memory unless it has no elements.
bool HasValue(const PlacedResource& variable) {
  const PartialShape& shape = variable.resource.shape;
  const bool is_empty =
      shape.has_rank() && std::find(shape.dims().begin(), shape.dims().end(),
                                    0) != shape.dims().end();
  return variable.num_bytes > 0 || (is_empty && !IsOnlyDeclared(variable));
}

// Returns the number of devices by type, for example "1 CPU, 2 GPU".
std::string DeviceCounts(const TaskStatus& task) {
  std::map<std::string, int> counts;
  for (const DeviceAttributes& device : task.devices) {
    ++counts[device.device_type];
  }
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second, " ", entry.first);
  });
}

// Returns the resources sorted by task, device, container and name.
std::vector<const PlacedResource*> Resources(const ClusterStatus& cluster) {
  std::vector<const PlacedResource*> result;
  for (const TaskStatus& task : cluster.tasks) {
    if (!IsAlive(task)) continue;
    const size_t first = result.size();
    for (const PlacedResource& resource : task.resources) {
      result.push_back(&resource);
    }
    std::sort(
        result.begin() + static_cast<std::ptrdiff_t>(first), result.end(),
        [](const PlacedResource* a, const PlacedResource* b) {
          return std::tie(a->device, a->resource.container, a->resource.name) <
                 std::tie(b->device, b->resource.container, b->resource.name);
        });
  }
  return result;
}

// Returns the memory use of a device, or null if the task does not report it.
const DeviceUse* UseOf(const DeviceAttributes& device, const TaskStatus& task) {
  for (const DeviceUse& use : task.memory) {
    if (use.device == device.name) return &use;
  }
  return nullptr;
}

Json ShapeJson(const PartialShape& shape) {
  if (!shape.has_rank()) return nullptr;
  Json sizes = Json::array();
  for (const int64_t size : shape.dims()) {
    sizes.push_back(size == PartialShape::kUnknown ? Json(nullptr)
                                                   : Json(size));
  }
  return sizes;
}

Json TaskJson(const TaskStatus& task) {
  Json devices = Json::array();
  for (const DeviceAttributes& device : task.devices) {
    devices.push_back(device.name);
  }
  return {{"task", task.task},
          {"state", StateText(task.state)},
          {"target", task.target},
          {"incarnation", task.incarnation},
          {"devices", std::move(devices)},
          {"num_sessions", task.num_sessions},
          {"num_resources", NumResources(task)},
          {"num_bytes", BytesHeld(task)}};
}

Json StatusJson(const ClusterStatus& cluster) {
  Json tasks = Json::array();
  for (const TaskStatus& task : cluster.tasks) tasks.push_back(TaskJson(task));
  return {{"cluster_uuid", cluster.cluster_uuid},
          {"coordinator", cluster.coordinator},
          {"tasks", std::move(tasks)}};
}

}  // namespace

std::string StatusView(const ClusterStatus& cluster, Format format) {
  if (format == Format::kJson) return JsonText(StatusJson(cluster));
  Table table({{"TASK"},
               {"STATE"},
               {"TARGET"},
               {"DEVICES"},
               {"SESSIONS", true},
               {"MEMORY", true}});
  int num_alive = 0;
  for (const TaskStatus& task : cluster.tasks) {
    const bool is_alive = IsAlive(task);
    num_alive += is_alive ? 1 : 0;
    table.AddRow({task.task, StateText(task.state), task.target,
                  DeviceCounts(task),
                  is_alive ? absl::StrCat(task.num_sessions) : "",
                  is_alive ? BytesText(BytesHeld(task)) : ""});
  }
  return absl::StrCat(
      "cluster ", Printable(cluster.cluster_uuid), ", coordinator ",
      Printable(cluster.coordinator), ": ", num_alive, " of ",
      CountText(static_cast<int64_t>(cluster.tasks.size()), "task"), " alive\n",
      table.ToString());
}

std::string DevicesView(const ClusterStatus& cluster, Format format) {
  Table table({{"DEVICE"},
               {"TYPE"},
               {"MEMORY", true},
               {"IN USE", true},
               {"TOTAL", true},
               {"DESCRIPTION"}});
  Json json = Json::array();
  for (const TaskStatus& task : cluster.tasks) {
    if (!IsAlive(task)) continue;
    for (const DeviceAttributes& device : task.devices) {
      const DeviceUse* const use = UseOf(device, task);
      // A limit of 0 means that the limit is unknown.
      table.AddRow(
          {device.name, device.device_type,
           device.memory_limit > 0 ? BytesText(device.memory_limit) : "",
           use != nullptr ? BytesText(use->in_use) : "",
           use != nullptr ? BytesText(use->total) : "",
           device.physical_description});
      json.push_back({{"device", device.name},
                      {"type", device.device_type},
                      {"task", task.task},
                      {"memory_limit", device.memory_limit},
                      {"memory_in_use", use ? Json(use->in_use) : Json()},
                      {"memory_total", use ? Json(use->total) : Json()},
                      {"incarnation", device.incarnation},
                      {"description", device.physical_description}});
    }
  }
  return format == Format::kJson ? JsonText(json) : table.ToString();
}

std::string VariablesView(const ClusterStatus& cluster,
                          const std::string& container, Format format) {
  Table table({{"NAME"},
               {"CONTAINER"},
               {"DEVICE"},
               {"DTYPE"},
               {"SHAPE"},
               {"BYTES", true}});
  Json json = Json::array();
  for (const PlacedResource* placed : Resources(cluster)) {
    const NamedResource& resource = placed->resource;
    if (resource.kind != kVariable) continue;
    if (!container.empty() && resource.container != container) continue;
    const std::string dtype =
        resource.dtype == DT_INVALID ? "" : DataTypeName(resource.dtype);
    const bool has_value = HasValue(*placed);
    table.AddRow({resource.name, resource.container, placed->device, dtype,
                  resource.shape.ToString(),
                  has_value ? BytesText(placed->num_bytes) : "no value"});
    json.push_back({{"name", resource.name},
                    {"container", resource.container},
                    {"device", placed->device},
                    {"dtype", dtype},
                    {"shape", ShapeJson(resource.shape)},
                    {"has_value", has_value},
                    {"num_bytes", placed->num_bytes}});
  }
  return format == Format::kJson ? JsonText(json) : table.ToString();
}

std::string ContainersView(const ClusterStatus& cluster, Format format) {
  Table table(
      {{"CONTAINER"}, {"TASKS", true}, {"RESOURCES", true}, {"BYTES", true}});
  Json json = Json::array();
  for (const ContainerContents& contents : ContainersOf(cluster)) {
    table.AddRow({contents.container, absl::StrCat(contents.num_tasks),
                  absl::StrCat(contents.num_resources),
                  BytesText(contents.num_bytes)});
    json.push_back({{"container", contents.container},
                    {"num_tasks", contents.num_tasks},
                    {"num_resources", contents.num_resources},
                    {"num_bytes", contents.num_bytes}});
  }
  return format == Format::kJson ? JsonText(json) : table.ToString();
}

std::vector<ContainerContents> ContainersOf(const ClusterStatus& cluster) {
  std::map<std::string, ContainerContents> containers;
  for (const TaskStatus& task : cluster.tasks) {
    if (!IsAlive(task)) continue;
    std::set<std::string> on_this_task;
    for (const PlacedResource& resource : task.resources) {
      if (IsOnlyDeclared(resource)) continue;
      const std::string& name = resource.resource.container;
      ContainerContents& contents = containers[name];
      contents.container = name;
      ++contents.num_resources;
      contents.num_bytes = Add(contents.num_bytes, resource.num_bytes);
      if (on_this_task.insert(name).second) ++contents.num_tasks;
    }
  }
  std::vector<ContainerContents> result;
  for (auto& [name, contents] : containers) {
    result.push_back(std::move(contents));
  }
  return result;
}

absl::Status CheckContainer(const ClusterStatus& cluster,
                            const std::string& container) {
  for (const PlacedResource* resource : Resources(cluster)) {
    if (resource->resource.container == container) return absl::OkStatus();
  }
  std::vector<std::string> names;
  for (const ContainerContents& contents : ContainersOf(cluster)) {
    names.push_back(absl::StrCat("\"", contents.container, "\""));
  }
  return absl::NotFoundError(absl::StrCat(
      "no task has a container \"", container, "\" with anything in it; ",
      names.empty()
          ? "there is none"
          : absl::StrCat(names.size() == 1 ? "there is " : "there are ",
                         absl::StrJoin(names, ", "))));
}

std::string DescribeSessionsIn(const ClusterStatus& cluster,
                               const std::vector<std::string>& containers) {
  std::vector<std::string> users;
  for (const TaskStatus& task : cluster.tasks) {
    for (const std::string& container : containers) {
      const auto found = task.sessions_by_container.find(container);
      if (found == task.sessions_by_container.end()) continue;
      users.push_back(absl::StrCat(found->second, " of ", Printable(task.task),
                                   " in \"", Printable(container), "\""));
    }
  }
  return absl::StrJoin(users, ", ");
}

}  // namespace weft::tools
