// What ReverseSequence, for CPUs and for GPUs, finds out before it moves
// elements. Errors are INVALID_ARGUMENT.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ARRAY_SEQUENCE_LENGTHS_H_
#define WEFT_LIBS_KERNELS_ARRAY_SEQUENCE_LENGTHS_H_

#include "absl/status/statusor.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// Along which dimensions sequences lie, and their steps.
struct SequenceDims {
  int64_t sequence = 0, step = 0;

  static SequenceDims Read(const OpKernelConstruction& construction);
};

// How many steps of each sequence of input 0 are reversed: input 1, which lies
// in host memory, checked.
absl::StatusOr<Dims> SequenceLengths(const OpKernelContext& context,
                                     const SequenceDims& dims);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_SEQUENCE_LENGTHS_H_
