// PairSorter: the memory in which pairs of 64-bit numbers are sorted on a GPU.
#ifndef WEFT_LIBS_KERNELS_CUDA_PAIR_SORTER_H_
#define WEFT_LIBS_KERNELS_CUDA_PAIR_SORTER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// For one kernel's launches, one thread. May be dropped when what uses it is
// launched.
class PairSorter {
 public:
  // For up to n > 0 pairs. REQUIRES: the kernel runs on a CudaDevice, and the
  // context outlives it.
  static absl::StatusOr<PairSorter> Create(OpKernelContext& context, int64_t n);

  // What is to be sorted, and the result then.
  uint64_t* keys();
  int64_t* values();

  // The first n pairs by the bits [begin_bit, end_bit) of their keys, smallest
  // first; equal ones stay in their order.
  absl::Status Sort(int64_t n, int begin_bit, int end_bit);

 private:
  explicit PairSorter(OpKernelContext& context) : context_(&context) {}

  OpKernelContext* context_;
  Tensor keys_[2], values_[2], scratch_;
  int current_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_PAIR_SORTER_H_
