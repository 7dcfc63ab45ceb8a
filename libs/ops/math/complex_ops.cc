// Ops on complex numbers and their parts.
#include "absl/strings/string_view.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/math/op_groups.h"

namespace weft {
namespace {

OpDefBuilder PartOf(absl::string_view name, absl::string_view output,
                    absl::string_view doc) {
  return OpDefBuilder(name)
      .Input(name == "ComplexAbs" ? "x: T" : "input: T")
      .Output(output)
      .Attr("T: {complex64, complex128} = DT_COMPLEX64")
      .Attr("Tout: {float, double} = DT_FLOAT")
      .Doc(doc)
      .Shape(shapes::Unchanged);
}

}  // namespace

void RegisterComplexOps(OpRegistry& registry) {
  registry.Add(PartOf("Real", "output: Tout", "The real part."));
  registry.Add(PartOf("Imag", "output: Tout", "The imaginary part."));
  registry.Add(
      PartOf("Angle", "output: Tout", "The argument of a complex number."));
  registry.Add(PartOf("ComplexAbs", "y: Tout",
                      "The absolute value of a complex number."));
  registry.Add(
      OpDefBuilder("Complex")
          .Input("real: T")
          .Input("imag: T")
          .Output("out: Tout")
          .Attr("T: {float, double} = DT_FLOAT")
          .Attr("Tout: {complex64, complex128} = DT_COMPLEX64")
          .Doc("Combines real and imaginary parts to a complex number.")
          .Shape(shapes::BroadcastBinary));
  registry.Add(OpDefBuilder("Conj")
                   .Input("input: T")
                   .Output("output: T")
                   .Attr("T: {complex64, complex128, variant} = DT_COMPLEX64")
                   .Doc("The complex conjugate.")
                   .Shape(shapes::Unchanged));
}

}  // namespace weft
