// EmulatedCuda: two GPUs that the processor plays, behind CUDA's own functions.
// A test that links it (//libs/kernels/cuda:emulated) has these in place of the
// CUDA runtime, and the kernels of *.cu compiled by g++; all else is what runs
// on a real GPU: CudaDevice, its streams and pools, the kernels of *_cuda.cc.
//
// What is launched ends late: when somebody waits for it, or when a draw says
// so. Memory that was just taken holds NaN, and ends where it was asked to end
// (EmulatedMemory); that of a device may be touched only while its work runs,
// so the host, and mostly the other device, that do end with SIGSEGV. What CUDA
// refuses is refused: a stream of another device than the thread's, a copy that
// does not lie in the device's memory, a block of no threads. A kernel that
// uses memory that is none, or whose threads part at a barrier, loses the
// device.
//
// It is laxer than a GPU in this: kernels may use the host's memory, numbers
// may lie at any address, what a thread reads and writes back nobody comes
// between, and shared memory keeps what a block before has left.
#ifndef WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_CUDA_H_
#define WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_CUDA_H_

#include <cstdint>
#include <string>

namespace weft {

// As in CUDA, the GPUs are the process's, and its functions are thread-safe.
class EmulatedCuda {
 public:
  static constexpr int kDevices = 2;
  static constexpr int64_t kMemory = int64_t{2} << 30;  // bytes of each

  // Draws anew from here on, and makes lost devices whole again; there is no
  // cuBLAS. REQUIRES: there are no streams.
  static void Reset(uint64_t seed);
  // There is one in `path`: that of emulated_cublas.cc.
  static void UseCublas(const std::string& path);
  // Bytes of all devices and of pinned memory.
  static int64_t memory_in_use();
  // The next kernel fails as one does that uses memory that is none.
  static void FailNextKernel();
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_CUDA_H_
