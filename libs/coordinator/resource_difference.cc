#include "libs/coordinator/resource_difference.h"

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

constexpr size_t kShown = 5;

// What both sides say alike of the definition is left out.
std::string Describe(const ResourceFacts& facts, const ResourceFacts& other) {
  const bool has_type = facts.dtype != DT_INVALID || facts.shape.has_rank();
  if (!has_type && !facts.definition.empty()) return facts.definition;
  std::string text = absl::StrCat(
      facts.dtype == DT_INVALID ? "unknown type" : DataTypeName(facts.dtype),
      " ", facts.shape.ToString());
  if (!facts.definition.empty() && !other.definition.empty() &&
      facts.definition != other.definition) {
    absl::StrAppend(&text, " (", facts.definition, ")");
  }
  return text;
}

std::string Owner(const ResourceDifference& difference) {
  if (!difference.there_is_left()) {
    return absl::StrCat("declared by a session of ", difference.there_task);
  }
  if (difference.there_task.empty()) return "left by a session that has ended";
  return absl::StrCat("left by a session of ", difference.there_task,
                      " that has ended");
}

std::string KindThere(const ResourceDifference& difference) {
  if (difference.there_kind == difference.here.resource.kind) return "";
  return absl::StrCat(difference.there_kind, ", ");
}

std::string Describe(const ResourceDifference& difference) {
  const NodeResource& here = difference.here;
  const ResourceFacts facts = FactsOf(here.resource);
  return absl::StrCat(
      "\n  ", here.resource.kind, " \"", here.resource.name,
      "\" in container \"", here.resource.container, "\", node ", here.node,
      "\n    here:  ", Describe(facts, difference.there), " on ", here.device,
      ", declared by this session of ", difference.here_task,
      "\n    there: ", KindThere(difference), Describe(difference.there, facts),
      " on ", difference.there_device, ", ", Owner(difference));
}

}  // namespace

bool ResourceFacts::AgreeWith(const ResourceFacts& other) const {
  const bool same_type = dtype == DT_INVALID || other.dtype == DT_INVALID ||
                         RemoveRefType(dtype) == RemoveRefType(other.dtype);
  const bool same_definition = definition.empty() || other.definition.empty() ||
                               definition == other.definition;
  return same_type && same_definition && shape.IsCompatibleWith(other.shape);
}

ResourceFacts ResourceFacts::MergedWith(const ResourceFacts& other) const {
  const absl::StatusOr<PartialShape> merged = shape.MergeWith(other.shape);
  return {other.dtype == DT_INVALID ? dtype : other.dtype,
          merged.ok() ? *merged : other.shape,
          other.definition.empty() ? definition : other.definition};
}

ResourceFacts FactsOf(const NamedResource& resource) {
  return {resource.dtype, resource.shape, resource.definition};
}

absl::Status ToStatus(absl::Span<const ResourceDifference> differences,
                      absl::Span<const std::string> causes) {
  std::string text =
      "The session disagrees with the rest of the cluster about resources "
      "that they would share:";
  for (const ResourceDifference& difference : differences.subspan(0, kShown)) {
    text += Describe(difference);
  }
  if (differences.size() > kShown) {
    absl::StrAppend(&text, "\n  and ", differences.size() - kShown, " more");
  }
  for (const std::string& cause : causes) {
    absl::StrAppend(&text, "\nLikely cause: ", cause);
  }
  absl::StrAppend(
      &text,
      "\nRun the same program in all replicas, take another container or "
      "other names, or reset the container if what it holds is not needed.");
  return absl::FailedPreconditionError(text);
}

}  // namespace weft
