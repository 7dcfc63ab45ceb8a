// ElementProgram applies several elementwise functions in one pass over memory:
// a block of elements passes through all functions while it is in the
// first-level cache. The loops are those of the functions' own kernels, so
// results are bitwise equal.
#ifndef WEFT_LIBS_KERNELS_NN_ELEMENT_PROGRAM_H_
#define WEFT_LIBS_KERNELS_NN_ELEMENT_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/kernels/common/element_loops.h"
#include "libs/tensor/tensor.h"

namespace weft {

// One function on floating-point numbers, which is defined for all of them.
// Values are numbered: first the program's arguments, then the results of the
// steps.
struct ElementStep {
  ElementLoops loops;
  int x = 0;
  int y = -1;  // of a binary function
};

// Threads: a value; work is split over the Scheduler's threads.
class ElementProgram {
 public:
  static constexpr int kMaxSteps = 32;

  // Returns INVALID_ARGUMENT if a step uses a later value.
  static absl::StatusOr<ElementProgram> Of(int num_args, int64_t element_size,
                                           std::vector<ElementStep> steps);

  // The shape of the result, if all values have that shape, except scalars and
  // arguments that are one row of it. Otherwise nullopt: the steps must then be
  // computed one by one, or one of them rejects its operands.
  std::optional<TensorShape> ShapeOf(
      absl::Span<const Tensor* const> args) const;

  // `out` must have that shape, and may share the memory of such an argument.
  void Run(OpKernelContext& context, absl::Span<const Tensor* const> args,
           Tensor& out) const;

  const std::vector<ElementStep>& steps() const { return steps_; }
  int num_args() const { return num_args_; }

 private:
  class Blocks;

  ElementProgram(int num_args, int64_t element_size,
                 std::vector<ElementStep> steps);
  void PlaceResults();

  int num_args_;
  int64_t element_size_;
  std::vector<ElementStep> steps_;
  // For each step, the block buffer that holds its result.
  std::vector<int> places_;
  int num_places_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_ELEMENT_PROGRAM_H_
