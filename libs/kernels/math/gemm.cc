#include "libs/kernels/math/gemm.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// The number of operations below which a second thread does not pay off: about
// 12 us of one core. Waking it costs half of that, and both threads pack an
// operand.
constexpr double kMinFlops = 1e6;
// Each part packs the other operand; with this many rows or columns of its own,
// packing takes a twentieth of its time. There may be two such parts per
// thread, so that an early thread takes over work.
constexpr int64_t kLongPart = 640;
// Rows or columns of a thread's part are a multiple of this, so that its
// vectors are full.
constexpr int64_t kGranule = 16;

// The C interface of BLAS; the numbers are its enumerators.
constexpr int kRowMajor = 101;
constexpr int kNoTranspose = 111;
constexpr int kTranspose = 112;
template <typename T>
using BlasGemm = void (*)(int order, int transpose_a, int transpose_b, int m,
                          int n, int k, T alpha, const T* a, int a_stride,
                          const T* b, int b_stride, T beta, T* c, int c_stride);

struct Blas {
  BlasGemm<float> sgemm = nullptr;
  BlasGemm<double> dgemm = nullptr;
};

// The functions of MatMulFunctions are stateless, so the process's BLAS is
// stored here; set before the first of them can be called.
Blas& TheBlas() {
  static Blas blas;
  return blas;
}

template <typename T>
void BlasProduct(const MatMulArgs& args, const T* a, const T* b, T* c) {
  const auto narrow = [](int64_t size) { return static_cast<int>(size); };
  BlasGemm<T> gemm;
  if constexpr (std::is_same_v<T, float>) {
    gemm = TheBlas().sgemm;
  } else {
    gemm = TheBlas().dgemm;
  }
  gemm(kRowMajor, args.transpose_a ? kTranspose : kNoTranspose,
       args.transpose_b ? kTranspose : kNoTranspose, narrow(args.m),
       narrow(args.n), narrow(args.k), T(1), a, narrow(args.a_stride), b,
       narrow(args.b_stride), T(0), c, narrow(args.c_stride));
}

// BLAS sizes are int.
bool FitsInt(const MatMulArgs& args) {
  constexpr int64_t kMax = std::numeric_limits<int>::max();
  return std::max({args.m, args.n, args.k, args.a_stride, args.b_stride,
                   args.c_stride}) <= kMax;
}

absl::StatusOr<Blas> LoadBlas(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("BLAS: ", library, " cannot be opened: ", dlerror()));
  }
  Blas blas;
  blas.sgemm = reinterpret_cast<BlasGemm<float>>(dlsym(handle, "cblas_sgemm"));
  blas.dgemm = reinterpret_cast<BlasGemm<double>>(dlsym(handle, "cblas_dgemm"));
  if (blas.sgemm == nullptr || blas.dgemm == nullptr) {
    dlclose(handle);
    return absl::NotFoundError(
        absl::StrCat("BLAS: ", library, " has no cblas_sgemm"));
  }
  using SetThreads = void (*)(int);
  for (const char* name :
       {"openblas_set_num_threads", "bli_thread_set_num_threads"}) {
    if (auto set = reinterpret_cast<SetThreads>(dlsym(handle, name))) set(1);
  }
  return blas;
}

template <typename T>
auto FunctionFor(const MatMulFunctions& functions) {
  if constexpr (std::is_same_v<T, float>) {
    return functions.float_product;
  } else {
    return functions.double_product;
  }
}

// Rows [begin, end) of the result.
template <typename T>
void Rows(const MatMulArgs& whole, const T* a, const T* b, T* c, int64_t begin,
          int64_t end, const MatMulFunctions& functions) {
  MatMulArgs part = PartOfProduct(whole);
  part.m = end - begin;
  FunctionFor<T>(functions)(
      part, a + begin * (whole.transpose_a ? 1 : whole.a_stride), b,
      c + begin * whole.c_stride);
}

// Columns [begin, end) of the result.
template <typename T>
void Columns(const MatMulArgs& whole, const T* a, const T* b, T* c,
             int64_t begin, int64_t end, const MatMulFunctions& functions) {
  MatMulArgs part = PartOfProduct(whole);
  part.n = end - begin;
  FunctionFor<T>(functions)(
      part, a, b + begin * (whole.transpose_b ? whole.b_stride : 1), c + begin);
}

template <typename T>
void Split(Scheduler& scheduler, const MatMulArgs& args, const T* a, const T* b,
           T* c, const MatMulFunctions& functions) {
  const double flops = 2.0 * static_cast<double>(args.m) *
                       static_cast<double>(args.n) *
                       static_cast<double>(args.k);
  const int64_t threads = scheduler.num_compute_threads();
  const bool by_rows = args.m >= args.n;
  const int64_t worth = static_cast<int64_t>(
      std::min(flops / kMinFlops, static_cast<double>(2 * threads)));
  const int64_t parts =
      std::min(worth, std::max(threads, std::max(args.m, args.n) / kLongPart));
  const int64_t granules = (std::max(args.m, args.n) + kGranule - 1) / kGranule;
  if (threads < 2 || parts < 2 || granules < 2) {
    FunctionFor<T>(functions)(args, a, b, c);
    return;
  }
  const int64_t total = by_rows ? args.m : args.n;
  const auto part = [&](int64_t begin, int64_t end) {
    begin *= kGranule;
    end = std::min(end * kGranule, total);
    if (by_rows) {
      Rows(args, a, b, c, begin, end, functions);
    } else {
      Columns(args, a, b, c, begin, end, functions);
    }
  };
  // The parts do not depend on idle threads, because the blocking of a sum
  // depends on a product's size.
  const int64_t step = (granules + parts - 1) / parts;
  const auto range = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      part(i * step, std::min((i + 1) * step, granules));
    }
  };
  scheduler.ParallelFor((granules + step - 1) / step, 1, std::ref(range));
}

template <typename T>
void GemmOf(Scheduler& scheduler, const MatMulArgs& args, const T* a,
            const T* b, T* c, const MatMulFunctions* functions) {
  if (args.m == 0 || args.n == 0) return;
  if (args.k == 0) {
    for (int64_t i = 0; i < args.m; ++i) {
      std::fill_n(c + i * args.c_stride, args.n, T(0));
    }
    return;
  }
  if (functions == nullptr) functions = &BestMatMul();
  if (FitsInt(args)) return Split(scheduler, args, a, b, c, *functions);
  Split(scheduler, args, a, b, c, MatMulFor(BestInstructionSet()));
}

}  // namespace

MatMulArgs PartOfProduct(const MatMulArgs& whole) {
  MatMulArgs part = whole;
  part.is_part = true;
  part.all_rows = whole.rows_of_whole();
  part.all_columns = whole.columns_of_whole();
  return part;
}

MatMulFunctions MatMulFor(InstructionSet set) {
  return ForInstructionSet(set, &v1::MatMul, &v3::MatMul, &v4::MatMul)();
}

absl::StatusOr<MatMulFunctions> OpenBlas(const std::string& library) {
  static const absl::StatusOr<Blas> loaded = LoadBlas(library);
  if (!loaded.ok()) return loaded.status();
  TheBlas() = *loaded;
  return MatMulFunctions{&BlasProduct<float>, &BlasProduct<double>};
}

const MatMulFunctions& BestMatMul() {
  static const MatMulFunctions best = [] {
    if (const char* library = std::getenv("WEFT_BLAS")) {
      absl::StatusOr<MatMulFunctions> blas = OpenBlas(library);
      if (blas.ok()) return *blas;
    }
    return MatMulFor(BestInstructionSet());
  }();
  return best;
}

void Gemm(Scheduler& scheduler, const MatMulArgs& args, const float* a,
          const float* b, float* c, const MatMulFunctions* functions) {
  GemmOf(scheduler, args, a, b, c, functions);
}

void Gemm(Scheduler& scheduler, const MatMulArgs& args, const double* a,
          const double* b, double* c, const MatMulFunctions* functions) {
  GemmOf(scheduler, args, a, b, c, functions);
}

}  // namespace weft
