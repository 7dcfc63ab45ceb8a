#include "libs/coordinator/resource_difference.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

constexpr size_t kShown = 5;

// Describes the type, shape and definition. Attributes of the definition that
// both sides have in common are left out.
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
  const std::string of = difference.there_task.empty()
                             ? ""
                             : absl::StrCat(" of ", difference.there_task);
  return absl::StrCat("where it has lived since a session", of,
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

bool IsLeft(const ResourceDifference& difference) {
  return difference.there_is_left();
}

std::string Heading(absl::Span<const ResourceDifference> differences) {
  if (std::all_of(differences.begin(), differences.end(), IsLeft)) {
    return "The session defines resources differently from earlier sessions "
           "whose resources still exist:";
  }
  return "The session disagrees with the rest of the cluster about resources "
         "that they would share:";
}

std::string Remedy(absl::Span<const ResourceDifference> differences) {
  const auto left =
      std::find_if(differences.begin(), differences.end(), IsLeft);
  if (left == differences.end()) {
    return "Run the same program in all replicas, take another container or "
           "other names, or reset the container if its resources are not "
           "needed.";
  }
  const std::string& container = left->here.resource.container;
  return absl::StrCat(
      "What a session has made lives on in its container until that is reset. "
      "If it is not needed any more: `weft reset ",
      container, "`, or Session::Reset(target, {\"", container,
      "\"}). If it is: give this program a container (Scope::WithContainer) "
      "or names (Scope::SubScope) of its own.");
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
  std::string text = Heading(differences);
  for (const ResourceDifference& difference : differences.subspan(0, kShown)) {
    text += Describe(difference);
  }
  if (differences.size() > kShown) {
    absl::StrAppend(&text, "\n  and ", differences.size() - kShown, " more");
  }
  for (const std::string& cause : causes) {
    absl::StrAppend(&text, "\nLikely cause: ", cause);
  }
  absl::StrAppend(&text, "\n", Remedy(differences));
  return absl::FailedPreconditionError(text);
}

}  // namespace weft
