// BareGpu: what a GPU does without a session: products by cuBLAS, launches of
// one small kernel, copies of pinned memory. Figures of sessions are given as
// shares of these, taken in the same run.
#ifndef WEFT_BENCHMARKS_BARE_GPU_H_
#define WEFT_BENCHMARKS_BARE_GPU_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "libs/device/cuda/bare_copies.h"
#include "libs/device/cuda/cuda_device.h"
#include "libs/runtime/process.h"
#include "libs/tensor/tensor.h"

namespace weft::benchmarks {

// Trouble ends the program, as Check does. For one thread; each call returns
// when the GPU has done what it says.
class BareGpu {
 public:
  // The first GPU. `process` outlives it.
  explicit BareGpu(Process& process);

  // So many products of two square matrices of float.
  void Products(int size, int count);
  // So many launches of a product of four elements with themselves.
  void Launches(int count);
  // Of so many bytes, which the first copy decides.
  void CopyToDevice(size_t bytes);
  void CopyToHost(size_t bytes);
  // A kernel that writes where nothing is: the GPU is lost for the process.
  void Fault();

 private:
  CudaDevice& device() { return static_cast<CudaDevice&>(*devices_.front()); }
  Tensor NewTensor(const TensorShape& shape);
  BareCopies& CopiesOf(size_t bytes);
  absl::Status WaitForAll();

  Process& process_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<BareCopies> copies_;
  // On the GPU; each kind is made when it is first wanted.
  Tensor matrix_, product_;
  Tensor few_, result_;
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_BARE_GPU_H_
