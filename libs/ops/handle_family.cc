#include "libs/ops/handle_family.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "libs/graph/inference_context.h"

namespace weft {
namespace {

const char* TypeOf(HandleKind kind) {
  switch (kind) {
    case HandleKind::kReference:
      return "Ref(string)";
    case HandleKind::kStrings:
      return "string";
    case HandleKind::kResource:
      break;
  }
  return "resource";
}

absl::Status HandleShape(InferenceContext& c) {
  const bool is_resource = c.output_type(0) == DT_RESOURCE;
  c.set_output(0,
               is_resource ? PartialShape::Scalar() : PartialShape::Vector(2));
  for (int i = 1; i < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape::Scalar());
  }
  return absl::OkStatus();
}

}  // namespace

OpDefBuilder HandleFamily::Maker(absl::string_view name,
                                 absl::string_view output) const {
  OpDefBuilder builder(absl::Substitute(version_, name));
  builder.Output(absl::StrCat(output, ": ", TypeOf(kind_)))
      .Stateful()
      .Shape(HandleShape);
  return builder;
}

OpDefBuilder HandleFamily::User(absl::string_view name,
                                absl::string_view input) const {
  OpDefBuilder builder(absl::Substitute(version_, name));
  builder.Input(absl::StrCat(input, ": ", TypeOf(kind_)));
  if (is_resource()) builder.Stateful();
  return builder;
}

}  // namespace weft
