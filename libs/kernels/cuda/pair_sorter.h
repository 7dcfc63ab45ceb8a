// PairSorter owns the memory for sorting pairs of 64-bit numbers on a GPU.
#ifndef WEFT_LIBS_KERNELS_CUDA_PAIR_SORTER_H_
#define WEFT_LIBS_KERNELS_CUDA_PAIR_SORTER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// PairSorter sorts pairs for the launches of one kernel, on one thread. It may
// be destroyed once its users are launched.
class PairSorter {
 public:
  // Returns a sorter for up to n > 0 pairs. REQUIRES: the kernel runs on a
  // CudaDevice, and the context outlives the sorter.
  static absl::StatusOr<PairSorter> Create(OpKernelContext& context, int64_t n);

  // The pairs to sort, and afterwards the result.
  uint64_t* keys();
  int64_t* values();

  // Sorts the first n pairs by bits [begin_bit, end_bit) of their keys,
  // ascending; the sort is stable.
  absl::Status Sort(int64_t n, int begin_bit, int end_bit);

 private:
  explicit PairSorter(OpKernelContext& context) : context_(&context) {}

  OpKernelContext* context_;
  Tensor keys_[2], values_[2], scratch_;
  int current_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_PAIR_SORTER_H_
