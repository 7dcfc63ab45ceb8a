// The division of a convolution into parts, independent of the threads that
// compute them, and the addition of the parts' sums.
//
// Threads: pure functions; work is split over the Scheduler's threads.
#ifndef WEFT_LIBS_KERNELS_NN_CONVOLUTION_PARTS_H_
#define WEFT_LIBS_KERNELS_NN_CONVOLUTION_PARTS_H_

#include <cstdint>

#include "libs/base/scheduler/scheduler.h"
#include "libs/kernels/nn/convolution.h"

namespace weft {

inline int64_t CeilOfRatio(int64_t a, int64_t b) { return (a + b - 1) / b; }

// At least 1.
int64_t PartsWorthOf(const Convolution& sizes);

// The number of parts with separate sums for a gradient with respect to the
// filter. It depends on the shape alone, so that a sum has the same bits
// whichever threads are idle. At least 1.
int64_t SumsWorthOf(const Convolution& sizes);

// Adds `count` consecutive rows of `numbers` elements to `sum`, in order. T is
// float or double.
template <typename T>
void AddUp(Scheduler& scheduler, const T* rows, int64_t count, int64_t numbers,
           T* sum);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_CONVOLUTION_PARTS_H_
