// Launches that change variables: optimizers' rules, AssignAdd and AssignSub,
// and changes of rows. All take pointers to GPU memory, and REQUIRE at least
// one changed element.
//
// Changes of rows are first sorted by row (RowOrder), and made in the order of
// `indices`, so that all runs give the same bits. An index out of range is
// ignored, because reporting it would require waiting for the device.
#ifndef WEFT_LIBS_KERNELS_CUDA_TRAINING_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_TRAINING_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"
#include "libs/kernels/cuda/element_type.h"

namespace weft::cuda {

enum class TrainingRule {
  kGradientDescent,
  kMomentum,
  kAdagrad,
  kAdagradV2,
  kAdam,
  kAdaMax,
  kAdadelta,
  kRMSProp,
  kCenteredRMSProp,
  kFtrl,
  kFtrlV2,
  kAdagradDA,
  kProximalGradientDescent,
  kProximalAdagrad,
};

constexpr int kMostVariables = 4;
constexpr int kMostScalars = 6;

// The arguments of a rule: floats of `type`, computed as float or double.
struct Training {
  TrainingRule rule;
  ElementType type;
  bool flag = false;  // use_nesterov, update_slots or multiply_linear_by_lr
  // In the order of the op's inputs; null: the scalar is in `values`.
  const void* scalars[kMostScalars] = {};
  double values[kMostScalars] = {};
  const void* from[kMostVariables] = {};
  void* to[kMostVariables] = {};  // may equal `from`
  const void* gradient = nullptr;
};

void LaunchTraining(const Training& training, int64_t n, cudaStream_t stream);

enum class Change { kAdd, kSub };

// to[i] = from[i] + or - by[i]. Floats and int64.
void LaunchChange(Change change, ElementType type, int64_t n, const void* from,
                  const void* by, void* to, cudaStream_t stream);

// The rows of a variable that change.
struct Rows {
  const void* indices = nullptr;
  bool is_int64 = false;
  int64_t count = 0;  // number of indices
  int64_t rows = 0;   // rows of the variable
  int64_t row = 0;    // elements per row
};

// The changes sorted by row and, within a row, by index position. A key is the
// row, or `rows` for an index out of range, with the index position in the
// lower `place_bits` bits.
struct RowOrder {
  const uint64_t* keys = nullptr;
  int place_bits = 0;
  int64_t count = 0, rows = 0, row = 0;
  int error = 0;  // cudaError_t of the sort, already cleared
};

// 0: a key has too few bits for these rows and indices.
int64_t RowOrderScratch(const Rows& rows);
// Fills scratch memory of that size, which then holds the keys.
RowOrder LaunchRowOrder(const Rows& rows, void* scratch, int64_t bytes,
                        cudaStream_t stream);

// For rules with sparse ops; changes `to` in place.
void LaunchTrainingOfRows(const Training& training, const RowOrder& order,
                          cudaStream_t stream);

// Changes each row by the rows of `by` at its indices, or by the scalar `by`.
// Floats, which are summed at least as float, and int64. Few changes need no
// scratch memory.
int64_t RowSumScratch(ElementType type, const RowOrder& order);
void LaunchRowSum(Change change, ElementType type, const RowOrder& order,
                  const void* by, bool is_scalar, void* scratch, void* to,
                  cudaStream_t stream);

// Combines each row with its rows of `by`, in order; if one of two elements is
// NaN, their extremum is the later one. Floats.
enum class RowReduction { kProd, kMax, kMin };
void LaunchRowReduction(RowReduction op, ElementType type,
                        const RowOrder& order, const void* by, void* to,
                        cudaStream_t stream);

// Replaces each row by its last row of `by`. Elements of 1, 2, 4, 8 or 16
// bytes.
void LaunchRowReplacement(int64_t element_size, const RowOrder& order,
                          const void* by, bool is_scalar, void* to,
                          cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_TRAINING_CU_H_
