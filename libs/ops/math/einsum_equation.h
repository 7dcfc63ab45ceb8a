// EinsumEquation is the parsed equation of an Einsum, "ij,jk->ik", for its
// shape function, kernel and gradient.
//
// Stateless values.
#ifndef WEFT_LIBS_OPS_MATH_EINSUM_EQUATION_H_
#define WEFT_LIBS_OPS_MATH_EINSUM_EQUATION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

// Subscripts have one character per label. An ellipsis is one '.' and stands
// for any number of broadcast dimensions.
struct EinsumEquation {
  static constexpr char kEllipsis = '.';

  std::vector<std::string> inputs;  // one or two
  std::string output;

  // The equation in a program's notation.
  std::string ToString() const;
};

// Returns INVALID_ARGUMENT with TensorFlow's texts for: not exactly one "->",
// more than two operands, periods that are not an ellipsis, a label of the
// result that no operand has. Also for more labels than a tensor may have
// dimensions.
absl::StatusOr<EinsumEquation> ParseEinsum(absl::string_view equation);

// The number of dimensions of a tensor of rank `rank` that the ellipsis of
// `subscript` stands for; 0 without one. INVALID_ARGUMENT if the labels do not
// fit; `input` is the operand's number, for the text.
absl::StatusOr<int> EllipsisDims(absl::string_view subscript, int input,
                                 int rank);

// Returns INVALID_ARGUMENT if operands have broadcast dimensions, but the
// result of `equation` has no ellipsis or would have too many dimensions.
absl::Status CheckEinsumOutput(const EinsumEquation& equation,
                               int broadcast_dims);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_MATH_EINSUM_EQUATION_H_
