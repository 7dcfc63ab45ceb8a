#include "libs/kernels/cuda/pair_sorter.h"

#include "libs/base/status.h"
#include "libs/device/cuda/cuda_status.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/sort.cu.h"

namespace weft {

absl::StatusOr<PairSorter> PairSorter::Create(OpKernelContext& context,
                                              int64_t n) {
  StreamOf(context);  // makes the device current for CUB
  const int64_t bytes = cuda::PairSortScratch(n);
  RETURN_IF_ERROR(LaunchStatus());
  if (bytes == 0) {
    return absl::InternalError("CUDA does not tell what memory a sort needs");
  }
  PairSorter sorter(context);
  for (int i = 0; i < 2; ++i) {
    ASSIGN_OR_RETURN(sorter.keys_[i],
                     context.AllocateTemp(DT_UINT64, TensorShape({n})));
    ASSIGN_OR_RETURN(sorter.values_[i],
                     context.AllocateTemp(DT_INT64, TensorShape({n})));
  }
  ASSIGN_OR_RETURN(sorter.scratch_,
                   context.AllocateTemp(DT_UINT8, TensorShape({bytes})));
  return sorter;
}

uint64_t* PairSorter::keys() {
  return static_cast<uint64_t*>(keys_[current_].mutable_data());
}

int64_t* PairSorter::values() {
  return static_cast<int64_t*>(values_[current_].mutable_data());
}

absl::Status PairSorter::Sort(int64_t n, int begin_bit, int end_bit) {
  cuda::PairSort sort;
  sort.n = n;
  sort.begin_bit = begin_bit;
  sort.end_bit = end_bit;
  sort.keys = keys();
  sort.values = values();
  current_ = 1 - current_;
  sort.sorted_keys = keys();
  sort.sorted_values = values();
  const int error =
      LaunchPairSort(sort, scratch_.mutable_data(), scratch_.num_elements(),
                     StreamOf(*context_));
  RETURN_IF_ERROR(LaunchStatus());
  return CudaStatus(error, "a sort");
}

}  // namespace weft
