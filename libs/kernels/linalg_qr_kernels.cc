// Qr, by Householder reflections.
#include <Eigen/QR>
#include <algorithm>
#include <complex>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/linalg_kernels.h"
#include "libs/kernels/number_types.h"

namespace weft {
namespace {

template <typename T>
using Matrix =
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Sizes of one factorisation: rows x columns = rows x inner times inner x
// columns.
struct QrSizes {
  int64_t rows, columns, inner;
  double cost() const {
    return static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(inner);
  }
};

template <typename T>
void Factor(const QrSizes& sizes, const T* input, T* q_data, T* r_data) {
  Eigen::Map<Matrix<T>> q(q_data, sizes.rows, sizes.inner);
  Eigen::Map<Matrix<T>> r(r_data, sizes.inner, sizes.columns);
  q.setIdentity();
  if (r.size() == 0) return;
  const Eigen::Map<const Matrix<T>> matrix(input, sizes.rows, sizes.columns);
  const Eigen::HouseholderQR<Matrix<T>> qr(matrix);
  if (sizes.inner == sizes.rows) {
    q = qr.householderQ();
  } else {
    q = qr.householderQ() * Matrix<T>(q);
  }
  r = qr.matrixQR()
          .topRows(sizes.inner)
          .template triangularView<Eigen::Upper>();
}

// `tensor` with elements of another type.
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

  // A batch like that of `input`, of other matrices.
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
    if (q_size == 0) return;  // then r is empty too
    const int64_t r_size = sizes.inner * sizes.columns;
    const W* const from = input.flat<W>().data();
    W* const qs = q.mutable_flat<W>().data();
    W* const rs = r.mutable_flat<W>().data();
    const auto range = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Factor(sizes, from + i * sizes.rows * sizes.columns, qs + i * q_size,
               rs + i * r_size);
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
