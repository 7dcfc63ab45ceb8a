// EmulatedCuda implements CUDA's functions for two GPUs emulated on the CPU. A
// test that links it (//libs/kernels/cuda:emulated) has these in place of the
// CUDA runtime, and the kernels of *.cu compiled by g++; everything else is the
// code for a real GPU: CudaDevice, its streams and pools, the kernels of
// *_cuda.cc.
//
// Launched work runs late: when a thread waits for it, or at random. New memory
// is filled with NaN, and ends exactly at the requested size (EmulatedMemory);
// device memory may be accessed only while the device's work runs, so an access
// by the host, and usually by the other device, ends with SIGSEGV. What CUDA
// refuses is refused: a stream of another device than the thread's, a copy
// outside of the device's memory, a block without threads. A kernel that
// accesses invalid memory, or whose threads diverge at a barrier, loses the
// device.
//
// It is more permissive than a GPU in these points: kernels may access host
// memory, numbers may be unaligned, read-modify-write sequences of a thread are
// not interrupted, and shared memory keeps the contents of an earlier block.
#ifndef WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_CUDA_H_
#define WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_CUDA_H_

#include <cstdint>
#include <string>

namespace weft {

// As in CUDA, the GPUs are process-wide, and the functions are thread-safe.
class EmulatedCuda {
 public:
  static constexpr int kDevices = 2;
  static constexpr int64_t kMemory = int64_t{2} << 30;  // bytes of each

  // Reseeds the random numbers, and repairs lost devices; cuBLAS is
  // unavailable. REQUIRES: there are no streams.
  static void Reset(uint64_t seed);
  // Makes cuBLAS available from `path`: that of emulated_cublas.cc.
  static void UseCublas(const std::string& path);
  // Bytes of all devices and of pinned memory.
  static int64_t memory_in_use();
  // Makes the next kernel fail like one that accesses invalid memory.
  static void FailNextKernel();
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_CUDA_H_
