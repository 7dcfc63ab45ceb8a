// ExampleShapes sets the output shapes of the Parse ops. Internal to this
// folder.
#ifndef WEFT_LIBS_OPS_PARSING_EXAMPLE_SHAPES_H_
#define WEFT_LIBS_OPS_PARSING_EXAMPLE_SHAPES_H_

#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "libs/graph/inference_context.h"

namespace weft {

// Sets the outputs of `c` in order, one kind of feature after another. `batch`
// is the shape of the input: a vector, or a scalar for a single example.
class ExampleShapes {
 public:
  ExampleShapes(InferenceContext& c, PartialShape batch)
      : c_(c), batch_(std::move(batch)) {}

  // `count` indices, values and shapes of features of rank `own_rank`.
  void SetSparse(int64_t count, int own_rank);
  // Returns INVALID_ARGUMENT unless attr `shapes` has `count` shapes that are
  // known except for their first dimensions. `prefix` precedes each shape.
  absl::Status SetDense(absl::string_view shapes, int64_t count,
                        const PartialShape& prefix);
  // Vectors of unknown length.
  void SetVectors(int64_t count);
  // The row splits of a batch; a scalar for a single example.
  void SetSplits(int64_t count);
  void SetAll(int64_t count, const PartialShape& shape);

 private:
  InferenceContext& c_;
  const PartialShape batch_;
  int next_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_OPS_PARSING_EXAMPLE_SHAPES_H_
