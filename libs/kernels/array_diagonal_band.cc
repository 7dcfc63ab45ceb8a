// MatrixDiagV3 and MatrixDiagPartV3: a band of diagonals of matrices to and
// from the rows of another tensor.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array_copy.h"
#include "libs/kernels/array_registration.h"

namespace weft {
namespace {

// Where diagonals lie in a row that is as long as the longest of them.
struct Alignment {
  bool superdiagonals_left = false;
  bool subdiagonals_left = true;

  static Alignment Of(const OpKernelConstruction& construction) {
    const std::string align =
        construction.GetAttr<std::string>("align").value_or("RIGHT_LEFT");
    return {absl::StartsWith(align, "LEFT"), absl::EndsWith(align, "LEFT")};
  }
};

// Diagonals `low` to `high` of matrices of `rows` by `columns`; 0 is the main
// one, positive ones are above it.
struct DiagonalBand {
  int64_t low = 0, high = 0;
  int64_t rows = 0, columns = 0;

  int64_t count() const { return high - low + 1; }
  int64_t LengthOf(int64_t diagonal) const {
    return std::min(rows + std::min<int64_t>(diagonal, 0),
                    columns - std::max<int64_t>(diagonal, 0));
  }
  int64_t longest() const {
    return std::min(rows + std::min<int64_t>(high, 0),
                    columns - std::max<int64_t>(low, 0));
  }
  absl::Status Check() const {
    const bool is_empty = rows == 0 || columns == 0;
    const auto is_inside = [&](int64_t diagonal) {
      return (diagonal > -rows && diagonal < columns) ||
             (is_empty && diagonal == 0);
    };
    if (!is_inside(low) || !is_inside(high)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "diagonal indices ", low, " and ", high, " must be between ", -rows,
          " and ", columns, " (exclusive)"));
    }
    if (low <= high) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "lower_diag_index must not be larger than upper_diag_index: ", low,
        " > ", high));
  }

  // Calls `visit(row of the band, place in that row, position in the matrix)`
  // for every number of the band.
  template <typename Visit>
  void ForEach(const Alignment& align, const Visit& visit) const {
    for (int64_t d = high; d >= low; --d) {
      const int64_t length = LengthOf(d);
      const bool is_left = (d >= 0 && align.superdiagonals_left) ||
                           (d <= 0 && align.subdiagonals_left);
      const int64_t begin = is_left ? 0 : longest() - length;
      for (int64_t i = 0; i < length; ++i) {
        const int64_t row = i - std::min<int64_t>(d, 0);
        const int64_t column = i + std::max<int64_t>(d, 0);
        visit(high - d, begin + i, row * columns + column);
      }
    }
  }
};

// One number, or the lowest and the highest.
absl::Status ReadDiagonals(const Tensor& k, DiagonalBand& band) {
  const auto values = k.flat<int32_t>();
  if (k.rank() > 1 || values.empty() || values.size() > 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "diag_index must be a scalar or vector with one or two elements, "
        "received shape ",
        k.shape().ToString()));
  }
  band.low = values[0];
  band.high = values[values.size() - 1];
  return absl::OkStatus();
}

absl::Status CheckScalar(const Tensor& tensor, absl::string_view what) {
  if (tensor.num_elements() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " must be a scalar, received shape ", tensor.shape().ToString()));
}

class MatrixDiagPartV3Kernel : public OpKernel {
 public:
  explicit MatrixDiagPartV3Kernel(const OpKernelConstruction& construction)
      : OpKernel(construction), align_(Alignment::Of(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    if (input.rank() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be at least 2-dim, received shape: ",
                       input.shape().ToString()));
    }
    RETURN_IF_ERROR(CheckScalar(context.input(2), "padding_value"));
    DiagonalBand band;
    band.rows = input.dim(input.rank() - 2);
    band.columns = input.dim(input.rank() - 1);
    RETURN_IF_ERROR(ReadDiagonals(context.input(1), band));
    RETURN_IF_ERROR(band.Check());
    TensorShape shape(input.shape().dims().first(input.rank() - 2));
    if (band.count() > 1) shape.AddDim(band.count());
    shape.AddDim(band.longest());
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(FillWithValue(context.input(2), *output));
    const int64_t in_size = band.rows * band.columns;
    const int64_t out_size = band.count() * band.longest();
    for (int64_t n = 0; n * out_size < output->num_elements(); ++n) {
      band.ForEach(align_, [&](int64_t row, int64_t place, int64_t position) {
        CopyElements(input, n * in_size + position, 1, *output,
                     n * out_size + row * band.longest() + place);
      });
    }
    return absl::OkStatus();
  }

 private:
  const Alignment align_;
};

class MatrixDiagV3Kernel : public OpKernel {
 public:
  explicit MatrixDiagV3Kernel(const OpKernelConstruction& construction)
      : OpKernel(construction), align_(Alignment::Of(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    DiagonalBand band;
    RETURN_IF_ERROR(ReadDiagonals(context.input(1), band));
    RETURN_IF_ERROR(CheckScalar(context.input(4), "padding_value"));
    RETURN_IF_ERROR(ReadSizes(context, band));
    const int used = band.count() > 1 ? 2 : 1;
    TensorShape shape(input.shape().dims().first(input.rank() - used));
    Dims dims(shape.dims().begin(), shape.dims().end());
    dims.push_back(band.rows);
    dims.push_back(band.columns);
    ASSIGN_OR_RETURN(shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(FillWithValue(context.input(4), *output));
    const int64_t in_size = band.count() * band.longest();
    const int64_t out_size = band.rows * band.columns;
    for (int64_t n = 0; n * out_size < output->num_elements(); ++n) {
      band.ForEach(align_, [&](int64_t row, int64_t place, int64_t position) {
        CopyElements(input, n * in_size + row * band.longest() + place, 1,
                     *output, n * out_size + position);
      });
    }
    return absl::OkStatus();
  }

 private:
  // Sizes of -1 are the smallest that hold the diagonals; two of them make a
  // square.
  static absl::Status ReadSizes(const OpKernelContext& context,
                                DiagonalBand& band) {
    const Tensor& input = context.input(0);
    RETURN_IF_ERROR(CheckScalar(context.input(2), "num_rows"));
    RETURN_IF_ERROR(CheckScalar(context.input(3), "num_cols"));
    if (band.low > band.high) return band.Check();
    const int needed = band.count() > 1 ? 2 : 1;
    if (input.rank() < needed ||
        (needed == 2 && input.dim(input.rank() - 2) != band.count())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "The number of diagonals provided in the input does not match the "
          "lower_diag_index and upper_diag_index range: shape ",
          input.shape().ToString()));
    }
    const int64_t longest = input.dim(input.rank() - 1);
    const int64_t min_rows = longest - std::min<int64_t>(band.high, 0);
    const int64_t min_columns = longest + std::max<int64_t>(band.low, 0);
    const int64_t rows = context.input(2).flat<int32_t>()[0];
    const int64_t columns = context.input(3).flat<int32_t>()[0];
    if (rows == -1 && columns == -1) {
      band.rows = band.columns = std::max(min_rows, min_columns);
    } else {
      band.rows = rows == -1 ? min_rows : rows;
      band.columns = columns == -1 ? min_columns : columns;
    }
    if (band.rows < min_rows || band.columns < min_columns) {
      return absl::InvalidArgumentError(absl::StrCat(
          "The number of rows or columns is too small: ", band.rows, " by ",
          band.columns, ", needed ", min_rows, " by ", min_columns));
    }
    if (band.rows != min_rows && band.columns != min_columns) {
      return absl::InvalidArgumentError(
          "The number of rows or columns is not consistent with the specified "
          "d_lower, d_upper, and diagonal.");
    }
    return band.Check();
  }

  const Alignment align_;
};

}  // namespace

void RegisterArrayDiagonalBandKernels(KernelRegistry& registry) {
  registry.Register<MatrixDiagPartV3Kernel>("MatrixDiagPartV3");
  registry.Register<MatrixDiagV3Kernel>("MatrixDiagV3");
}

}  // namespace weft
