// Array ops on diagonals, including the names in old graphs: BatchMatrixDiag
// and related ops equal MatrixDiag and related ops; V2 is V3 with rows aligned
// to the left.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/array/array_shapes.h"
#include "libs/ops/array/op_groups.h"

namespace weft {
namespace {

using array_shapes::Concatenate;
using array_shapes::Subshape;

absl::Status DiagShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape input, c.InputWithRankAtLeast(0, 1));
  c.set_output(0, Concatenate(input, input));
  return absl::OkStatus();
}

absl::Status DiagPartShape(InferenceContext& c) {
  const PartialShape& input = c.input(0);
  if (!input.has_rank()) return absl::OkStatus();
  if (input.rank() % 2 != 0 || input.rank() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input must have even and non-zero rank, input rank is ",
                     input.rank()));
  }
  const int half = input.rank() / 2;
  ASSIGN_OR_RETURN(PartialShape shape,
                   Subshape(input, 0, half).MergeWith(Subshape(input, half)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// ---- One diagonal ----

int64_t Smaller(int64_t rows, int64_t columns) {
  return rows == PartialShape::kUnknown || columns == PartialShape::kUnknown
             ? PartialShape::kUnknown
             : std::min(rows, columns);
}

absl::Status MatrixDiagShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRankAtLeast(0, 1));
  if (!shape.has_rank()) return absl::OkStatus();
  shape.AddDim(shape.dim(shape.rank() - 1));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status MatrixDiagPartShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape input, c.InputWithRankAtLeast(0, 2));
  if (!input.has_rank()) return absl::OkStatus();
  PartialShape shape = Subshape(input, 0, input.rank() - 2);
  shape.AddDim(
      Smaller(input.dim(input.rank() - 2), input.dim(input.rank() - 1)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// Completes the batch dimensions of the matrices from the diagonals: all of
// their shape but the last `own` dimensions.
absl::Status MergeBatch(InferenceContext& c, PartialShape input,
                        const PartialShape& diagonal, int own) {
  if (diagonal.has_rank() && diagonal.rank() >= own &&
      !input.IsFullyDefined()) {
    ASSIGN_OR_RETURN(input, input.MergeWith(Concatenate(
                                Subshape(diagonal, 0, diagonal.rank() - own),
                                PartialShape::OfRank(2))));
  }
  c.set_output(0, std::move(input));
  return absl::OkStatus();
}

absl::Status MatrixSetDiagShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape input, c.InputWithRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(PartialShape diagonal, c.InputWithRankAtLeast(1, 1));
  if (input.has_rank()) {
    ASSIGN_OR_RETURN(diagonal, c.InputWithRank(1, input.rank() - 1));
    const int64_t size =
        Smaller(input.dim(input.rank() - 2), input.dim(input.rank() - 1));
    RETURN_IF_ERROR(
        InferenceContext::MergeDims(size, diagonal.dim(diagonal.rank() - 1))
            .status());
  }
  return MergeBatch(c, std::move(input), diagonal, 1);
}

absl::Status MatrixShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRankAtLeast(0, 2));
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// ---- A band of diagonals ----

struct Band {
  int64_t low, high;

  int64_t count() const { return high - low + 1; }
  int own_dims() const { return low == high ? 1 : 2; }
};

// A single number, or the lowest and the highest; nullopt if unknown.
absl::StatusOr<std::optional<Band>> BandAt(InferenceContext& c, int input) {
  const PartialShape& shape = c.input(input);
  if (shape.has_rank() && shape.rank() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Shape must be at most rank 1 but is rank ", shape.rank()));
  }
  const std::optional<Dims> values = array_shapes::Integers(c, input);
  if (!values) return std::optional<Band>();
  if (values->empty() || values->size() > 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "diag_index must be a vector with one or two elements. It has ",
        values->size(), " elements."));
  }
  const Band band = {values->front(), values->back()};
  if (band.low > band.high) {
    return absl::InvalidArgumentError(
        "lower_diag_index is greater than upper_diag_index");
  }
  return std::optional<Band>(band);
}

absl::Status CheckInside(const char* name, int64_t diagonal, int64_t rows,
                         int64_t columns) {
  if (diagonal == 0 || (diagonal > -rows && diagonal < columns)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(name, " is out of bound."));
}

// REQUIRES: the sizes of the matrices are known.
absl::Status CheckInside(const Band& band, const PartialShape& matrices) {
  const int64_t rows = matrices.dim(matrices.rank() - 2);
  const int64_t columns = matrices.dim(matrices.rank() - 1);
  if (rows == PartialShape::kUnknown || columns == PartialShape::kUnknown)
    return absl::OkStatus();
  RETURN_IF_ERROR(CheckInside("lower_diag_index", band.low, rows, columns));
  return CheckInside("upper_diag_index", band.high, rows, columns);
}

absl::Status MatrixDiagPartBandShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape input, c.InputWithRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(const std::optional<Band> band, BandAt(c, 1));
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  if (!band || !input.has_rank()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckInside(*band, input));
  const int64_t rows = input.dim(input.rank() - 2);
  const int64_t columns = input.dim(input.rank() - 1);
  PartialShape shape = Subshape(input, 0, input.rank() - 2);
  if (band->count() > 1) shape.AddDim(band->count());
  shape.AddDim(rows == PartialShape::kUnknown ||
                       columns == PartialShape::kUnknown
                   ? PartialShape::kUnknown
                   : std::min(rows + std::min<int64_t>(band->high, 0),
                              columns - std::max<int64_t>(band->low, 0)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

struct Sizes {
  int64_t rows, columns;
};

// The sizes of the matrices that hold diagonals of that length. Missing sizes
// (-1) are the smallest possible; if both are missing, the matrix is square.
absl::StatusOr<Sizes> SizesFor(const Band& band, int64_t length, Sizes given) {
  Sizes least = {};
  ASSIGN_OR_RETURN(least.rows, array_shapes::AddSizes(
                                   length, -std::min<int64_t>(band.high, 0)));
  ASSIGN_OR_RETURN(least.columns, array_shapes::AddSizes(
                                      length, std::max<int64_t>(band.low, 0)));
  if (given.rows == -1 && given.columns == -1) {
    const int64_t size = std::max(least.rows, least.columns);
    return Sizes{size, size};
  }
  if (given.rows == -1) given.rows = least.rows;
  if (given.columns == -1) given.columns = least.columns;
  if (given.rows < least.rows) {
    return absl::InvalidArgumentError("num_rows is too small");
  }
  if (given.columns < least.columns) {
    return absl::InvalidArgumentError("num_cols is too small.");
  }
  if (given.rows == least.rows || given.columns == least.columns) return given;
  return absl::InvalidArgumentError(absl::StrCat(
      "num_rows and num_cols are not consistent with lower_diag_index, "
      "upper_diag_index, and the length of the given diagonals.\nnum_rows = ",
      given.rows, " != min_num_rows = ", least.rows,
      ", num_cols = ", given.columns, " != min_num_cols = ", least.columns));
}

absl::Status CheckCount(const Band& band, const PartialShape& diagonal) {
  const int64_t rows =
      diagonal.rank() < 2 ? 0 : diagonal.dim(diagonal.rank() - 2);
  if (band.count() == 1 || rows == band.count() ||
      rows == PartialShape::kUnknown) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "The number of rows of `diagonal` doesn't match the number of diagonals "
      "implied from `d_lower` and `d_upper`.\nnum_diags = ",
      band.count(), ", d_lower = ", band.low, ", d_upper = ", band.high,
      ", shape of `diagonal` = ", diagonal.ToString()));
}

absl::Status MatrixDiagBandShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape diagonal, c.InputWithRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const std::optional<Band> band, BandAt(c, 1));
  for (int i : {2, 3, 4}) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  if (!band || !diagonal.has_rank()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckCount(*band, diagonal));
  Sizes sizes = {c.input_scalar(2).value_or(PartialShape::kUnknown),
                 c.input_scalar(3).value_or(PartialShape::kUnknown)};
  const int64_t length = diagonal.dim(diagonal.rank() - 1);
  // A size that is fed later may be larger than the smallest.
  if (length != PartialShape::kUnknown && c.input_tensor(2) &&
      c.input_tensor(3)) {
    ASSIGN_OR_RETURN(sizes, SizesFor(*band, length, sizes));
  }
  PartialShape shape =
      Subshape(diagonal, 0, diagonal.rank() - band->own_dims());
  shape.AddDim(std::max(sizes.rows, PartialShape::kUnknown));
  shape.AddDim(std::max(sizes.columns, PartialShape::kUnknown));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status MatrixSetDiagBandShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape input, c.InputWithRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(PartialShape diagonal, c.InputWithRankAtLeast(1, 1));
  ASSIGN_OR_RETURN(const std::optional<Band> band, BandAt(c, 2));
  if (!band) {
    c.set_output(0, std::move(input));
    return absl::OkStatus();
  }
  if (input.has_rank()) {
    const int batch = input.rank() - 2;
    ASSIGN_OR_RETURN(diagonal, c.InputWithRank(1, batch + band->own_dims()));
    RETURN_IF_ERROR(CheckInside(*band, input));
  }
  return MergeBatch(c, std::move(input), diagonal, band->own_dims());
}

// ---- Definitions ----

void AddDiags(OpRegistry& registry) {
  constexpr char kTypes[] =
      "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}";
  registry.Add(OpDefBuilder("Diag")
                   .Input("diagonal: T")
                   .Output("output: T")
                   .Attr(kTypes)
                   .Doc("Creates a tensor with the given diagonal.")
                   .Shape(DiagShape));
  registry.Add(OpDefBuilder("DiagPart")
                   .Input("input: T")
                   .Output("diagonal: T")
                   .Attr(kTypes)
                   .Doc("Returns the diagonal of a tensor.")
                   .Shape(DiagPartShape));
}

// The documentation of an op that was replaced by later ones.
const char* OldName(absl::string_view op) {
  return absl::StartsWith(op, "Batch") ? " (old name)" : "";
}

void AddMatrixDiags(OpRegistry& registry) {
  for (const char* op : {"MatrixDiag", "BatchMatrixDiag"}) {
    registry.Add(OpDefBuilder(op)
                     .Input("diagonal: T")
                     .Output("output: T")
                     .Attr("T: type")
                     .Doc(absl::StrCat("Diagonal matrices", OldName(op), "."))
                     .Shape(MatrixDiagShape));
  }
  for (const char* op : {"MatrixDiagPart", "BatchMatrixDiagPart"}) {
    registry.Add(
        OpDefBuilder(op)
            .Input("input: T")
            .Output("diagonal: T")
            .Attr("T: type")
            .Doc(absl::StrCat("The diagonals of matrices", OldName(op), "."))
            .Shape(MatrixDiagPartShape));
  }
  for (const char* op : {"MatrixSetDiag", "BatchMatrixSetDiag"}) {
    registry.Add(OpDefBuilder(op)
                     .Input("input: T")
                     .Input("diagonal: T")
                     .Output("output: T")
                     .Attr("T: type")
                     .Doc(absl::StrCat("Matrices with other diagonals",
                                       OldName(op), "."))
                     .Shape(MatrixSetDiagShape));
  }
}

void AddBandParts(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("MatrixBandPart")
          .Input("input: T")
          .Input("num_lower: Tindex")
          .Input("num_upper: Tindex")
          .Output("band: T")
          .Attr("T: type")
          .Attr("Tindex: {int32, int64} = DT_INT64")
          .Doc("Sets everything outside a central band of matrices to zero.")
          .Shape(MatrixShape));
  registry.Add(OpDefBuilder("BatchMatrixBandPart")
                   .Input("input: T")
                   .Input("num_lower: int64")
                   .Input("num_upper: int64")
                   .Output("band: T")
                   .Attr("T: type")
                   .Doc("Sets everything outside a central band of matrices to "
                        "zero (old name).")
                   .Shape(MatrixShape));
}

constexpr char kAlign[] =
    "align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = "
    "'RIGHT_LEFT'";

// The second version has no alignment.
void AddBand(OpRegistry& registry, OpDefBuilder second, OpDefBuilder third) {
  registry.Add(second.Attr("T: type"));
  registry.Add(third.Attr(kAlign).Attr("T: type"));
}

OpDefBuilder MatrixDiagBand(const char* op) {
  OpDefBuilder builder(op);
  builder.Input("diagonal: T")
      .Input("k: int32")
      .Input("num_rows: int32")
      .Input("num_cols: int32")
      .Input("padding_value: T")
      .Output("output: T")
      .Doc("Creates matrices with the given band of diagonals.")
      .Shape(MatrixDiagBandShape);
  return builder;
}

OpDefBuilder MatrixDiagPartBand(const char* op) {
  OpDefBuilder builder(op);
  builder.Input("input: T")
      .Input("k: int32")
      .Input("padding_value: T")
      .Output("diagonal: T")
      .Doc("Returns a band of diagonals of matrices.")
      .Shape(MatrixDiagPartBandShape);
  return builder;
}

OpDefBuilder MatrixSetDiagBand(const char* op) {
  OpDefBuilder builder(op);
  builder.Input("input: T")
      .Input("diagonal: T")
      .Input("k: int32")
      .Output("output: T")
      .Doc("Replaces a band of diagonals of matrices.")
      .Shape(MatrixSetDiagBandShape);
  return builder;
}

}  // namespace

void RegisterArrayDiagonalOps(OpRegistry& registry) {
  AddDiags(registry);
  AddMatrixDiags(registry);
  AddBandParts(registry);
  AddBand(registry, MatrixDiagBand("MatrixDiagV2"),
          MatrixDiagBand("MatrixDiagV3"));
  AddBand(registry, MatrixDiagPartBand("MatrixDiagPartV2"),
          MatrixDiagPartBand("MatrixDiagPartV3"));
  AddBand(registry, MatrixSetDiagBand("MatrixSetDiagV2"),
          MatrixSetDiagBand("MatrixSetDiagV3"));
}

}  // namespace weft
