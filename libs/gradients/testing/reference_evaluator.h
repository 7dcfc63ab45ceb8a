// EvaluateByReference runs a graph of doubles, integers and bools with the
// reference ops (reference_ops.h), branches included; it has no loops and no
// state. For tests only.
#ifndef WEFT_LIBS_GRADIENTS_TESTING_REFERENCE_EVALUATOR_H_
#define WEFT_LIBS_GRADIENTS_TESTING_REFERENCE_EVALUATOR_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/graph/attr_value.h"
#include "libs/ops/output.h"
#include "libs/tensor/tensor.h"

namespace weft {

// Feeds in, fetches out. UNIMPLEMENTED, naming the op, for one without a
// reference; INVALID_ARGUMENT for a placeholder that is not fed, and for a
// fetch in a branch that was not taken.
absl::StatusOr<std::vector<Tensor>> EvaluateByReference(
    const std::vector<std::pair<Output, Tensor>>& feeds,
    const std::vector<Output>& fetches);

// An argument of an op: a constant, or values that its gradient is taken at.
struct GradientArg {
  GradientArg(Tensor constant)  // NOLINT: a list of arguments is a table
      : fixed(std::move(constant)), is_fixed(true) {}
  GradientArg(std::initializer_list<int64_t> dims) : shape(dims) {}
  GradientArg(std::initializer_list<int64_t> dims, double lowest,
              double highest)
      : shape(dims), low(lowest), high(highest) {}

  Tensor fixed;
  bool is_fixed = false;
  TensorShape shape;
  double low = -0.9, high = 0.9;
};

// How much of the shapes of the arguments is known in the graph.
enum class GradientShapes { kKnown, kRank, kUnknown };

// Returns the largest error of the op's gradients, as MaxGradientError does,
// with respect to all arguments that are not constants.
absl::StatusOr<double> OpGradientError(const std::string& op,
                                       const std::vector<GradientArg>& args,
                                       const AttrMap& attrs,
                                       GradientShapes shapes);

// Returns the gradients of the sum of the op's first output with respect to
// each argument of doubles, at these values; an uninitialized tensor for None.
absl::StatusOr<std::vector<Tensor>> OpGradientsAt(
    const std::string& op, const std::vector<Tensor>& args,
    const AttrMap& attrs = {});

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_TESTING_REFERENCE_EVALUATOR_H_
