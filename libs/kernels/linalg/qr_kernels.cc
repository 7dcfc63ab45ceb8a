// Qr, by Householder reflections: H = I - tau v v^H, where v begins with 1.
//
// Reflections are collected in panels of kPanel. Those of a panel are applied
// one by one to its own columns, and together to all others, as the product I -
// V T V^H (the compact WY form of LAPACK's geqrt). Gemm computes this product,
// also for complex numbers, and thereby most of the work of a large matrix.
// Signs are Eigen's, and so TensorFlow's.
#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/linalg/linalg_kernels.h"
#include "libs/kernels/math/gemm.h"

namespace weft {
namespace {

// The number of columns whose reflections are applied together.
constexpr int64_t kPanel = 32;
// The number of columns that a panel is applied to at a time, which bounds its
// memory.
constexpr int64_t kColumns = 128;

// The sizes of a factorization: rows x columns = rows x inner times inner x
// columns.
struct QrSizes {
  int64_t rows, columns, inner;
  double cost() const {
    return static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(inner);
  }
};

// A view of a row-major matrix, or of a part of one.
template <typename T>
struct MatrixView {
  T* data;
  int64_t rows, columns, stride;

  T* row(int64_t i) const { return data + i * stride; }
  MatrixView Part(int64_t i, int64_t j, int64_t some_rows,
                  int64_t some_columns) const {
    return {row(i) + j, some_rows, some_columns, stride};
  }
};

template <typename T>
struct OwnedMatrix {
  OwnedMatrix(int64_t rows, int64_t columns)
      : values(rows * columns), view{values.data(), rows, columns, columns} {}
  OwnedMatrix(OwnedMatrix&&) = default;  // elements stay in place

  std::vector<T> values;
  const MatrixView<T> view;
};

// Arithmetic for real and complex numbers. The product of std::complex checks
// for infinities, which takes longer than the rest.
template <typename T>
T Conjugate(T x) {
  return x;
}
template <typename R>
std::complex<R> Conjugate(std::complex<R> x) {
  return std::conj(x);
}
template <typename T>
T Times(T a, T b) {
  return a * b;
}
template <typename R>
std::complex<R> Times(std::complex<R> a, std::complex<R> b) {
  return {a.real() * b.real() - a.imag() * b.imag(),
          a.real() * b.imag() + a.imag() * b.real()};
}
template <typename T>
struct RealPart {
  using Type = T;
};
template <typename R>
struct RealPart<std::complex<R>> {
  using Type = R;
};

// c = a b.
template <typename R>
void Product(Scheduler& scheduler, const MatrixView<R>& a,
             const MatrixView<R>& b, const MatrixView<R>& c) {
  const MatMulArgs args = {.m = c.rows,
                           .n = c.columns,
                           .k = a.columns,
                           .transpose_a = false,
                           .transpose_b = false,
                           .a_stride = a.stride,
                           .b_stride = b.stride,
                           .c_stride = c.stride};
  Gemm(scheduler, args, a.data, b.data, c.data);
}

template <typename R>
MatrixView<R> AsReal(const MatrixView<std::complex<R>>& x) {
  return {reinterpret_cast<R*>(x.data), x.rows, 2 * x.columns, 2 * x.stride};
}

// The real and imaginary parts of `a` are adjacent in memory, and so are those
// of `c`: this is a real product with b's x + iy as [x y; -y x].
template <typename R>
void Product(Scheduler& scheduler, const MatrixView<std::complex<R>>& a,
             const MatrixView<std::complex<R>>& b,
             const MatrixView<std::complex<R>>& c) {
  const OwnedMatrix<R> blocks(2 * b.rows, 2 * b.columns);
  for (int64_t i = 0; i < b.rows; ++i) {
    const std::complex<R>* const from = b.row(i);
    R* const upper = blocks.view.row(2 * i);
    R* const lower = blocks.view.row(2 * i + 1);
    for (int64_t j = 0; j < b.columns; ++j) {
      upper[2 * j] = lower[2 * j + 1] = from[j].real();
      upper[2 * j + 1] = from[j].imag();
      lower[2 * j] = -from[j].imag();
    }
  }
  Product(scheduler, AsReal(a), blocks.view, AsReal(c));
}

// Computes the reflection that maps the first column of `x` to a multiple of
// the first unit vector. Stores that multiple in the column and, below it, v
// without its 1; returns tau, which is 0 if there is nothing to do.
template <typename T>
T MakeReflection(const MatrixView<T>& x) {
  using R = typename RealPart<T>::Type;
  constexpr R kTiny = std::numeric_limits<R>::min();
  const T head = *x.data;
  R below = 0;
  for (int64_t i = 1; i < x.rows; ++i) below += std::norm(*x.row(i));
  const R imaginary = std::imag(head);
  if (below <= kTiny && imaginary * imaginary <= kTiny) {
    for (int64_t i = 1; i < x.rows; ++i) *x.row(i) = T(0);
    *x.data = T(std::real(head));
    return T(0);
  }
  const R size = std::sqrt(static_cast<R>(std::norm(head)) + below);
  const R beta = std::real(head) >= R(0) ? -size : size;
  const T divisor = head - beta;
  for (int64_t i = 1; i < x.rows; ++i) *x.row(i) /= divisor;
  *x.data = T(beta);
  return Conjugate((beta - head) / beta);
}

// x = H x. `v` is a column whose first element counts as 1; `sums` has room for
// a row of x.
template <typename T>
void Reflect(const MatrixView<T>& v, T tau, const MatrixView<T>& x, T* sums) {
  if (tau == T(0) || x.columns == 0) return;
  std::copy_n(x.data, x.columns, sums);
  for (int64_t i = 1; i < x.rows; ++i) {
    const T factor = Conjugate(*v.row(i));
    const T* const row = x.row(i);
    for (int64_t j = 0; j < x.columns; ++j) sums[j] += Times(factor, row[j]);
  }
  for (int64_t i = 0; i < x.rows; ++i) {
    const T factor = i == 0 ? tau : Times(tau, *v.row(i));
    T* const row = x.row(i);
    for (int64_t j = 0; j < x.columns; ++j) row[j] -= Times(factor, sums[j]);
  }
}

// Computes factorizations of the same sizes, one after another.
template <typename T>
class QrFactorizer {
 public:
  QrFactorizer(Scheduler& scheduler, const QrSizes& sizes)
      : scheduler_(scheduler),
        sizes_(sizes),
        count_(std::min(sizes.rows, sizes.columns)),
        work_(sizes.rows, sizes.columns),
        taus_(count_),
        sums_(std::max(sizes.columns, sizes.inner)) {}

  // The three matrices are packed row by row.
  void Factor(const T* input, T* q, T* r) {
    std::copy_n(input, sizes_.rows * sizes_.columns, work_.view.data);
    for (int64_t i = 0; i < count_; i += kPanel) FactorPanel(i);
    for (int64_t i = 0; i < sizes_.inner; ++i) {
      T* const row = r + i * sizes_.columns;
      const int64_t zeros = std::min(i, sizes_.columns);
      std::fill_n(row, zeros, T(0));
      std::copy_n(work_.view.row(i) + zeros, sizes_.columns - zeros,
                  row + zeros);
    }
    MakeQ({q, sizes_.rows, sizes_.inner, sizes_.inner});
  }

 private:
  // V of a panel, V^H, and V T or, to apply the panel's adjoint, V T^H.
  struct Panel {
    Panel(int64_t rows, int64_t columns)
        : v(rows, columns), adjoint(columns, rows), scaled(rows, columns) {}
    OwnedMatrix<T> v, adjoint, scaled;
  };

  int64_t PanelSize(int64_t first) const {
    return std::min(kPanel, count_ - first);
  }
  MatrixView<T> Reflector(int64_t i) const {
    return work_.view.Part(i, i, sizes_.rows - i, 1);
  }

  // Transforms columns [first, first + kPanel) to those of R, above the rest of
  // their reflections, and updates the columns to their right.
  void FactorPanel(int64_t first) {
    const int64_t end = first + PanelSize(first);
    // The remaining columns of a last panel are transformed one by one.
    const bool is_last = end == count_ && sizes_.columns - end < kPanel;
    const int64_t last_column = is_last ? sizes_.columns : end;
    for (int64_t i = first; i < end; ++i) {
      taus_[i] = MakeReflection(Reflector(i));
      Reflect(Reflector(i), taus_[i],
              work_.view.Part(i, i + 1, sizes_.rows - i, last_column - i - 1),
              sums_.data());
    }
    if (last_column == sizes_.columns) return;
    ApplyPanel(
        MakePanel(first, /*adjoint=*/true),
        work_.view.Part(first, end, sizes_.rows - first, sizes_.columns - end));
  }

  // Applies the adjoints of the reflections, the last one first, to the
  // identity. The rows and columns before those of a reflection are still the
  // identity.
  void MakeQ(const MatrixView<T>& q) {
    for (int64_t i = 0; i < q.rows; ++i) {
      std::fill_n(q.row(i), q.columns, T(0));
      if (i < q.columns) q.row(i)[i] = T(1);
    }
    const int64_t panels = (count_ + kPanel - 1) / kPanel;
    for (int64_t panel = panels - 1; panel >= 0; --panel) {
      const int64_t first = panel * kPanel;
      const MatrixView<T> rest =
          q.Part(first, first, q.rows - first, q.columns - first);
      if (rest.columns > kPanel) {
        ApplyPanel(MakePanel(first, /*adjoint=*/false), rest);
        continue;
      }
      for (int64_t i = first + PanelSize(first) - 1; i >= first; --i) {
        Reflect(Reflector(i), Conjugate(taus_[i]),
                q.Part(i, i, q.rows - i, q.columns - i), sums_.data());
      }
    }
  }

  // Computes T such that I - V T V^H is the product of the adjoints of the
  // reflections, the first one on the left; `adjoint`: of its adjoint.
  Panel MakePanel(int64_t first, bool adjoint) {
    const int64_t rows = sizes_.rows - first, columns = PanelSize(first);
    Panel panel(rows, columns);
    for (int64_t j = 0; j < columns; ++j) {
      panel.v.view.row(j)[j] = panel.adjoint.view.row(j)[j] = T(1);
      for (int64_t i = j + 1; i < rows; ++i) {
        const T x = work_.view.row(first + i)[first + j];
        panel.v.view.row(i)[j] = x;
        panel.adjoint.view.row(j)[i] = Conjugate(x);
      }
    }
    const OwnedMatrix<T> products(columns, columns), t(columns, columns);
    Product(scheduler_, panel.adjoint.view, panel.v.view, products.view);
    for (int64_t i = 0; i < columns; ++i) {
      AddReflection(products.view, Conjugate(taus_[first + i]), i, t.view);
    }
    if (adjoint) MakeAdjoint(t.view);
    Product(scheduler_, panel.v.view, t.view, panel.scaled.view);
    return panel;
  }

  // Computes column i of T: -tau T (V^H v), where T and V are of the preceding
  // columns, above tau. `products` is V^H V.
  static void AddReflection(const MatrixView<T>& products, T tau, int64_t i,
                            const MatrixView<T>& t) {
    for (int64_t j = 0; j < i; ++j) {
      T sum = T(0);
      for (int64_t k = j; k < i; ++k) {
        sum += Times(t.row(j)[k], products.row(k)[i]);
      }
      t.row(j)[i] = -Times(tau, sum);
    }
    t.row(i)[i] = tau;
  }

  static void MakeAdjoint(const MatrixView<T>& x) {
    for (int64_t i = 0; i < x.rows; ++i) {
      x.row(i)[i] = Conjugate(x.row(i)[i]);
      for (int64_t j = 0; j < i; ++j) {
        const T upper = x.row(j)[i];
        x.row(j)[i] = Conjugate(x.row(i)[j]);
        x.row(i)[j] = Conjugate(upper);
      }
    }
  }

  void ApplyPanel(const Panel& panel, const MatrixView<T>& x) {
    const int64_t most = std::min(kColumns, x.columns);
    const OwnedMatrix<T> sums(panel.adjoint.view.rows, most);
    const OwnedMatrix<T> changes(x.rows, most);
    for (int64_t first = 0; first < x.columns; first += kColumns) {
      const int64_t columns = std::min(kColumns, x.columns - first);
      const MatrixView<T> some = x.Part(0, first, x.rows, columns);
      const MatrixView<T> sum = sums.view.Part(0, 0, sums.view.rows, columns);
      const MatrixView<T> change = changes.view.Part(0, 0, x.rows, columns);
      Product(scheduler_, panel.adjoint.view, some, sum);
      Product(scheduler_, panel.scaled.view, sum, change);
      for (int64_t i = 0; i < x.rows; ++i) {
        T* const row = some.row(i);
        const T* const by = change.row(i);
        for (int64_t j = 0; j < columns; ++j) row[j] -= by[j];
      }
    }
  }

  Scheduler& scheduler_;
  const QrSizes sizes_;
  const int64_t count_;  // of reflections
  const OwnedMatrix<T> work_;
  std::vector<T> taus_, sums_;
};

// `tensor` converted to another type.
template <typename From, typename To>
absl::StatusOr<Tensor> Converted(OpKernelContext& context, Tensor tensor) {
  if constexpr (std::is_same_v<From, To>) {
    return tensor;
  } else {
    ASSIGN_OR_RETURN(Tensor result, context.AllocateTemp(DataTypeOf<To>::value,
                                                         tensor.shape()));
    const auto from = tensor.flat<From>();
    std::transform(from.begin(), from.end(), result.mutable_flat<To>().begin(),
                   [](From x) { return static_cast<To>(x); });
    return result;
  }
}

template <typename T>
class QrKernel : public OpKernel {
 public:
  explicit QrKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        full_matrices_(
            construction.GetAttr<bool>("full_matrices").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& shape = context.input(0).shape();
    if (shape.rank() < 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input tensor 0 must have rank >= 2, got ", shape.rank()));
    }
    QrSizes sizes;
    sizes.rows = shape.dim(shape.rank() - 2);
    sizes.columns = shape.dim(shape.rank() - 1);
    sizes.inner =
        full_matrices_ ? sizes.rows : std::min(sizes.rows, sizes.columns);
    ASSIGN_OR_RETURN(Tensor q,
                     NewFactor(context, shape, sizes.rows, sizes.inner));
    ASSIGN_OR_RETURN(Tensor r,
                     NewFactor(context, shape, sizes.inner, sizes.columns));
    ASSIGN_OR_RETURN(const Tensor input,
                     (Converted<T, W>(context, context.input(0))));
    FactorAll(context, sizes, input, q, r);
    ASSIGN_OR_RETURN(q, (Converted<W, T>(context, std::move(q))));
    ASSIGN_OR_RETURN(r, (Converted<W, T>(context, std::move(r))));
    context.SetOutput(0, std::move(q));
    context.SetOutput(1, std::move(r));
    return absl::OkStatus();
  }

 private:
  using W = Wide<T>;

  // Allocates a batch of matrices of another shape for the batch of `input`.
  static absl::StatusOr<Tensor> NewFactor(OpKernelContext& context,
                                          const TensorShape& input,
                                          int64_t rows, int64_t columns) {
    Dims dims(input.dims().begin(), input.dims().end() - 2);
    dims.push_back(rows);
    dims.push_back(columns);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    return context.AllocateTemp(DataTypeOf<W>::value, shape);
  }

  static void FactorAll(OpKernelContext& context, const QrSizes& sizes,
                        const Tensor& input, Tensor& q, Tensor& r) {
    const int64_t q_size = sizes.rows * sizes.inner;
    if (q_size == 0) return;  // r is then empty, too
    const int64_t r_size = sizes.inner * sizes.columns;
    const W* const from = input.flat<W>().data();
    W* const qs = q.mutable_flat<W>().data();
    W* const rs = r.mutable_flat<W>().data();
    const auto range = [&](int64_t begin, int64_t end) {
      QrFactorizer<W> factorizer(context.scheduler(), sizes);
      for (int64_t i = begin; i < end; ++i) {
        factorizer.Factor(from + i * sizes.rows * sizes.columns,
                          qs + i * q_size, rs + i * r_size);
      }
    };
    context.scheduler().ParallelFor(
        q.num_elements() / q_size,
        static_cast<int64_t>(std::max(1.0, 100'000 / (1 + sizes.cost()))),
        std::ref(range));
  }

  const bool full_matrices_;
};

}  // namespace

void RegisterQrKernels(KernelRegistry& registry) {
  const auto add = [&]<typename T>(TypeTag<T>) {
    registry.Register<QrKernel<T>>("Qr", {{"T", {DataTypeOf<T>::value}}});
  };
  add(TypeTag<float>());
  add(TypeTag<double>());
  add(TypeTag<half>());
  add(TypeTag<std::complex<float>>());
  add(TypeTag<std::complex<double>>());
}

}  // namespace weft
