// Linear algebra ops: decompositions and solvers. A matrix is the last two
// dimensions of a tensor; the dimensions before them are the batch.
#include <algorithm>
#include <utility>

#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

int64_t SmallerSize(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a == PartialShape::kUnknown || b == PartialShape::kUnknown
             ? PartialShape::kUnknown
             : std::min(a, b);
}

// All but the last two dimensions.
PartialShape BatchOf(const PartialShape& shape) {
  return PartialShape(Dims(shape.dims().begin(), shape.dims().end() - 2));
}

PartialShape WithMatrix(PartialShape batch, int64_t rows, int64_t columns) {
  if (!batch.has_rank()) return batch;
  batch.AddDim(rows);
  batch.AddDim(columns);
  return batch;
}

absl::Status QrShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape input, c.InputWithRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(const bool full, c.GetAttr<bool>("full_matrices"));
  if (!input.has_rank()) return absl::OkStatus();
  const int64_t rows = input.dim(input.rank() - 2);
  const int64_t columns = input.dim(input.rank() - 1);
  const int64_t inner = full ? rows : SmallerSize(rows, columns);
  c.set_output(0, WithMatrix(BatchOf(input), rows, inner));
  c.set_output(1, WithMatrix(BatchOf(input), inner, columns));
  return absl::OkStatus();
}

// Batches broadcast.
absl::Status TriangularSolveShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape matrix, c.InputWithRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(const PartialShape rhs, c.InputWithRankAtLeast(1, 2));
  if (!matrix.has_rank() || !rhs.has_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(int64_t rows,
                   InferenceContext::MergeDims(matrix.dim(matrix.rank() - 2),
                                               matrix.dim(matrix.rank() - 1)));
  ASSIGN_OR_RETURN(rows,
                   InferenceContext::MergeDims(rows, rhs.dim(rhs.rank() - 2)));
  ASSIGN_OR_RETURN(PartialShape batch,
                   shapes::Broadcast(BatchOf(matrix), BatchOf(rhs)));
  c.set_output(0, WithMatrix(std::move(batch), rows, rhs.dim(rhs.rank() - 1)));
  return absl::OkStatus();
}

}  // namespace

void RegisterLinalgOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("Qr")
                   .Input("input: T")
                   .Output("q: T")
                   .Output("r: T")
                   .Attr("full_matrices: bool = false")
                   .Attr("T: {double, float, half, complex64, complex128}")
                   .Doc("Computes the QR decomposition of each matrix.")
                   .Shape(QrShape));
  registry.Add(
      OpDefBuilder("MatrixTriangularSolve")
          .Input("matrix: T")
          .Input("rhs: T")
          .Output("output: T")
          .Attr("lower: bool = true")
          .Attr("adjoint: bool = false")
          .Attr("T: {bfloat16, double, float, half, complex64, "
                "complex128}")
          .Doc("Solves a triangular system of equations for each matrix.")
          .Shape(TriangularSolveShape));
}

}  // namespace weft
