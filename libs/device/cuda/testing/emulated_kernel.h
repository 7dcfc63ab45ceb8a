// What a *.cu source needs from which bazel/emulated_kernels.py made one for
// g++: the names that nvcc knows by itself, for kernels that the processor runs
// (EmulatedCuda). Included before all else.
#ifndef WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_KERNEL_H_
#define WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_KERNEL_H_

// nvcc accepts comparisons of threadIdx with signed numbers.
#pragma GCC diagnostic ignored "-Wsign-compare"

// They declare some of these names themselves, so they come first.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>

#include <bit>
#include <cstddef>
#include <functional>

namespace weft {

// Which thread of which block the calling code is.
struct EmulatedThread {
  dim3 grid, block;
  uint3 block_index = {}, thread_index = {};
};
extern thread_local EmulatedThread emulated_thread;

// __syncthreads of the source's line: returns when all threads of the block
// have come there; whether one of them brought a vote.
bool EmulatedBarrier(int line, bool vote);

// Puts a kernel on the stream, in each of whose threads `thread` is called.
void EmulatedLaunch(dim3 blocks, dim3 threads, size_t shared_bytes,
                    cudaStream_t stream, std::function<void()> thread);

// Puts on the stream what a library's kernels would do.
cudaError_t EmulatedEnqueue(cudaStream_t stream, std::function<void()> work);

}  // namespace weft

#define WEFT_MOST_BLOCKS 3  // libs/kernels/cuda/elements.cu.h

#define gridDim ::weft::emulated_thread.grid
#define blockDim ::weft::emulated_thread.block
#define blockIdx ::weft::emulated_thread.block_index
#define threadIdx ::weft::emulated_thread.thread_index

// Of a thread of the processor, which runs one block at a time.
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
