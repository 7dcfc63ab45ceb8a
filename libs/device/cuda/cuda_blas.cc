#include "libs/device/cuda/cuda_blas.h"

#include <dlfcn.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// cuBLAS's names and numbers, which are the same in versions 11 to 13.
using Handle = struct cublasContext*;
constexpr int kNoTranspose = 0;  // CUBLAS_OP_N
constexpr int kTranspose = 1;    // CUBLAS_OP_T
constexpr int kAnyAlgorithm = -1;
constexpr int kComputeFloat = 68;   // CUBLAS_COMPUTE_32F
constexpr int kComputeDouble = 70;  // CUBLAS_COMPUTE_64F
constexpr int kSuccess = 0;

// Returns a cudaDataType_t.
int TypeOf(DataType dtype) {
  switch (dtype) {
    case DT_FLOAT:
      return 0;
    case DT_DOUBLE:
      return 1;
    case DT_HALF:
      return 2;
    case DT_BFLOAT16:
      return 14;
    default:
      return -1;
  }
}

std::vector<std::string> Names() {
  if (const char* wanted = std::getenv("WEFT_CUBLAS")) return {wanted};
  std::vector<std::string> names;
  for (const char* folder : {"", "/usr/local/cuda/lib64/"}) {
    for (const char* name : {"libcublas.so.13", "libcublas.so.12"}) {
      names.push_back(absl::StrCat(folder, name));
    }
  }
  return names;
}

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool Fits(const CudaProduct& p) {
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  for (int64_t size :
       {p.m, p.n, p.k, p.a_stride, p.b_stride, p.c_stride, p.batches}) {
    if (size > kMost) return false;
  }
  return true;
}

}  // namespace

struct CudaBlas::Library {
  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_stream)(Handle, cudaStream_t) = nullptr;
  int (*multiply)(Handle, int, int, int, int, int, const void*, const void*,
                  int, int, long long, const void*, int, int, long long,
                  const void*, void*, int, int, long long, int, int,
                  int) = nullptr;
  Handle handle = nullptr;

  ~Library() {
    if (handle != nullptr) destroy(handle);
  }

  // Returns false if `name` cannot be opened or lacks a function. The library
  // stays open.
  bool Open(const std::string& name) {
    void* const found = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    return found != nullptr && Find(found, "cublasCreate_v2", create) &&
           Find(found, "cublasDestroy_v2", destroy) &&
           Find(found, "cublasSetStream_v2", set_stream) &&
           Find(found, "cublasGemmStridedBatchedEx", multiply);
  }
};

CudaBlas::CudaBlas(cudaStream_t stream) : stream_(stream) {}

CudaBlas::~CudaBlas() = default;

absl::Status CudaBlas::Prepare() {
  if (library_ != nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(unavailable_);
  auto library = std::make_unique<Library>();
  const std::vector<std::string> names = Names();
  bool is_open = false;
  for (const std::string& name : names) {
    is_open = library->Open(name);
    if (is_open) break;
  }
  int error = kSuccess;
  if (is_open) error = library->create(&library->handle);
  if (is_open && error == kSuccess) {
    error = library->set_stream(library->handle, stream_);
  }
  if (is_open && error == kSuccess) {
    library_ = std::move(library);
    return absl::OkStatus();
  }
  // A failure for lack of memory is retried.
  if (is_open) {
    return absl::UnavailableError(
        absl::StrCat("cuBLAS does not start: error ", error));
  }
  unavailable_ = absl::UnavailableError(
      absl::StrCat("there is no cuBLAS (", names[0], ")"));
  return unavailable_;
}

absl::Status CudaBlas::Multiply(const CudaProduct& p, const void* a,
                                const void* b, void* c) {
  const int type = TypeOf(p.dtype);
  if (type < 0 || !Fits(p)) {
    return absl::UnavailableError("the product is beyond cuBLAS");
  }
  const absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Prepare());
  const bool is_double = p.dtype == DT_DOUBLE;
  const int c_type = p.is_wide && !is_double ? TypeOf(DT_FLOAT) : type;
  const float one[] = {1, p.add ? 1.0f : 0.0f};
  const double wide_one[] = {1, p.add ? 1.0 : 0.0};
  const void* const alpha = is_double ? static_cast<const void*>(wide_one)
                                      : static_cast<const void*>(one);
  const void* const beta = is_double ? static_cast<const void*>(wide_one + 1)
                                     : static_cast<const void*>(one + 1);
  const auto size = [](int64_t n) { return static_cast<int>(n); };
  // cuBLAS's matrices are column-major: it sees Weft's transposed, and computes
  // the transposed product, b before a.
  const int error = library_->multiply(
      library_->handle, p.transpose_b ? kTranspose : kNoTranspose,
      p.transpose_a ? kTranspose : kNoTranspose, size(p.n), size(p.m),
      size(p.k), alpha, b, type, size(p.b_stride), p.b_batch, a, type,
      size(p.a_stride), p.a_batch, beta, c, c_type, size(p.c_stride), p.c_batch,
      size(p.batches), is_double ? kComputeDouble : kComputeFloat,
      kAnyAlgorithm);
  if (error == kSuccess) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cuBLAS: a product of ", p.m, "x",
                                          p.k, " and ", p.k, "x", p.n,
                                          ": error ", error));
}

}  // namespace weft
