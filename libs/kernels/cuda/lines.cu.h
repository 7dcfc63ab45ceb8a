// Launches of ops along lines of numbers: Cumsum and Cumprod, TopK, LRN. All
// take pointers to GPU memory, and REQUIRE at least one element of the result.
// The order of sums depends on the sizes alone.
#ifndef WEFT_LIBS_KERNELS_CUDA_LINES_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_LINES_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"
#include "libs/kernels/cuda/element_type.h"
#include "libs/kernels/cuda/line_scalar.h"

namespace weft::cuda {

// Along the middle of three dimensions. Floats and int64; `out` may be x.
struct ScanArgs {
  ElementType type = ElementType::kFloat;
  bool multiplies = false;  // false: adds
  bool exclusive = false, reverse = false;
  int64_t outer = 0, size = 0, inner = 0;
};
// The size of the scratch memory in bytes; 0: none.
int64_t ScanScratch(const ScanArgs& args);
void LaunchScan(const ScanArgs& args, const void* x, void* scratch, void* out,
                cudaStream_t stream);

// The k > 0 largest elements of each row, in order, and their positions as
// int32 or int64. Floats and int64. `values` must not overlap x.
struct TopKArgs {
  ElementType type = ElementType::kFloat;
  bool has_long_indices = false;
  int64_t rows = 0, columns = 0, k = 0;
};
// Returns whether sorting the rows is faster than selecting one element after
// another.
bool IsForSort(const TopKArgs& args);
// Selects the elements.
void LaunchTopK(const TopKArgs& args, const void* x, void* values,
                void* indices, cudaStream_t stream);

// TopK by a sort (sort.cu.h), in several launches. Position i * columns + j is
// element j of row i.
//
// There is a key and a position for each element. HasRowInKey: keys have
// BitsFor(rows) + 32 bits and order everything; otherwise 64 bits, which order
// the elements of all rows. REQUIRES: at most 2^31 rows.
bool HasRowInKey(ElementType type);
void LaunchTopKKeys(const TopKArgs& args, const void* x, uint64_t* keys,
                    int64_t* places, cudaStream_t stream);
// The rows of the positions as keys; a stable sort by them keeps the order
// within a row.
void LaunchRowKeys(const TopKArgs& args, const int64_t* places, uint64_t* keys,
                   cudaStream_t stream);
// Takes the first k elements of each row from sorted positions.
void LaunchTakeTopK(const TopKArgs& args, const void* x, const int64_t* places,
                    void* values, void* indices, cudaStream_t stream);

// Whether fewer than k predictions of a row are larger than that of its target,
// and all are finite. Targets are int32 or int64.
struct InTopKArgs {
  int64_t rows = 0, classes = 0, k = 0;
  bool has_long_targets = false;
};
void LaunchInTopK(const InTopKArgs& args, const void* predictions,
                  const void* targets, void* out, cudaStream_t stream);

// Floats, but not doubles. Results must not overlap operands.
void LaunchLrn(ElementType type, const LrnArgs& args, const void* x, void* out,
               cudaStream_t stream);
void LaunchLrnGradient(ElementType type, const LrnArgs& args,
                       const void* gradient, const void* x, const void* result,
                       void* out, cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_LINES_CU_H_
