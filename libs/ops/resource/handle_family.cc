#include "libs/ops/resource/handle_family.h"

#include "absl/strings/str_cat.h"
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

const char* HandleFamily::NameOf(const HandleOpNames& names) const {
  switch (kind_) {
    case HandleKind::kReference:
      return names.of_reference;
    case HandleKind::kStrings:
      return names.of_strings;
    case HandleKind::kResource:
      break;
  }
  return names.of_resource;
}

OpDefBuilder HandleFamily::Maker(const HandleOpNames& names,
                                 absl::string_view output) const {
  OpDefBuilder builder(NameOf(names));
  builder.Output(absl::StrCat(output, ": ", TypeOf(kind_)))
      .Stateful()
      .Shape(HandleShape);
  return builder;
}

OpDefBuilder HandleFamily::User(const HandleOpNames& names,
                                absl::string_view input) const {
  OpDefBuilder builder(NameOf(names));
  builder.Input(absl::StrCat(input, ": ", TypeOf(kind_)));
  if (is_resource()) builder.Stateful();
  return builder;
}

}  // namespace weft
