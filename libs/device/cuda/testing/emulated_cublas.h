// What EmulatedCuda tells the shared library of emulated_cublas.cc.
#ifndef WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_CUBLAS_H_
#define WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_CUBLAS_H_

#include <functional>

#include "libs/device/cuda/cuda_types.h"

namespace weft {

// Puts work on a stream; 0, or an error.
using EmulatedCublasEnqueue = int (*)(cudaStream_t stream,
                                      std::function<void()> work);

}  // namespace weft

// Before any product.
extern "C" void WeftEmulatedCublasUse(weft::EmulatedCublasEnqueue enqueue);

#endif  // WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_CUBLAS_H_
