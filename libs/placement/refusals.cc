#include "libs/placement/refusals.h"

#include <map>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/near_names.h"

namespace weft {
namespace {

// A list of all members of a large group is not readable.
constexpr size_t kMaxListedMembers = 20;

std::string Quoted(const PlacementNode& node) {
  return absl::StrCat("{{colocation_node ", node.name, "}}");
}

std::string OrNone(const std::vector<std::string>& types) {
  return types.empty() ? "none" : absl::StrJoin(types, ", ");
}

// Explains the refusal of a node: the kernels and requests of all members of
// its group.
std::string DescribeGroup(absl::Span<const PlacementNode* const> group) {
  std::map<std::string, std::string> kernels;  // by op
  for (const PlacementNode* node : group) {
    if (!node->assigned_device.empty()) continue;
    kernels.emplace(node->op, OrNone(node->kernel_types));
  }
  std::string text =
      "\nColocation Debug Info:\n"
      "Colocation group had the following types and supported devices: ";
  for (const auto& [op, types] : kernels) {
    absl::StrAppend(&text, "\n", op, ": ", types);
  }
  absl::StrAppend(&text,
                  "\n\nColocation members, user-requested devices, and "
                  "framework assigned devices, if any:");
  for (const PlacementNode* node : group.subspan(0, kMaxListedMembers)) {
    absl::StrAppend(&text, "\n  ", node->name, " (", node->op, ") ",
                    node->requested_device);
    if (node->assigned_device.empty()) continue;
    absl::StrAppend(&text,
                    " framework assigned device=", node->assigned_device);
  }
  if (group.size() > kMaxListedMembers) {
    absl::StrAppend(&text, "\n  and ", group.size() - kMaxListedMembers,
                    " more");
  }
  return text;
}

// Names the likely mistake if the job or the task does not exist.
std::string MissingTask(const DeviceName& requested,
                        const Candidates& candidates) {
  const auto is_there = [&](const DeviceName& name) {
    return !candidates.Matching(name, candidates.types()).empty();
  };
  DeviceName wanted;
  wanted.job = requested.job;
  if (!requested.job) return "";
  if (!is_there(wanted)) {
    NearNames near(*requested.job);
    for (const Candidate& candidate : candidates.all()) {
      near.Consider(candidate.parts.job.value_or(""));
    }
    return absl::StrCat(" There is no job \"", *requested.job,
                        "\" here: compare the device strings of the program "
                        "with the cluster spec.",
                        near.Suggestion());
  }
  wanted.task = requested.task;
  if (is_there(wanted)) return "";
  return absl::StrCat(" There is no task ", *requested.task, " of job \"",
                      *requested.job,
                      "\" here: was the program given another cluster spec or "
                      "ps_tasks?");
}

// Explains a type that no device has. GPUs have another text.
std::string MissingType(const DeviceName& requested,
                        const Candidates& candidates) {
  if (!requested.type || requested.type == "GPU") return "";
  if (absl::c_linear_search(candidates.types(), *requested.type)) return "";
  NearNames near(*requested.type);
  for (const std::string& type : candidates.types()) near.Consider(type);
  return absl::StrCat(" There is no device of type \"", *requested.type, "\".",
                      near.Suggestion());
}

std::string NoSuchDevice(const PlacementNode& node, const DeviceName& requested,
                         const Candidates& candidates) {
  std::string text = absl::StrCat(
      "{{node ", node.name, "}} was explicitly assigned to ",
      node.requested_device, " but available devices are [ ",
      candidates.NamesText(),
      " ]. Make sure the device specification refers to a valid device.");
  if (requested.type == "GPU") {
    absl::StrAppend(&text,
                    " The requested device appears to be a GPU, but no such "
                    "GPU is available. Start the task with --gpus, or set "
                    "allow_soft_placement in SessionOptions to use a CPU where "
                    "there is no GPU.");
  }
  return absl::StrCat(text, MissingType(requested, candidates),
                      MissingTask(requested, candidates));
}

// `requested` is the node's own request.
std::string WhyNoDevice(const PlacementNode& node, const DeviceName& requested,
                        absl::Span<const PlacementNode* const> group,
                        const Candidates& candidates) {
  if (candidates.Matching(requested, candidates.types()).empty()) {
    return NoSuchDevice(node, requested, candidates);
  }
  const std::string of_type =
      requested.type ? absl::StrCat(" for ", *requested.type, " devices") : "";
  return absl::StrCat("Could not satisfy explicit device specification '",
                      node.requested_device, "' because no supported kernel",
                      of_type,
                      " is available. Set allow_soft_placement in "
                      "SessionOptions to use a device that has one.",
                      DescribeGroup(group));
}

std::string WhyNoDeviceOfGroup(const PlacementNode& node,
                               const DeviceName& requested,
                               absl::Span<const PlacementNode* const> group,
                               const Candidates& candidates) {
  return absl::StrCat(
      "Could not satisfy explicit device specification '",
      node.requested_device, "' because the node ", Quoted(node),
      " was colocated with a group of nodes that required incompatible "
      "device '",
      requested.ToString(), "'. All available devices [",
      candidates.NamesText(), "]. ", DescribeGroup(group));
}

}  // namespace

absl::Status NoKernel(const PlacementNode& node, const DeviceTypes& present) {
  // The attrs matter only if no type at all has a kernel.
  const std::string attrs =
      node.kernel_types.empty()
          ? absl::StrCat(" with these attrs: [", node.attrs, "]")
          : "";
  const std::string kernels =
      node.kernel_types.empty()
          ? "<no registered kernels>"
          : absl::StrCat("device='",
                         absl::StrJoin(node.kernel_types, "'\n  device='"),
                         "'");
  return absl::InvalidArgumentError(absl::StrCat(
      "No OpKernel was registered to support Op '", node.op,
      "' used by {{node ", node.name, "}}", attrs, "\nRegistered devices: [",
      absl::StrJoin(present, ", "), "]\nRegistered kernels:\n  ", kernels));
}

absl::Status CannotColocate(const PlacementNode& a, const PlacementNode& b,
                            absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Cannot colocate nodes ", Quoted(a), " and ", Quoted(b), ": ", why));
}

absl::Status NoCommonType(const PlacementNode& a, const PlacementNode& b,
                          const DeviceTypes& first, const DeviceTypes& second) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Cannot colocate nodes ", Quoted(a), " and ", Quoted(b),
      " because no device type supports both of those nodes and the other "
      "nodes colocated with them: those of the first have kernels for [",
      absl::StrJoin(first, ", "), "], those of the second for [",
      absl::StrJoin(second, ", "), "]."));
}

absl::Status NoDevice(const PlacementNode& node, const DeviceName& requested,
                      absl::Span<const PlacementNode* const> group,
                      const Candidates& candidates) {
  const bool is_its_own =
      DeviceName::Parse(node.requested_device).value_or(DeviceName()) ==
      requested;
  return absl::InvalidArgumentError(absl::StrCat(
      "Cannot assign a device for operation ", node.name, ": ",
      is_its_own ? WhyNoDevice(node, requested, group, candidates)
                 : WhyNoDeviceOfGroup(node, requested, group, candidates)));
}

}  // namespace weft
