// Launches that change variables: optimizers' rules, AssignAdd and its kin, and
// changes of some rows. All take pointers to a GPU's memory, and REQUIRE at
// least one element that changes.
//
// Rows: their changes are ordered by row first (RowOrder), and made in the
// order of `indices`, so each run gives the same bits. An index that is out of
// range is passed over: nobody waits for the device to learn of it.
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

// What a rule takes: floats of `type`, float or double inside.
struct Training {
  TrainingRule rule;
  ElementType type;
  bool flag = false;  // use_nesterov, update_slots or multiply_linear_by_lr
  // In the order of the op's inputs; null: the scalar is the one of `values`.
  const void* scalars[kMostScalars] = {};
  double values[kMostScalars] = {};
  const void* from[kMostVariables] = {};
  void* to[kMostVariables] = {};  // may be what `from` is
  const void* gradient = nullptr;
};

void LaunchTraining(const Training& training, int64_t n, cudaStream_t stream);

enum class Change { kAdd, kSub };

// to[i] = from[i] + or - by[i]. Floats and int64.
void LaunchChange(Change change, ElementType type, int64_t n, const void* from,
                  const void* by, void* to, cudaStream_t stream);

// Which rows of a variable change.
struct Rows {
  const void* indices = nullptr;
  bool is_int64 = false;
  int64_t count = 0;  // of the indices
  int64_t rows = 0;   // of the variable
  int64_t row = 0;    // elements of one
};

// The changes of rows, ordered by row and, of one row, as the indices are: a
// key is the row, or `rows` where the index is none, and below it, in so many
// bits, the place among the indices.
struct RowOrder {
  const uint64_t* keys = nullptr;
  int place_bits = 0;
  int64_t count = 0, rows = 0, row = 0;
  int error = 0;  // the cudaError_t of the sort, which leaves none to be asked
};

// 0: a key has too few bits for so many rows and indices.
int64_t RowOrderScratch(const Rows& rows);
// Fills scratch memory of those bytes, in which the keys lie then.
RowOrder LaunchRowOrder(const Rows& rows, void* scratch, int64_t bytes,
                        cudaStream_t stream);

// Of rules that have sparse ops; in `to` alone.
void LaunchTrainingOfRows(const Training& training, const RowOrder& order,
                          cudaStream_t stream);

// Changes each row by the rows of `by` that stand where its indices do, or by
// the scalar `by`. Floats, whose sums are made in float at least, and int64.
// Few changes need no scratch memory.
int64_t RowSumScratch(ElementType type, const RowOrder& order);
void LaunchRowSum(Change change, ElementType type, const RowOrder& order,
                  const void* by, bool is_scalar, void* scratch, void* to,
                  cudaStream_t stream);

// Of each row and those of `by` that are meant for it, in order; where one of
// two is NaN their extreme is the later. Floats.
enum class RowReduction { kProd, kMax, kMin };
void LaunchRowReduction(RowReduction op, ElementType type,
                        const RowOrder& order, const void* by, void* to,
                        cudaStream_t stream);

// Each row becomes the last row of `by` that is meant for it, of elements of
// 1, 2, 4, 8 or 16 bytes.
void LaunchRowReplacement(int64_t element_size, const RowOrder& order,
                          const void* by, bool is_scalar, void* to,
                          cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_TRAINING_CU_H_
