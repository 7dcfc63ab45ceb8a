#include "libs/coordinator/resource_difference.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

constexpr size_t kShown = 5;

std::string Describe(const ResourceFacts& facts, const std::string& device) {
  const std::string dtype =
      facts.dtype == DT_INVALID ? "unknown type" : DataTypeName(facts.dtype);
  return absl::StrCat(dtype, " ", facts.shape.ToString(), " on ", device);
}

std::string Owner(const ResourceDifference& difference) {
  if (!difference.there_is_left) {
    return absl::StrCat("declared by a session of ", difference.there_task);
  }
  if (difference.there_task.empty()) return "left by a session that has ended";
  return absl::StrCat("left by a session of ", difference.there_task,
                      " that has ended");
}

std::string Describe(const ResourceDifference& difference) {
  const NodeResource& here = difference.here;
  return absl::StrCat(
      "\n  ", here.resource.kind, " \"", here.resource.name,
      "\" in container \"", here.resource.container, "\", node ", here.node,
      "\n    here:  ", Describe(FactsOf(here.resource), here.device),
      ", declared by this session of ", difference.here_task,
      "\n    there: ", Describe(difference.there, difference.there_device),
      ", ", Owner(difference));
}

bool IsElsewhere(const ResourceDifference& difference) {
  return difference.here.device != difference.there_device;
}

std::string Causes(absl::Span<const ResourceDifference> differences) {
  std::string text;
  if (std::any_of(differences.begin(), differences.end(), IsElsewhere)) {
    text +=
        "\nOther devices: the programs create their variables in another "
        "order, or with another ps_tasks or strategy.";
  }
  if (!std::all_of(differences.begin(), differences.end(), IsElsewhere)) {
    text +=
        "\nOther types or shapes: the programs build another model, or split "
        "variables with another partitioner.";
  }
  return text;
}

}  // namespace

bool ResourceFacts::AgreeWith(const ResourceFacts& other) const {
  const bool same_type = dtype == DT_INVALID || other.dtype == DT_INVALID ||
                         RemoveRefType(dtype) == RemoveRefType(other.dtype);
  return same_type && shape.IsCompatibleWith(other.shape);
}

ResourceFacts ResourceFacts::MergedWith(const ResourceFacts& other) const {
  const absl::StatusOr<PartialShape> merged = shape.MergeWith(other.shape);
  return {other.dtype == DT_INVALID ? dtype : other.dtype,
          merged.ok() ? *merged : other.shape};
}

ResourceFacts FactsOf(const NamedResource& resource) {
  return {resource.dtype, resource.shape};
}

absl::Status ToStatus(absl::Span<const ResourceDifference> differences) {
  std::string text =
      "The session disagrees with the rest of the cluster about resources "
      "that they would share:";
  for (const ResourceDifference& difference : differences.subspan(0, kShown)) {
    text += Describe(difference);
  }
  if (differences.size() > kShown) {
    absl::StrAppend(&text, "\n  and ", differences.size() - kShown, " more");
  }
  return absl::FailedPreconditionError(absl::StrCat(
      text, Causes(differences),
      "\nRun the same program in all replicas, take another container or "
      "other names, or reset the container if what it holds is not needed."));
}

}  // namespace weft
