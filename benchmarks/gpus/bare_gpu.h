// BareGpu measures a GPU without a session: products by cuBLAS, launches of a
// small kernel, and copies of pinned memory. The figures of sessions are
// reported relative to those of BareGpu in the same run.
#ifndef WEFT_BENCHMARKS_GPUS_BARE_GPU_H_
#define WEFT_BENCHMARKS_GPUS_BARE_GPU_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "libs/device/cuda/bare_copies.h"
#include "libs/device/cuda/cuda_device.h"
#include "libs/runtime/process/process.h"
#include "libs/tensor/tensor.h"

namespace weft::benchmarks {

// Errors end the program, as in Check. Single-threaded. Each call returns when
// the GPU has finished.
class BareGpu {
 public:
  // Uses the first GPU. `process` must outlive this object.
  explicit BareGpu(Process& process);

  // Computes `count` products of two square float matrices.
  void Products(int size, int count);
  // Launches `count` kernels, each of which multiplies four elements by
  // themselves.
  void Launches(int count);
  // Copies `bytes` bytes. The first copy determines the size of the buffer.
  void CopyToDevice(size_t bytes);
  void CopyToHost(size_t bytes);
  // Runs a kernel with an invalid write. Afterwards this process cannot use the
  // GPU.
  void Fault();

 private:
  CudaDevice& device() { return static_cast<CudaDevice&>(*devices_.front()); }
  Tensor NewTensor(const TensorShape& shape);
  BareCopies& CopiesOf(size_t bytes);
  absl::Status WaitForAll();

  Process& process_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<BareCopies> copies_;
  // Tensors on the GPU. Each is allocated when it is first used.
  Tensor matrix_, product_;
  Tensor few_, result_;
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_GPUS_BARE_GPU_H_
