// The names that nvcc predefines, for *.cu sources that
// bazel/emulated_kernels.py prepares for g++ and that run on the CPU
// (EmulatedCuda). Included before everything else.
#ifndef WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_KERNEL_H_
#define WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_KERNEL_H_

// nvcc accepts comparisons of threadIdx with signed numbers.
#pragma GCC diagnostic ignored "-Wsign-compare"

// They declare some of these names themselves, so they must come first.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>

#include <bit>
#include <cstddef>
#include <functional>

namespace weft {

// The block and thread indices of the calling code.
struct EmulatedThread {
  dim3 grid, block;
  uint3 block_index = {}, thread_index = {};
};
extern thread_local EmulatedThread emulated_thread;

// __syncthreads of the source's line: returns when all threads of the block
// have reached it; returns whether one of them voted.
bool EmulatedBarrier(int line, bool vote);

// Adds a kernel to the stream that calls `thread` in each of its threads.
void EmulatedLaunch(dim3 blocks, dim3 threads, size_t shared_bytes,
                    cudaStream_t stream, std::function<void()> thread);

// Adds the work of a library's kernels to the stream.
cudaError_t EmulatedEnqueue(cudaStream_t stream, std::function<void()> work);

}  // namespace weft

#define WEFT_MOST_BLOCKS 3  // libs/kernels/cuda/elements.cu.h

#define gridDim ::weft::emulated_thread.grid
#define blockDim ::weft::emulated_thread.block
#define blockIdx ::weft::emulated_thread.block_index
#define threadIdx ::weft::emulated_thread.thread_index

// Shared memory belongs to a CPU thread, which runs one block at a time.
#undef __shared__
#define __shared__ static thread_local
#undef __launch_bounds__
#define __launch_bounds__(...)

#define __syncthreads() \
  static_cast<void>(::weft::EmulatedBarrier(__LINE__, false))
#define __syncthreads_or(vote) \
  static_cast<int>(::weft::EmulatedBarrier(__LINE__, (vote) != 0))

inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline double __longlong_as_double(long long x) {
  return std::bit_cast<double>(x);
}
inline long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}

#endif  // WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_KERNEL_H_
