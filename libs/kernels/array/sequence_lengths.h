// Checks the arguments of ReverseSequence on CPUs and GPUs. Errors are
// INVALID_ARGUMENT.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ARRAY_SEQUENCE_LENGTHS_H_
#define WEFT_LIBS_KERNELS_ARRAY_SEQUENCE_LENGTHS_H_

#include "absl/status/statusor.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// The dimensions of the batch and of the sequence steps.
struct SequenceDims {
  int64_t sequence = 0, step = 0;

  static SequenceDims Read(const OpKernelConstruction& construction);
};

// The number of steps to reverse in each sequence of input 0: the checked input
// 1, which is in host memory.
absl::StatusOr<Dims> SequenceLengths(const OpKernelContext& context,
                                     const SequenceDims& dims);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_SEQUENCE_LENGTHS_H_
