// The functions of cuBLAS that CudaBlas looks up, as a shared library, for
// emulated GPUs (EmulatedCuda::UseCublas). It refuses the same arguments as
// cuBLAS.
#include "libs/device/cuda/testing/emulated_cublas.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace {

constexpr int kSuccess = 0;         // CUBLAS_STATUS_SUCCESS
constexpr int kInvalidValue = 7;    // CUBLAS_STATUS_INVALID_VALUE
constexpr int kNotSupported = 15;   // CUBLAS_STATUS_NOT_SUPPORTED
constexpr int kNoTranspose = 0;     // CUBLAS_OP_N
constexpr int kComputeDouble = 70;  // CUBLAS_COMPUTE_64F

weft::EmulatedCublasEnqueue enqueue = nullptr;

struct Handle {
  cudaStream_t stream = nullptr;
};

// A column-major matrix.
struct Matrix {
  char* data = nullptr;
  int type = 0;  // cudaDataType_t
  bool is_transposed = false;
  int64_t stride = 0;  // between columns
  int64_t batch = 0;
};

// Calls f with a pointer to elements of the type; false for other types.
template <typename F>
bool WithElements(const Matrix& matrix, int64_t offset, F f) {
  switch (matrix.type) {
    case 0:
      return f(reinterpret_cast<float*>(matrix.data) + offset), true;
    case 1:
      return f(reinterpret_cast<double*>(matrix.data) + offset), true;
    case 2:
      return f(reinterpret_cast<__half*>(matrix.data) + offset), true;
    case 14:
      return f(reinterpret_cast<__nv_bfloat16*>(matrix.data) + offset), true;
    default:
      return false;
  }
}

double Get(const Matrix& matrix, int64_t batch, int64_t row, int64_t column) {
  if (matrix.is_transposed) std::swap(row, column);
  double value = 0;
  WithElements(matrix, batch * matrix.batch + column * matrix.stride + row,
               [&]<typename T>(T* at) {
                 if constexpr (std::is_floating_point_v<T>) {
                   value = *at;
                 } else {
                   value = static_cast<float>(*at);
                 }
               });
  return value;
}

void Set(const Matrix& matrix, int64_t batch, int64_t row, int64_t column,
         double value) {
  WithElements(
      matrix, batch * matrix.batch + column * matrix.stride + row,
      [&]<typename T>(T* at) {
        *at = T(static_cast<
                std::conditional_t<std::is_same_v<T, double>, double, float>>(
            value));
      });
}

struct Product {
  int64_t m = 0, n = 0, k = 0, batches = 0;
  double alpha = 0, beta = 0;
  Matrix a, b, c;

  void Compute() const {
    for (int64_t i = 0; i < batches; ++i) {
      for (int64_t column = 0; column < n; ++column) {
        for (int64_t row = 0; row < m; ++row) ComputeOne(i, row, column);
      }
    }
  }

 private:
  void ComputeOne(int64_t i, int64_t row, int64_t column) const {
    double sum = 0;
    for (int64_t p = 0; p < k; ++p) {
      sum += Get(a, i, row, p) * Get(b, i, p, column);
    }
    sum *= alpha;
    if (beta != 0) sum += beta * Get(c, i, row, column);
    Set(c, i, row, column, sum);
  }
};

double Scalar(const void* value, int compute_type) {
  return compute_type == kComputeDouble ? *static_cast<const double*>(value)
                                        : *static_cast<const float*>(value);
}

// The combinations that the tables of cublasGemmEx allow.
bool AreTypes(const Product& product, int compute_type) {
  const int a = product.a.type, c = product.c.type;
  if (a != product.b.type) return false;
  if (compute_type == kComputeDouble) return a == 1 && c == 1;
  return a != 1 && (c == a || c == 0);
}

}  // namespace

extern "C" {

void WeftEmulatedCublasUse(weft::EmulatedCublasEnqueue function) {
  enqueue = function;
}

int cublasCreate_v2(void** handle) {
  *handle = new Handle;
  return kSuccess;
}

int cublasDestroy_v2(void* handle) {
  delete static_cast<Handle*>(handle);
  return kSuccess;
}

int cublasSetStream_v2(void* handle, cudaStream_t stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return kSuccess;
}

int cublasGemmStridedBatchedEx(void* handle, int transpose_a, int transpose_b,
                               int m, int n, int k, const void* alpha,
                               const void* a, int a_type, int a_stride,
                               long long a_batch, const void* b, int b_type,
                               int b_stride, long long b_batch,
                               const void* beta, void* c, int c_type,
                               int c_stride, long long c_batch, int batches,
                               int compute_type, int) {
  const auto matrix = [](const void* data, int type, bool is_transposed,
                         int stride, long long batch) {
    return Matrix{static_cast<char*>(const_cast<void*>(data)), type,
                  is_transposed, stride, batch};
  };
  Product product;
  product.m = m, product.n = n, product.k = k, product.batches = batches;
  product.alpha = Scalar(alpha, compute_type);
  product.beta = Scalar(beta, compute_type);
  const bool is_a = transpose_a != kNoTranspose;
  const bool is_b = transpose_b != kNoTranspose;
  product.a = matrix(a, a_type, is_a, a_stride, a_batch);
  product.b = matrix(b, b_type, is_b, b_stride, b_batch);
  product.c = matrix(c, c_type, false, c_stride, c_batch);
  if (m < 0 || n < 0 || k < 0 || batches < 0 ||
      a_stride < std::max(1, is_a ? k : m) ||
      b_stride < std::max(1, is_b ? n : k) || c_stride < std::max(1, m)) {
    return kInvalidValue;
  }
  if (!AreTypes(product, compute_type)) return kNotSupported;
  return enqueue(static_cast<Handle*>(handle)->stream,
                 [product] { product.Compute(); });
}

}  // extern "C"
