// ElementProgram: several element-wise functions, one after the other, in one
// pass over memory: a block of elements goes through all of them while it is in
// the processor's first cache. The loops are those of the kernels that run the
// functions one by one, so each element comes out the same to the bit.
#ifndef WEFT_LIBS_KERNELS_NN_ELEMENT_PROGRAM_H_
#define WEFT_LIBS_KERNELS_NN_ELEMENT_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/kernels/element_loops.h"
#include "libs/tensor/tensor.h"

namespace weft {

// One function, of floating-point numbers, so that it has a result for each.
// Values are numbered: first the program's arguments, then what
// the steps give.
struct ElementStep {
  ElementLoops loops;
  int x = 0;
  int y = -1;  // of a function of two
};

// Threads: a value; work is split over the Scheduler's threads.
class ElementProgram {
 public:
  static constexpr int kMaxSteps = 32;

  // INVALID_ARGUMENT where a step takes what is not there yet.
  static absl::StatusOr<ElementProgram> Of(int num_args, int64_t element_size,
                                           std::vector<ElementStep> steps);

  // The shape of the result, where all values have that shape, but for scalars
  // and arguments that are one row of it; else none: then it must be computed
  // step by step, or a step will refuse its operands.
  std::optional<TensorShape> ShapeOf(
      absl::Span<const Tensor* const> args) const;

  // `out` has that shape, and may be the memory of an argument that has it.
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
  // By step: in which piece of memory for a block its result lies.
  std::vector<int> places_;
  int num_places_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_ELEMENT_PROGRAM_H_
