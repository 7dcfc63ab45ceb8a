// Launches of what goes along lines of numbers: Cumsum and Cumprod, TopK, LRN.
// All take pointers to a GPU's memory, and REQUIRE at least one element of the
// result. Each has one order of sums, which the sizes alone decide.
#ifndef WEFT_LIBS_KERNELS_CUDA_LINES_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_LINES_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"
#include "libs/kernels/cuda/element_type.h"
#include "libs/kernels/cuda/line_scalar.h"

namespace weft::cuda {

// Along the middle one of three dimensions. Floats and int64; `out` may be x.
struct ScanArgs {
  ElementType type = ElementType::kFloat;
  bool multiplies = false;  // else adds
  bool exclusive = false, reverse = false;
  int64_t outer = 0, size = 0, inner = 0;
};
// Bytes of the scratch memory that it takes; 0: none.
int64_t ScanScratch(const ScanArgs& args);
void LaunchScan(const ScanArgs& args, const void* x, void* scratch, void* out,
                cudaStream_t stream);

// The k > 0 largest of each row, in order, and their places as int32, or int64.
// Floats and int64. `values` lie elsewhere than x.
struct TopKArgs {
  ElementType type = ElementType::kFloat;
  bool has_long_indices = false;
  int64_t rows = 0, columns = 0, k = 0;
};
// Whether it takes less to sort the rows than to look for one number after the
// other.
bool IsForSort(const TopKArgs& args);
// Looks for them.
void LaunchTopK(const TopKArgs& args, const void* x, void* values,
                void* indices, cudaStream_t stream);

// By a sort (sort.cu.h), in parts. Place i * columns + j is number j of row i.
//
// A key and the place for each number. HasRowInKey: keys of BitsFor(rows) + 32
// bits, by which all is in order; else of 64 bits, for the order of all numbers
// whatever their rows. REQUIRES: at most 2^31 rows.
bool HasRowInKey(ElementType type);
void LaunchTopKKeys(const TopKArgs& args, const void* x, uint64_t* keys,
                    int64_t* places, cudaStream_t stream);
// The rows of so many places as keys, which keep the order of those of one row.
void LaunchRowKeys(const TopKArgs& args, const int64_t* places, uint64_t* keys,
                   cudaStream_t stream);
// The first k of each row, of places in order.
void LaunchTakeTopK(const TopKArgs& args, const void* x, const int64_t* places,
                    void* values, void* indices, cudaStream_t stream);

// Whether fewer than k of a row's predictions are larger than that of its
// target, all being finite. Targets are int32, or int64.
struct InTopKArgs {
  int64_t rows = 0, classes = 0, k = 0;
  bool has_long_targets = false;
};
void LaunchInTopK(const InTopKArgs& args, const void* predictions,
                  const void* targets, void* out, cudaStream_t stream);

// Floats, but for doubles. Results lie elsewhere than what they are made of.
void LaunchLrn(ElementType type, const LrnArgs& args, const void* x, void* out,
               cudaStream_t stream);
void LaunchLrnGradient(ElementType type, const LrnArgs& args,
                       const void* gradient, const void* x, const void* result,
                       void* out, cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_LINES_CU_H_
