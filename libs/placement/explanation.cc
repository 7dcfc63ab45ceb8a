#include "libs/placement/explanation.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft {
namespace {

constexpr size_t kMaxListed = 3;

// Formats a list for a sentence, with the first few names: "a", "a and b", "a,
// b, c and 4 others".
std::string List(absl::Span<const absl::string_view> first, size_t total) {
  if (total > first.size()) {
    const size_t others = total - first.size();
    return absl::StrCat(absl::StrJoin(first, ", "), " and ", others,
                        others == 1 ? " other" : " others");
  }
  if (first.size() == 1) return std::string(first[0]);
  return absl::StrCat(absl::StrJoin(first.subspan(0, first.size() - 1), ", "),
                      " and ", first.back());
}

std::string OthersThan(const PlacementNode& node, const GroupFacts& group) {
  std::vector<absl::string_view> first;
  for (const PlacementNode* member : group.members) {
    if (member != &node) first.push_back(member->name);
    if (first.size() == kMaxListed) break;
  }
  return List(first, group.members.size() - 1);
}

std::string Asked(const PlacementNode& node, const GroupFacts& group) {
  const DeviceName own =
      DeviceName::Parse(node.requested_device).value_or(DeviceName());
  std::string text = own.IsEmpty()
                         ? "asks for no device"
                         : absl::StrCat("asks for ", node.requested_device);
  if (group.members.size() == 1) return text;
  absl::StrAppend(&text, "; shares its device with ", OthersThan(node, group));
  if (own == *group.requested) return text;
  return absl::StrCat(
      text, ", which makes that ",
      group.requested->IsEmpty() ? "any device" : group.requested->ToString());
}

std::string Kernels(const PlacementNode& node, const GroupFacts& group) {
  DeviceTypes own = node.kernel_types;
  std::sort(own.begin(), own.end());
  std::string text = absl::StrCat("kernels for ", absl::StrJoin(own, ", "));
  DeviceTypes useful;
  std::set_intersection(own.begin(), own.end(), group.present->begin(),
                        group.present->end(), std::back_inserter(useful));
  if (useful == *group.types) return text;
  return absl::StrCat(text, ", with the others for ",
                      absl::StrJoin(*group.types, ", "));
}

std::string Fitting(const Fit& fit) {
  if (fit.devices.size() == 1) {
    return absl::StrCat("only ", fit.devices[0]->name, " fits");
  }
  std::vector<absl::string_view> first;
  for (const Candidate* device : fit.devices) {
    if (first.size() == kMaxListed) break;
    first.push_back(device->name);
  }
  return absl::StrCat(fit.devices.size(),
                      " devices fit: ", List(first, fit.devices.size()));
}

std::string Softened(const Fit& fit) {
  if (!fit.is_softened) return "";
  return absl::StrCat(
      "; nothing fits that, so soft placement seeks ",
      fit.request.IsEmpty() ? "any device" : fit.request.ToString());
}

std::string LivesThere(const PlacementNode& node) {
  return absl::StrCat(node.resource->kind, " '", node.resource->name,
                      "' lives there already");
}

std::string Because(const PlacementNode& node, const Decision& decision,
                    const PlacementNode& decider) {
  const bool is_self = &node == &decider;
  switch (decision.cause) {
    case Cause::kOnlyOne:
      break;
    case Cause::kMemberWasPlaced:
      return absl::StrCat("because ", decider.name, " was placed there before");
    case Cause::kLivesThere:
      return absl::StrCat("because ", LivesThere(decider));
    case Cause::kOwnTask:
      return "because it is on the session's own task";
    case Cause::kBetterType:
      return absl::StrCat("because ", decision.device->type, " comes before ",
                          decision.fit->devices[1]->type);
    case Cause::kFirstByName:
      return "because it is the first by name";
    case Cause::kWithConsumers:
      return absl::StrCat("because all consumers",
                          is_self ? "" : absl::StrCat(" of ", decider.name),
                          " are there");
    case Cause::kWithInput:
      return absl::StrCat("because the input",
                          is_self ? "" : absl::StrCat(" of ", decider.name),
                          " is there");
  }
  return "";
}

}  // namespace

std::string Explain(const PlacementNode& node, const GroupFacts& group,
                    const Decision& decision, const PlacementNode& decider) {
  std::string text =
      absl::StrCat(Asked(node, group), Softened(*decision.fit), "; ",
                   Kernels(node, group), "; ", Fitting(*decision.fit));
  const std::string because = Because(node, decision, decider);
  if (decision.fit->devices.size() > 1) {
    absl::StrAppend(&text, "; ", decision.device->name, " was taken ", because);
  } else if (!because.empty()) {
    absl::StrAppend(&text, ", ", because);
  }
  // The existing resource is worth mentioning even if it did not decide: it is
  // not created anew.
  if (group.living != nullptr && decision.cause != Cause::kLivesThere) {
    absl::StrAppend(&text, "; ", LivesThere(*group.living));
  }
  return absl::StrCat(text, ".");
}

std::string ExplainPlaced(const PlacementNode& node) {
  return absl::StrCat("was placed on ", node.assigned_device, " before.");
}

}  // namespace weft
