// BareGpu measures a GPU without a session: cuBLAS products, launches of one
// small kernel, copies of pinned memory. Figures of sessions are reported
// relative to these, measured in the same run.
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

// Errors end the program, as Check does. Single-threaded; each call returns
// when the GPU has finished.
class BareGpu {
 public:
  // Uses the first GPU. `process` must outlive it.
  explicit BareGpu(Process& process);

  // Computes `count` products of two square float matrices.
  void Products(int size, int count);
  // Launches a product of four elements with themselves `count` times.
  void Launches(int count);
  // Copies that many bytes; the first copy fixes the size.
  void CopyToDevice(size_t bytes);
  void CopyToHost(size_t bytes);
  // Runs a kernel with an invalid write: the GPU is lost for the process.
  void Fault();

 private:
  CudaDevice& device() { return static_cast<CudaDevice&>(*devices_.front()); }
  Tensor NewTensor(const TensorShape& shape);
  BareCopies& CopiesOf(size_t bytes);
  absl::Status WaitForAll();

  Process& process_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<BareCopies> copies_;
  // On the GPU; each is allocated on first use.
  Tensor matrix_, product_;
  Tensor few_, result_;
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_GPUS_BARE_GPU_H_
