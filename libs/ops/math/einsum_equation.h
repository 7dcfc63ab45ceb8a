// The equation of an Einsum, "ij,jk->ik": what its shape function, its kernel
// and its gradient read in it.
//
// Values without state.
#ifndef WEFT_LIBS_OPS_MATH_EINSUM_EQUATION_H_
#define WEFT_LIBS_OPS_MATH_EINSUM_EQUATION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

// Subscripts have one character for each label; an ellipsis is one '.', and
// stands for any number of dimensions, which broadcast.
struct EinsumEquation {
  static constexpr char kEllipsis = '.';

  std::vector<std::string> inputs;  // one or two
  std::string output;

  // The equation as a program writes it.
  std::string ToString() const;
};

// INVALID_ARGUMENT with TensorFlow's texts: not one "->", more than two
// operands, periods that are no ellipsis, a result's label that no operand has;
// and where there are more labels than a tensor may have dimensions.
absl::StatusOr<EinsumEquation> ParseEinsum(absl::string_view equation);

// How many dimensions of a tensor of rank `rank` the ellipsis of `subscript`
// stands for; 0 without one. INVALID_ARGUMENT where the labels do not fit;
// `input` is which operand it is, for the text.
absl::StatusOr<int> EllipsisDims(absl::string_view subscript, int input,
                                 int rank);

// INVALID_ARGUMENT where operands have dimensions that broadcast and the result
// of `equation` has no place for them, or more than a tensor may have.
absl::Status CheckEinsumOutput(const EinsumEquation& equation,
                               int broadcast_dims);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_MATH_EINSUM_EQUATION_H_
