// WEFT_HOST_DEVICE marks a function that runs on CPUs and GPUs, so that tests
// on the CPU cover it.
#ifndef WEFT_LIBS_KERNELS_CUDA_HOST_DEVICE_H_
#define WEFT_LIBS_KERNELS_CUDA_HOST_DEVICE_H_

#ifdef __CUDACC__
#define WEFT_HOST_DEVICE __host__ __device__
#else
#define WEFT_HOST_DEVICE
#endif

#endif  // WEFT_LIBS_KERNELS_CUDA_HOST_DEVICE_H_
