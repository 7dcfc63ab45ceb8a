// WEFT_HOST_DEVICE marks a function that runs on the processor and on a GPU:
// one definition, which tests on the processor cover.
#ifndef WEFT_LIBS_KERNELS_CUDA_HOST_DEVICE_H_
#define WEFT_LIBS_KERNELS_CUDA_HOST_DEVICE_H_

#ifdef __CUDACC__
#define WEFT_HOST_DEVICE __host__ __device__
#else
#define WEFT_HOST_DEVICE
#endif

#endif  // WEFT_LIBS_KERNELS_CUDA_HOST_DEVICE_H_
