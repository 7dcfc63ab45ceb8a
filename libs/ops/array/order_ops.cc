// Array ops that change the order of elements.
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/array/array_shapes.h"
#include "libs/ops/array/op_groups.h"

namespace weft {
namespace {

using array_shapes::Integers;

absl::Status TransposeShape(InferenceContext& c) {
  PartialShape input = c.input(0);
  ASSIGN_OR_RETURN(PartialShape perm_shape, c.InputWithRank(1, 1));
  const int64_t entries = perm_shape.dim(0);
  if (!input.has_rank()) {
    if (entries != PartialShape::kUnknown && entries <= kMaxRank) {
      c.set_output(0, PartialShape::OfRank(static_cast<int>(entries)));
    }
    return absl::OkStatus();
  }
  const int rank = input.rank();
  RETURN_IF_ERROR(InferenceContext::MergeDims(entries, rank).status());
  std::optional<Dims> perm = Integers(c, 1);
  if (perm && perm->size() != static_cast<size_t>(rank)) perm.reset();
  PartialShape result = PartialShape::OfRank(rank);
  for (int i = 0; perm && i < rank; ++i) {
    int64_t from = (*perm)[i];
    if (from < -rank || from >= rank) {
      return absl::InvalidArgumentError(absl::StrCat(
          "perm dim ", from, " is out of range of input rank ", rank));
    }
    result.set_dim(i,
                   input.dim(static_cast<int>(from < 0 ? from + rank : from)));
  }
  c.set_output(0, std::move(result));
  return absl::OkStatus();
}

absl::Status VectorShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRank(0, 1));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status ReverseShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape dims, c.InputWithRank(1, 1));
  const PartialShape& input = c.input(0);
  if (input.has_rank()) {
    RETURN_IF_ERROR(
        InferenceContext::MergeDims(dims.dim(0), input.rank()).status());
  }
  c.set_output(0, input);
  return absl::OkStatus();
}

absl::Status ReverseV2Shape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  return shapes::Unchanged(c);
}

absl::Status RollShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape input, c.InputWithRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const PartialShape both, c.input(1).MergeWith(c.input(2)));
  if (both.has_rank() && both.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shape must be at most rank 1 but is rank ", both.rank()));
  }
  c.set_output(0, std::move(input));
  return absl::OkStatus();
}

absl::Status ReverseSequenceShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(int64_t seq_dim, c.GetAttr<int64_t>("seq_dim"));
  ASSIGN_OR_RETURN(int64_t batch_dim, c.GetAttr<int64_t>("batch_dim"));
  ASSIGN_OR_RETURN(PartialShape lengths, c.InputWithRank(1, 1));
  PartialShape result = c.input(0);
  if (!result.has_rank()) return absl::OkStatus();
  if (seq_dim < 0 || seq_dim >= result.rank()) {
    return absl::InvalidArgumentError("seq_dim must be < input rank");
  }
  if (batch_dim < 0 || batch_dim >= result.rank()) {
    return absl::InvalidArgumentError("batch_dim must be < input rank");
  }
  const int batch = static_cast<int>(batch_dim);
  ASSIGN_OR_RETURN(int64_t size, InferenceContext::MergeDims(result.dim(batch),
                                                             lengths.dim(0)));
  result.set_dim(batch, size);
  c.set_output(0, std::move(result));
  return absl::OkStatus();
}

}  // namespace

void RegisterArrayOrderOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("Transpose")
                   .Input("x: T")
                   .Input("perm: Tperm")
                   .Output("y: T")
                   .Attr("T: type")
                   .Attr("Tperm: {int32, int64} = DT_INT32")
                   .Doc("Permutes dimensions.")
                   .Shape(TransposeShape));
  registry.Add(OpDefBuilder("InvertPermutation")
                   .Input("x: T")
                   .Output("y: T")
                   .Attr("T: {int32, int64} = DT_INT32")
                   .Doc("Computes the inverse of a permutation.")
                   .Shape(VectorShape));
  registry.Add(OpDefBuilder("Reverse")
                   .Input("tensor: T")
                   .Input("dims: bool")
                   .Output("output: T")
                   .Attr("T: {uint8, int8, uint16, int16, uint32, int32, "
                         "uint64, int64, bool, bfloat16, half, float, double, "
                         "complex64, complex128, string}")
                   .Doc("Reverses the marked dimensions.")
                   .Shape(ReverseShape));
  registry.Add(OpDefBuilder("ReverseV2")
                   .Input("tensor: T")
                   .Input("axis: Tidx")
                   .Output("output: T")
                   .Attr("Tidx: {int32, int64} = DT_INT32")
                   .Attr("T: {uint8, int8, uint16, int16, int32, uint32, "
                         "int64, uint64, bool, bfloat16, half, float, double, "
                         "complex64, complex128, string}")
                   .Doc("Reverses the listed dimensions.")
                   .Shape(ReverseV2Shape));
  registry.Add(OpDefBuilder("Roll")
                   .Input("input: T")
                   .Input("shift: Tshift")
                   .Input("axis: Taxis")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("Tshift: {int32, int64}")
                   .Attr("Taxis: {int32, int64}")
                   .Doc("Shifts elements along axes; elements shifted out "
                        "reenter at the other end.")
                   .Shape(RollShape));
  registry.Add(OpDefBuilder("ReverseSequence")
                   .Input("input: T")
                   .Input("seq_lengths: Tlen")
                   .Output("output: T")
                   .Attr("seq_dim: int")
                   .Attr("batch_dim: int = 0")
                   .Attr("T: type")
                   .Attr("Tlen: {int32, int64} = DT_INT64")
                   .Doc("Reverses the first elements of each slice.")
                   .Shape(ReverseSequenceShape));
}

}  // namespace weft
