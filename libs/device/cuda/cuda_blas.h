// CudaBlas multiplies matrices in a GPU's memory with cuBLAS. It is not linked,
// but loaded when the first product is requested: from the path in the
// environment variable WEFT_CUBLAS, else as libcublas.so.13 and
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

// c = op(a) op(b), for row-major matrices: op(a) has m rows and k columns,
// op(b) k rows and n columns. Strides are from row to row, in elements.
struct CudaProduct {
  DataType dtype = DT_FLOAT;  // also double, half and bfloat16
  bool transpose_a = false;   // a is then stored as k rows of m
  bool transpose_b = false;   // b is then stored as n rows of k
  int64_t m = 0, n = 0, k = 0;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  bool add = false;      // to the contents of c
  bool is_wide = false;  // c is float while a and b are of a 16-bit type
  // The number of products, and the distance of their matrices in elements; 0
  // for an a or b that is shared by all.
  int64_t batches = 1;
  int64_t a_batch = 0, b_batch = 0, c_batch = 0;
};

// Thread-safe; for one device.
class CudaBlas {
 public:
  // Launches on `stream`; REQUIRES: the stream is the device's, and the device
  // is the calling thread's current one.
  explicit CudaBlas(cudaStream_t stream);
  ~CudaBlas();
  CudaBlas(const CudaBlas&) = delete;
  CudaBlas& operator=(const CudaBlas&) = delete;

  // Launches the product. UNAVAILABLE if cuBLAS is not available, or the
  // product exceeds its limits (2^31 rows): nothing was launched, and the
  // caller must use its own kernel. REQUIRES: nothing is empty.
  absl::Status Multiply(const CudaProduct& product, const void* a,
                        const void* b, void* c);

 private:
  struct Library;

  absl::Status Prepare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const cudaStream_t stream_;
  absl::Mutex mutex_;  // also for launches: a handle may be used by one thread
                       // at a time
  std::unique_ptr<Library> library_ ABSL_GUARDED_BY(mutex_);
  absl::Status unavailable_ ABSL_GUARDED_BY(mutex_);  // the reason, once tried
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_BLAS_H_
