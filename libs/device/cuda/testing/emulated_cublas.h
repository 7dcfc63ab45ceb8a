// The interface between EmulatedCuda and the shared library of
// emulated_cublas.cc.
#ifndef WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_CUBLAS_H_
#define WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_CUBLAS_H_

#include <functional>

#include "libs/device/cuda/cuda_types.h"

namespace weft {

// Adds work to a stream; returns 0, or an error.
using EmulatedCublasEnqueue = int (*)(cudaStream_t stream,
                                      std::function<void()> work);

}  // namespace weft

// Must be called before any product.
extern "C" void WeftEmulatedCublasUse(weft::EmulatedCublasEnqueue enqueue);

#endif  // WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_CUBLAS_H_
