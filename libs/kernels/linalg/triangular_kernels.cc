// MatrixTriangularSolve, by substitution.
#include <Eigen/Core>
#include <algorithm>
#include <complex>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/linalg/linalg_kernels.h"
#include "libs/kernels/math/broadcast.h"

namespace weft {
namespace {

template <typename T>
using Matrix =
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// `x` is the right-hand side, and then the solution. A zero on the diagonal
// gives infinities, as in TensorFlow.
template <typename T>
void Solve(const Eigen::Map<const Matrix<T>>& matrix, bool lower, bool adjoint,
           Eigen::Map<Matrix<T>>& x) {
  if (lower && adjoint) {
    matrix.template triangularView<Eigen::Lower>().adjoint().solveInPlace(x);
  } else if (lower) {
    matrix.template triangularView<Eigen::Lower>().solveInPlace(x);
  } else if (adjoint) {
    matrix.template triangularView<Eigen::Upper>().adjoint().solveInPlace(x);
  } else {
    matrix.template triangularView<Eigen::Upper>().solveInPlace(x);
  }
}

TensorShape BatchOf(const TensorShape& shape) {
  return TensorShape(shape.dims().subspan(0, shape.rank() - 2));
}

template <typename T>
class TriangularSolveKernel : public OpKernel {
 public:
  explicit TriangularSolveKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        lower_(construction.GetAttr<bool>("lower").value_or(true)),
        adjoint_(construction.GetAttr<bool>("adjoint").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& matrix = context.input(0).shape();
    const TensorShape& rhs = context.input(1).shape();
    ASSIGN_OR_RETURN(const Broadcast batches, BatchesOf(matrix, rhs));
    RETURN_IF_ERROR(CheckSizes(matrix, rhs));
    Dims dims(batches.shape().dims().begin(), batches.shape().dims().end());
    dims.push_back(rhs.dim(rhs.rank() - 2));
    dims.push_back(rhs.dim(rhs.rank() - 1));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() > 0) SolveAll(context, batches, *output);
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<Broadcast> BatchesOf(const TensorShape& matrix,
                                             const TensorShape& rhs) {
    for (const TensorShape* shape : {&matrix, &rhs}) {
      if (shape->rank() >= 2) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("In[", shape == &matrix ? 0 : 1,
                       "] ndims must be >= 2: ", shape->rank()));
    }
    absl::StatusOr<Broadcast> batches =
        Broadcast::Of(BatchOf(matrix), BatchOf(rhs));
    if (batches.ok()) return batches;
    return absl::InvalidArgumentError(
        absl::StrCat("In[0] and In[1] must have compatible batch dimensions: ",
                     matrix.ToString(), " vs. ", rhs.ToString()));
  }

  absl::Status CheckSizes(const TensorShape& matrix,
                          const TensorShape& rhs) const {
    const int64_t rows = matrix.dim(matrix.rank() - 2);
    const int64_t columns = matrix.dim(matrix.rank() - 1);
    if (rows != columns) {
      return absl::InvalidArgumentError(
          absl::StrCat("In[0] matrices in the last dimensions must be square (",
                       columns, " =/= ", rows, ")"));
    }
    if (columns == rhs.dim(rhs.rank() - 2)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "In[0] mismatch In[1] shape: ", columns, " vs. ",
        rhs.dim(rhs.rank() - 2), ": ", matrix.ToString(), " ", rhs.ToString(),
        " ", lower_ ? 1 : 0, " ", adjoint_ ? 1 : 0));
  }

  void SolveAll(OpKernelContext& context, const Broadcast& batches,
                Tensor& output) const {
    const Tensor& rhs = context.input(1);
    const int64_t rows = rhs.dim(rhs.rank() - 2);
    const int64_t columns = rhs.dim(rhs.rank() - 1);
    const T* const matrices = context.input(0).flat<T>().data();
    const T* const sides = rhs.flat<T>().data();
    T* out = output.mutable_flat<T>().data();
    batches.ForEachRow(
        0, batches.rows(), [&](int64_t, const Broadcast::Offsets& offsets) {
          for (int64_t i = 0; i < batches.row_size(); ++i) {
            const T* matrix =
                matrices + (offsets[0] + i * batches.step(0)) * rows * rows;
            const T* side =
                sides + (offsets[1] + i * batches.step(1)) * rows * columns;
            std::copy(side, side + rows * columns, out);
            Eigen::Map<Matrix<T>> x(out, rows, columns);
            Solve<T>(Eigen::Map<const Matrix<T>>(matrix, rows, rows), lower_,
                     adjoint_, x);
            out += rows * columns;
          }
        });
  }

  const bool lower_;
  const bool adjoint_;
};

}  // namespace

void RegisterTriangularSolveKernels(KernelRegistry& registry) {
  const auto add = [&]<typename T>(TypeTag<T>) {
    registry.Register<TriangularSolveKernel<T>>(
        "MatrixTriangularSolve", {{"T", {DataTypeOf<T>::value}}});
  };
  add(TypeTag<float>());
  add(TypeTag<double>());
  add(TypeTag<std::complex<float>>());
  add(TypeTag<std::complex<double>>());
}

}  // namespace weft
