// CudaBlas: products of matrices in a GPU's memory, by cuBLAS. Nothing is
// linked: it is looked for when the first product is wanted, under the name
// that the environment variable WEFT_CUBLAS says, else as libcublas.so.13 and
// libcublas.so.12, also in /usr/local/cuda/lib64. "off": as if it were missing.
#ifndef WEFT_LIBS_DEVICE_CUDA_CUDA_BLAS_H_
#define WEFT_LIBS_DEVICE_CUDA_CUDA_BLAS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/device/cuda/cuda_types.h"
#include "libs/tensor/data_type.h"

namespace weft {

// c = op(a) op(b), of row-major matrices: op(a) has m rows and k columns,
// op(b) k rows and n columns. Strides are from row to row, in elements.
struct CudaProduct {
  DataType dtype = DT_FLOAT;  // also double, half and bfloat16
  bool transpose_a = false;   // a then lies as k rows of m
  bool transpose_b = false;   // b then lies as n rows of k
  int64_t m = 0, n = 0, k = 0;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  bool add = false;      // to what c holds
  bool is_wide = false;  // c is of floats where a and b are of 16-bit ones
  // So many products, whose matrices lie as many elements apart; 0 for a or b
  // that is the same for all.
  int64_t batches = 1;
  int64_t a_batch = 0, b_batch = 0, c_batch = 0;
};

// Thread-safe; of one device.
class CudaBlas {
 public:
  // Launches on `stream`; REQUIRES: it is the device's, and the device the
  // calling thread's.
  explicit CudaBlas(cudaStream_t stream);
  ~CudaBlas();
  CudaBlas(const CudaBlas&) = delete;
  CudaBlas& operator=(const CudaBlas&) = delete;

  // Launches the product. UNAVAILABLE where cuBLAS is not to be had, or the
  // product is beyond it (2^31 rows): nothing was launched, and the caller uses
  // loops of its own. REQUIRES: nothing is empty.
  absl::Status Multiply(const CudaProduct& product, const void* a,
                        const void* b, void* c);

 private:
  struct Library;

  absl::Status Prepare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const cudaStream_t stream_;
  absl::Mutex mutex_;  // of launches too: a handle is for one thread at a time
  std::unique_ptr<Library> library_ ABSL_GUARDED_BY(mutex_);
  absl::Status unavailable_ ABSL_GUARDED_BY(mutex_);  // why, once tried
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_BLAS_H_
