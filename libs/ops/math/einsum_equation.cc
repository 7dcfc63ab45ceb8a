#include "libs/ops/math/einsum_equation.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"
#include "libs/tensor/shape.h"

namespace weft {
namespace {

// Converts "...ij" to ".ij".
absl::StatusOr<std::string> ReadSubscript(absl::string_view text) {
  const auto periods = std::count(text.begin(), text.end(), '.');
  if (periods != 0 && (periods != 3 || !absl::StrContains(text, "..."))) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected at most one ellipsis (...), but found ", periods,
                     " periods (.) in the input subscript: ", text));
  }
  std::string subscript = absl::StrReplaceAll(text, {{"...", "."}});
  if (subscript.size() > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("A subscript of an einsum has more than ", kMaxRank,
                     " dimensions: ", text.substr(0, kMaxRank), "..."));
  }
  return subscript;
}

absl::Status CheckOutputLabels(const EinsumEquation& parsed,
                               absl::string_view equation) {
  for (const char label : parsed.output) {
    if (label == EinsumEquation::kEllipsis) continue;
    const auto has = [&](const std::string& input) {
      return absl::StrContains(input, label);
    };
    if (std::none_of(parsed.inputs.begin(), parsed.inputs.end(), has)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Einsum output subscripts for equation '", equation,
                       "' has label '", absl::string_view(&label, 1),
                       "' which is not present in the input subscripts"));
    }
  }
  return absl::OkStatus();
}

bool HasEllipsis(absl::string_view subscript) {
  return absl::StrContains(subscript, EinsumEquation::kEllipsis);
}

}  // namespace

std::string EinsumEquation::ToString() const {
  return absl::StrReplaceAll(
      absl::StrCat(absl::StrJoin(inputs, ","), "->", output), {{".", "..."}});
}

absl::StatusOr<EinsumEquation> ParseEinsum(absl::string_view equation) {
  const std::vector<absl::string_view> sides = absl::StrSplit(equation, "->");
  if (sides.size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expecting exactly one '->' in einsum equation: ", equation));
  }
  const std::vector<absl::string_view> inputs = absl::StrSplit(sides[0], ',');
  if (inputs.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expecting 1 or 2 input subscripts in equation '",
                     equation, "' but got: ", inputs.size()));
  }
  EinsumEquation parsed;
  for (const absl::string_view input : inputs) {
    ASSIGN_OR_RETURN(parsed.inputs.emplace_back(), ReadSubscript(input));
  }
  ASSIGN_OR_RETURN(parsed.output, ReadSubscript(sides[1]));
  RETURN_IF_ERROR(CheckOutputLabels(parsed, equation));
  return parsed;
}

absl::StatusOr<int> EllipsisDims(absl::string_view subscript, int input,
                                 int rank) {
  const bool has_ellipsis = HasEllipsis(subscript);
  const int64_t labels =
      static_cast<int64_t>(subscript.size()) - (has_ellipsis ? 1 : 0);
  if (has_ellipsis ? rank < labels : rank != labels) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected input ", input, " to have rank ",
        has_ellipsis ? "at least " : "", labels, " but got: ", rank));
  }
  return static_cast<int>(rank - labels);
}

absl::Status CheckEinsumOutput(const EinsumEquation& equation,
                               int broadcast_dims) {
  if (broadcast_dims > 0 && !HasEllipsis(equation.output)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Output contains ", broadcast_dims,
        " broadcasting dimension(s) but no ellipsis (...) was found in the "
        "output subscripts."));
  }
  if (equation.output.size() + broadcast_dims > kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "The result of an einsum of equation '", equation.ToString(),
        "' would have more than ", kMaxRank, " dimensions"));
  }
  return absl::OkStatus();
}

}  // namespace weft
