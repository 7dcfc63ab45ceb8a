// Ops that print and check values.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/control/op_groups.h"

namespace weft {
namespace {

absl::Status TextShape(InferenceContext& c) {
  return c.InputWithRank(0, 0).status();
}

// Checks that the template has as many placeholders as there are inputs.
absl::Status FormatShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const auto text, c.GetAttr<std::string>("template"));
  ASSIGN_OR_RETURN(const auto place, c.GetAttr<std::string>("placeholder"));
  const std::vector<absl::string_view> parts = absl::StrSplit(text, place);
  const int places = static_cast<int>(parts.size()) - 1;
  if (places != c.num_inputs()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num placeholders in template and num inputs must match: ", places,
        " vs. ", c.num_inputs()));
  }
  return shapes::Scalar(c);
}

}  // namespace

void RegisterLoggingOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("Assert")
                   .Input("condition: bool")
                   .Input("data: T")
                   .Attr("T: list(type) >= 1")
                   .Attr("summarize: int = 3")
                   .Stateful()
                   .Doc("Fails with the data in its error text unless the "
                        "condition holds.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("Print")
                   .Input("input: T")
                   .Input("data: U")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("U: list(type) >= 0")
                   .Attr("message: string = ''")
                   .Attr("first_n: int = -1")
                   .Attr("summarize: int = 3")
                   .Stateful()
                   .Doc("Returns its input, and prints the data on its task.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("PrintV2")
                   .Input("input: string")
                   .Attr("output_stream: string = 'stderr'")
                   .Attr("end: string = '\\n'")
                   .Stateful()
                   .Doc("Prints a text on its task.")
                   .Shape(TextShape));
  registry.Add(OpDefBuilder("StringFormat")
                   .Input("inputs: T")
                   .Output("output: string")
                   .Attr("T: list(type) >= 0")
                   .Attr("template: string = '%s'")
                   .Attr("placeholder: string = '%s'")
                   .Attr("summarize: int = 3")
                   .Doc("Formats a template with the inputs.")
                   .Shape(FormatShape));
}

}  // namespace weft
