// Kernels of diagonals: Diag, DiagPart, MatrixDiag, MatrixDiagPart,
// MatrixBandPart, and the old names of those of matrices.

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/elements.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// Returns the pattern of the diagonals of `batch` matrices with `rows` rows and
// `cols` columns.
ElementPattern DiagonalPattern(int64_t batch, int64_t rows, int64_t cols) {
  ElementPattern pattern;
  pattern.dims = {batch, std::min(rows, cols)};
  pattern.strides = {rows * cols, cols + 1};
  return pattern;
}

// Sets the output to zeros with input 0 on the diagonals.
absl::Status PutOnDiagonals(OpKernelContext& context, const Dims& dims,
                            const ElementPattern& pattern) {
  ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(dims));
  ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  RETURN_IF_ERROR(FillWithZeros(*output));
  return CopyToPattern(context, context.input(0), pattern, *output);
}

class DiagKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    if (input.rank() < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input must be at least rank 1, got ", input.rank()));
    }
    Dims dims(input.shape().dims().begin(), input.shape().dims().end());
    dims.insert(dims.end(), input.shape().dims().begin(),
                input.shape().dims().end());
    const int64_t size = input.num_elements();
    return PutOnDiagonals(context, dims, DiagonalPattern(1, size, size));
  }
};

class DiagPartKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& input = context.input(0).shape();
    if (input.rank() == 0 || input.rank() % 2 != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("The rank of the tensor should be even and positive, "
                       "got shape ",
                       input.ToString()));
    }
    const int half = input.rank() / 2;
    for (int i = 0; i < half; ++i) {
      if (input.dim(i) != input.dim(i + half)) {
        return absl::InvalidArgumentError(
            absl::StrCat("Invalid shape ", input.ToString(), ": dimensions ", i,
                         " and ", i + half, " do not match."));
      }
    }
    const TensorShape shape(input.dims().subspan(0, half));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    const int64_t size = shape.num_elements();
    return CopyFromPattern(context.input(0), DiagonalPattern(1, size, size),
                           *output);
  }
};

class MatrixDiagKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& input = context.input(0).shape();
    if (input.rank() < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("diagonal must be at least 1-dim, received shape: ",
                       input.ToString()));
    }
    const int64_t size = input.dim(input.rank() - 1);
    Dims dims(input.dims().begin(), input.dims().end());
    dims.push_back(size);
    const int64_t batch = size == 0 ? 0 : input.num_elements() / size;
    return PutOnDiagonals(context, dims, DiagonalPattern(batch, size, size));
  }
};

absl::Status CheckMatrix(const TensorShape& input) {
  if (input.rank() >= 2) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "input must be at least 2-dim, received shape: ", input.ToString()));
}

class MatrixDiagPartKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& input = context.input(0).shape();
    RETURN_IF_ERROR(CheckMatrix(input));
    const int64_t rows = input.dim(input.rank() - 2);
    const int64_t cols = input.dim(input.rank() - 1);
    Dims dims(input.dims().begin(), input.dims().end() - 2);
    dims.push_back(std::min(rows, cols));
    const TensorShape shape(dims);
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    return CopyFromPattern(
        context.input(0),
        DiagonalPattern(shape.num_elements() / dims.back(), rows, cols),
        *output);
  }
};

// MatrixBandPartKernel sets elements outside of the band to zero. A negative
// width keeps all elements on that side.
class MatrixBandPartKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    RETURN_IF_ERROR(CheckMatrix(input.shape()));
    const int64_t rows = input.dim(input.rank() - 2);
    const int64_t cols = input.dim(input.rank() - 1);
    ASSIGN_OR_RETURN(int64_t lower,
                     ReadWidth(context.input(1), "num_lower", "rows", rows));
    ASSIGN_OR_RETURN(int64_t upper,
                     ReadWidth(context.input(2), "num_upper", "columns", cols));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.ForwardOrAllocate({0}, 0, input.shape()));
    if (input.num_elements() == 0) return absl::OkStatus();
    HeapCharge charge(context.host_allocator());
    if (!output->SharesBufferWith(input)) {
      RETURN_IF_ERROR(ChargeStrings(charge, input));
      CopyElements(input, 0, input.num_elements(), *output, 0);
    }
    return DispatchElement(input.dtype(), [&]<typename E>(TypeTag<E>) {
      E* row = MutableElements<E>(*output);
      const int64_t count = output->num_elements() / cols;
      for (int64_t i = 0; i < count; ++i, row += cols) {
        const int64_t r = i % rows;
        const int64_t begin = std::clamp<int64_t>(r - lower, 0, cols);
        const int64_t end = std::clamp<int64_t>(r + upper + 1, 0, cols);
        std::fill(row, row + begin, E());
        std::fill(row + std::max(begin, end), row + cols, E());
      }
      return absl::OkStatus();
    });
  }

 private:
  static absl::StatusOr<int64_t> ReadWidth(const Tensor& width,
                                           absl::string_view name,
                                           absl::string_view of,
                                           int64_t largest) {
    if (width.num_elements() != 1 || width.rank() > 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " must be scalar, got shape ", width.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Dims values, IntegersOf(width));
    if (values[0] > largest) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must be negative or less or equal to number of ",
                       of, " (", largest, ") got: ", values[0]));
    }
    // A negative width becomes larger than any number of rows and columns.
    return values[0] < 0 ? (int64_t{1} << 62) : values[0];
  }
};

}  // namespace

void RegisterArrayDiagonalKernels(KernelRegistry& registry) {
  registry.Register<DiagKernel>("Diag");
  registry.Register<DiagPartKernel>("DiagPart");
  registry.Register<MatrixDiagKernel>("MatrixDiag");
  registry.Register<MatrixDiagKernel>("BatchMatrixDiag");
  registry.Register<MatrixDiagPartKernel>("MatrixDiagPart");
  registry.Register<MatrixDiagPartKernel>("BatchMatrixDiagPart");
  registry.Register<MatrixBandPartKernel>("MatrixBandPart");
  registry.Register<MatrixBandPartKernel>("BatchMatrixBandPart");
}

}  // namespace weft
