// MatrixDiagV3, MatrixDiagPartV3 and MatrixSetDiagV3: copies between a band of
// diagonals of matrices and the rows of another tensor. V2, and MatrixSetDiag
// with its single diagonal, have no attr `align`: their rows are aligned to the
// left.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// The alignment of diagonals in rows that have the length of the longest
// diagonal.
struct Alignment {
  bool superdiagonals_left = true;
  bool subdiagonals_left = true;

  static Alignment Of(const OpKernelConstruction& construction) {
    const std::string align =
        construction.GetAttr<std::string>("align").value_or("LEFT_LEFT");
    return {absl::StartsWith(align, "LEFT"), absl::EndsWith(align, "LEFT")};
  }
};

// Diagonals `low` to `high` of matrices of `rows` by `columns`; 0 is the main
// diagonal, positive ones are above it.
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
    RETURN_IF_ERROR(CheckInside("lower_diag_index", low));
    RETURN_IF_ERROR(CheckInside("upper_diag_index", high));
    return CheckOrder();
  }
  absl::Status CheckOrder() const {
    if (low <= high) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "lower_diag_index must not be larger than upper_diag_index: ", low,
        " > ", high));
  }

  // Calls `visit(element of the rows, element of the matrices)` for every
  // element in the bands of matrices with `elements` elements in total.
  template <typename Visit>
  void ForEach(const Alignment& align, int64_t elements,
               const Visit& visit) const {
    // Empty diagonals are skipped at once, because there may be any number of
    // them.
    if (longest() == 0) return;
    const int64_t band_size = count() * longest();
    const int64_t matrix_size = rows * columns;
    for (int64_t n = 0; n * matrix_size < elements; ++n) {
      ForEachOfOne(align, [&](int64_t row, int64_t place, int64_t position) {
        visit(n * band_size + row * longest() + place,
              n * matrix_size + position);
      });
    }
  }

 private:
  // Calls `visit(row of the band, position in that row, position in the
  // matrix)`.
  template <typename Visit>
  void ForEachOfOne(const Alignment& align, const Visit& visit) const {
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

  absl::Status CheckInside(absl::string_view name, int64_t diagonal) const {
    if (diagonal == 0 || (diagonal > -rows && diagonal < columns)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is out of bound: ", diagonal,
                     ". It must be between ", -rows, " and ", columns));
  }
};

// Reads the input `k`: a single diagonal, or the lowest and the highest one.
absl::Status ReadDiagonals(const Tensor& k, DiagonalBand& band) {
  const auto values = k.flat<int32_t>();
  if (k.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("diag_index must be a scalar or vector, received shape: ",
                     k.shape().ToString()));
  }
  if (values.empty()) {
    return absl::InvalidArgumentError(
        "diag_index must have at least one element");
  }
  if (values.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("diag_index must have only one or two elements, received ",
                     values.size(), " elements."));
  }
  band.low = values[0];
  band.high = values[values.size() - 1];
  return absl::OkStatus();
}

absl::Status CheckRank(const Tensor& tensor, absl::string_view what,
                       int least) {
  if (tensor.rank() >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must be at least ", least,
                   "-dim, received shape: ", tensor.shape().ToString()));
}

// Returns the band of the main diagonals of the matrices of `input`. REQUIRES:
// `input` has at least two dimensions.
DiagonalBand BandOf(const Tensor& input) {
  DiagonalBand band;
  band.rows = input.dim(input.rank() - 2);
  band.columns = input.dim(input.rank() - 1);
  return band;
}

absl::Status CheckScalar(const Tensor& tensor, absl::string_view what) {
  if (tensor.shape().IsScalar()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " must be a scalar, received shape ", tensor.shape().ToString()));
}

// Sets the band of each matrix of `output` to its rows of `diagonal`.
void CopyBand(const DiagonalBand& band, const Alignment& align,
              const Tensor& diagonal, Tensor& output) {
  band.ForEach(align, output.num_elements(), [&](int64_t from, int64_t to) {
    CopyElements(diagonal, from, 1, output, to);
  });
}

class MatrixDiagPartBandKernel : public OpKernel {
 public:
  explicit MatrixDiagPartBandKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), align_(Alignment::Of(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    RETURN_IF_ERROR(CheckRank(input, "input", 2));
    // One element is accepted here in a tensor of any rank.
    if (context.input(2).num_elements() != 1) {
      return CheckScalar(context.input(2), "padding_value");
    }
    DiagonalBand band = BandOf(input);
    RETURN_IF_ERROR(ReadDiagonals(context.input(1), band));
    RETURN_IF_ERROR(band.Check());
    TensorShape shape(input.shape().dims().first(input.rank() - 2));
    if (band.count() > 1) shape.AddDim(band.count());
    shape.AddDim(band.longest());
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(FillWithValue(context, context.input(2), *output));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeStrings(charge, input));
    band.ForEach(align_, input.num_elements(), [&](int64_t to, int64_t from) {
      CopyElements(input, from, 1, *output, to);
    });
    return absl::OkStatus();
  }

 private:
  const Alignment align_;
};

class MatrixDiagBandKernel : public OpKernel {
 public:
  explicit MatrixDiagBandKernel(const OpKernelConstruction& construction)
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
    RETURN_IF_ERROR(FillWithValue(context, context.input(4), *output));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeStrings(charge, input));
    CopyBand(band, align_, input, *output);
    return absl::OkStatus();
  }

 private:
  // Reads the sizes of the matrix. Sizes of -1 become the smallest that hold
  // the diagonals; if both are -1, the matrix is square.
  static absl::Status ReadSizes(const OpKernelContext& context,
                                DiagonalBand& band) {
    const Tensor& input = context.input(0);
    RETURN_IF_ERROR(CheckScalar(context.input(2), "num_rows"));
    RETURN_IF_ERROR(CheckScalar(context.input(3), "num_cols"));
    RETURN_IF_ERROR(band.CheckOrder());
    const int needed = band.count() > 1 ? 2 : 1;
    RETURN_IF_ERROR(CheckRank(input, "diagonal", 1));
    if (input.rank() < needed ||
        (needed == 2 && input.dim(input.rank() - 2) != band.count())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "The number of diagonals provided in the input does not match the "
          "lower_diag_index and upper_diag_index range. The shape is ",
          input.shape().ToString()));
    }
    const int64_t longest = input.dim(input.rank() - 1);
    int64_t min_rows, min_columns;
    if (__builtin_sub_overflow(longest, std::min<int64_t>(band.high, 0),
                               &min_rows) ||
        __builtin_add_overflow(longest, std::max<int64_t>(band.low, 0),
                               &min_columns)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "matrices with diagonals of ", longest, " elements are too large"));
    }
    const int64_t rows = context.input(2).scalar<int32_t>();
    const int64_t columns = context.input(3).scalar<int32_t>();
    if (rows == -1 && columns == -1) {
      band.rows = band.columns = std::max(min_rows, min_columns);
    } else {
      band.rows = rows == -1 ? min_rows : rows;
      band.columns = columns == -1 ? min_columns : columns;
    }
    if (band.rows < min_rows) return TooSmall("rows", band.rows, min_rows);
    if (band.columns < min_columns) {
      return TooSmall("columns", band.columns, min_columns);
    }
    if (band.rows != min_rows && band.columns != min_columns) {
      return absl::InvalidArgumentError(
          "The number of rows or columns is not consistent with the specified "
          "d_lower, d_upper, and diagonal.");
    }
    // Empty diagonals fit anywhere.
    return longest == 0 ? absl::OkStatus() : band.Check();
  }

  static absl::Status TooSmall(absl::string_view what, int64_t size,
                               int64_t needed) {
    return absl::InvalidArgumentError(
        absl::StrCat("The number of ", what, " is too small. It is ", size,
                     ", needed are ", needed));
  }

  const Alignment align_;
};

class MatrixSetDiagKernel : public OpKernel {
 public:
  explicit MatrixSetDiagKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), align_(Alignment::Of(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& diagonal = context.input(1);
    RETURN_IF_ERROR(CheckRank(input, "input", 2));
    RETURN_IF_ERROR(CheckRank(diagonal, "diagonal", 1));
    DiagonalBand band = BandOf(input);
    if (context.num_inputs() == 3) {
      RETURN_IF_ERROR(ReadDiagonals(context.input(2), band));
      RETURN_IF_ERROR(band.Check());
    }
    RETURN_IF_ERROR(CheckDiagonal(input.shape(), diagonal.shape(), band));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.ForwardOrAllocate({0}, 0, input.shape()));
    if (input.num_elements() == 0) return absl::OkStatus();
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeStrings(charge, diagonal));
    if (!output->SharesBufferWith(input)) {
      RETURN_IF_ERROR(ChargeStrings(charge, input));
      CopyElements(input, 0, input.num_elements(), *output, 0);
    }
    CopyBand(band, align_, diagonal, *output);
    return absl::OkStatus();
  }

 private:
  // Checks the shape of `diagonal`. Its last two dimensions are the rows of the
  // band; for a single diagonal, its last dimension is the diagonal.
  static absl::Status CheckDiagonal(const TensorShape& input,
                                    const TensorShape& diagonal,
                                    const DiagonalBand& band) {
    TensorShape expected(input.dims().first(input.rank() - 2));
    if (band.count() > 1) {
      if (diagonal.rank() > 1 &&
          diagonal.dim(diagonal.rank() - 2) != band.count()) {
        return absl::InvalidArgumentError(
            "The number of diagonals provided in `diag` is not consistent with "
            "`lower_diag_index` and `upper_diag_index`");
      }
      expected.AddDim(band.count());
    }
    expected.AddDim(band.longest());
    if (diagonal == expected) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "Either first dimensions of diagonal don't match input.shape[:-2], or "
        "diagonal.shape[:-1] is not equal to the longests diagonal in range "
        "[lower_diag_index:upper_diag_index].\nInput shape: ",
        input.ToString(), "\nDiagonal shape: ", diagonal.ToString(),
        "\nExpected diagonal shape: ", expected.ToString()));
  }

  const Alignment align_;
};

}  // namespace

void RegisterArrayDiagonalBandKernels(KernelRegistry& registry) {
  registry.Register<MatrixDiagBandKernel>("MatrixDiagV2");
  registry.Register<MatrixDiagBandKernel>("MatrixDiagV3");
  registry.Register<MatrixDiagPartBandKernel>("MatrixDiagPartV2");
  registry.Register<MatrixDiagPartBandKernel>("MatrixDiagPartV3");
  for (const char* op : {"MatrixSetDiag", "BatchMatrixSetDiag",
                         "MatrixSetDiagV2", "MatrixSetDiagV3"}) {
    registry.Register<MatrixSetDiagKernel>(op);
  }
}

}  // namespace weft
