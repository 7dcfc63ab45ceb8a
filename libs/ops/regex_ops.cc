// Ops on strings with regular expressions, in RE2's syntax.
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/string_op_groups.h"

namespace weft {
namespace {

// All inputs after the first are scalars.
absl::Status PatternShape(InferenceContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  }
  return shapes::Unchanged(c);
}

}  // namespace

void RegisterRegexOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("RegexFullMatch")
                   .Input("input: string")
                   .Input("pattern: string")
                   .Output("output: bool")
                   .Doc("Whether the pattern matches the whole of each string.")
                   .Shape(PatternShape));
  registry.Add(OpDefBuilder("RegexReplace")
                   .Input("input: string")
                   .Input("pattern: string")
                   .Input("rewrite: string")
                   .Output("output: string")
                   .Attr("replace_global: bool = true")
                   .Doc("Replaces what the pattern matches in each string.")
                   .Shape(PatternShape));
  registry.Add(OpDefBuilder("StaticRegexFullMatch")
                   .Input("input: string")
                   .Output("output: bool")
                   .Attr("pattern: string")
                   .Doc("RegexFullMatch with a pattern that is an attribute.")
                   .Shape(PatternShape));
  registry.Add(OpDefBuilder("StaticRegexReplace")
                   .Input("input: string")
                   .Output("output: string")
                   .Attr("pattern: string")
                   .Attr("rewrite: string")
                   .Attr("replace_global: bool = true")
                   .Doc("RegexReplace with a pattern that is an attribute.")
                   .Shape(PatternShape));
}

}  // namespace weft
