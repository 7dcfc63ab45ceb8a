// Into how many parts the work of a convolution is worth cutting, whoever does
// it, and how the sums of parts are added up.
//
// Threads: pure functions; work is split over the Scheduler's threads.
#ifndef WEFT_LIBS_KERNELS_NN_CONVOLUTION_PARTS_H_
#define WEFT_LIBS_KERNELS_NN_CONVOLUTION_PARTS_H_

#include <cstdint>

#include "libs/base/scheduler.h"
#include "libs/kernels/nn/convolution.h"

namespace weft {

inline int64_t CeilOfRatio(int64_t a, int64_t b) { return (a + b - 1) / b; }

// At least 1.
int64_t PartsWorthOf(const Convolution& sizes);

// Of a gradient by the filter, each with a sum of its own: what the shape alone
// decides, so that a sum has the same bits whoever is idle. At least 1.
int64_t SumsWorthOf(const Convolution& sizes);

// Adds `count` rows of `numbers` each, one after the other, to `sum`: the first
// one first. T is float or double.
template <typename T>
void AddUp(Scheduler& scheduler, const T* rows, int64_t count, int64_t numbers,
           T* sum);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_CONVOLUTION_PARTS_H_
