// ExampleShapes: the shapes of what the Parse ops give. Internal to this
// folder.
#ifndef WEFT_LIBS_OPS_PARSING_EXAMPLE_SHAPES_H_
#define WEFT_LIBS_OPS_PARSING_EXAMPLE_SHAPES_H_

#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "libs/graph/inference_context.h"

namespace weft {

// Sets the outputs of `c` from the first on, one kind of feature after the
// other. `batch` is the shape of the input: a vector, or a scalar for one
// example alone.
class ExampleShapes {
 public:
  ExampleShapes(InferenceContext& c, PartialShape batch)
      : c_(c), batch_(std::move(batch)) {}

  // `count` indices, values and shapes of features of `own_rank`.
  void SetSparse(int64_t count, int own_rank);
  // INVALID_ARGUMENT unless attr `shapes` is `count` shapes that are known but
  // for their first sizes. `prefix` comes before each.
  absl::Status SetDense(absl::string_view shapes, int64_t count,
                        const PartialShape& prefix);
  // Of any length.
  void SetVectors(int64_t count);
  // Where the examples of a batch begin and end; a scalar for one alone.
  void SetSplits(int64_t count);
  void SetAll(int64_t count, const PartialShape& shape);

 private:
  InferenceContext& c_;
  const PartialShape batch_;
  int next_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_OPS_PARSING_EXAMPLE_SHAPES_H_
