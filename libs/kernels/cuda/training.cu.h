// Launches that change variables: optimizers' rules, AssignAdd and its kin, and
// changes of some rows. All take pointers to a GPU's memory, and REQUIRE at
// least one element that changes.
//
// Rows: one thread makes all changes of an element, in the order of `indices`,
// so duplicates add up as on the processor, and each run gives the same bits.
// An index that is out of range is passed over: nobody waits for the device to
// learn of it.
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
};

constexpr int kMostVariables = 4;
constexpr int kMostScalars = 6;

// What a rule takes: floats of `type`, float or double inside.
struct Training {
  TrainingRule rule;
  ElementType type;
  bool flag = false;  // use_nesterov, update_slots or multiply_linear_by_lr
  const void* scalars[kMostScalars] = {};  // in the order of the op's inputs
  const void* from[kMostVariables] = {};
  void* to[kMostVariables] = {};  // may be what `from` is
  const void* gradient = nullptr;
};

// Which rows of a variable change.
struct Rows {
  const void* indices = nullptr;
  bool is_int64 = false;
  int64_t count = 0;  // of the indices
  int64_t rows = 0;   // of the variable
  int64_t row = 0;    // elements of one
};

void LaunchTraining(const Training& training, int64_t n, cudaStream_t stream);

// Momentum, Adagrad and AdagradV2; in `to` alone.
void LaunchTrainingOfRows(const Training& training, const Rows& rows,
                          cudaStream_t stream);

enum class Change { kAdd, kSub, kReplace };

// to[i] = from[i] + or - by[i]. Floats and int64.
void LaunchChange(Change change, ElementType type, int64_t n, const void* from,
                  const void* by, void* to, cudaStream_t stream);

// Changes to[index] by the row of `by` that stands where the index does, or by
// the scalar `by`. Floats and int64.
void LaunchChangeOfRows(Change change, ElementType type, const Rows& rows,
                        const void* by, bool is_scalar, void* to,
                        cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_TRAINING_CU_H_
