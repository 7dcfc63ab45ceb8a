// Array ops whose results depend on values: partitions, unique values,
// differences, positions.
#include <algorithm>
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

using array_shapes::Concatenate;
using array_shapes::Integers;
using array_shapes::Subshape;

// Returns the part of `whole` after `prefix`, with which it must begin.
absl::StatusOr<PartialShape> Rest(const PartialShape& whole,
                                  const PartialShape& prefix) {
  if (!whole.has_rank() || !prefix.has_rank()) {
    return PartialShape::UnknownRank();
  }
  if (prefix.rank() > whole.rank() ||
      !Subshape(whole, 0, prefix.rank()).IsCompatibleWith(prefix)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Shape ", whole.ToString(), " must start with ", prefix.ToString()));
  }
  return Subshape(whole, prefix.rank());
}

absl::Status DynamicPartitionShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape rest, Rest(c.input(0), c.input(1)));
  const PartialShape each =
      Concatenate(PartialShape::Vector(PartialShape::kUnknown), rest);
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, each);
  return absl::OkStatus();
}

// One more than the largest index; unknown unless all are known.
int64_t StitchedRows(InferenceContext& c, int count) {
  int64_t rows = 0;
  for (int i = 0; i < count; ++i) {
    const std::optional<Dims> indices = Integers(c, i);
    if (!indices) return PartialShape::kUnknown;
    for (int64_t index : *indices) rows = std::max(rows, index + 1);
  }
  return rows;
}

absl::Status DynamicStitchShape(InferenceContext& c) {
  const int count = c.num_inputs() / 2;
  PartialShape rest;
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(PartialShape one, Rest(c.input(count + i), c.input(i)));
    ASSIGN_OR_RETURN(rest, rest.MergeWith(one));
  }
  c.set_output(0,
               Concatenate(PartialShape::Vector(StitchedRows(c, count)), rest));
  return absl::OkStatus();
}

absl::Status UniquePartitionShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape ids, c.InputWithRank(0, 1));
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape::Vector(PartialShape::kUnknown));
  }
  c.set_output(1, ids);
  return absl::OkStatus();
}

absl::Status GatherStitchedShape(InferenceContext& c) {
  const int count = c.num_inputs() / 2;
  PartialShape rest;
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(PartialShape one, Rest(c.input(count + i), c.input(i)));
    ASSIGN_OR_RETURN(rest, rest.MergeWith(one));
  }
  c.set_output(0, Concatenate(c.input(2 * count), rest));
  return absl::OkStatus();
}

absl::Status SumToPartsShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape rest, Rest(c.input(0), c.input(1)));
  for (int i = 0; i < c.num_outputs(); ++i) {
    ASSIGN_OR_RETURN(const PartialShape part, c.InputWithRank(2 + i, 1));
    c.set_output(i, Concatenate(part, rest));
  }
  return absl::OkStatus();
}

absl::Status WhereShape(InferenceContext& c) {
  const PartialShape& input = c.input(0);
  c.set_output(0,
               PartialShape::Matrix(
                   PartialShape::kUnknown,
                   input.has_rank() ? input.rank() : PartialShape::kUnknown));
  return absl::OkStatus();
}

absl::Status UniqueShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape input, c.InputWithRank(0, 1));
  c.set_output(0, PartialShape::Vector(PartialShape::kUnknown));
  c.set_output(1, std::move(input));
  if (c.num_outputs() == 3)
    c.set_output(2, PartialShape::Vector(PartialShape::kUnknown));
  return absl::OkStatus();
}

absl::Status UniqueV2Shape(InferenceContext& c) {
  const PartialShape& input = c.input(0);
  if (input.has_rank()) c.set_output(0, PartialShape::OfRank(input.rank()));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  return absl::OkStatus();
}

absl::Status ListDiffShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  c.set_output(0, PartialShape::Vector(PartialShape::kUnknown));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  return absl::OkStatus();
}

// Ops that passes substitute for lookups in tables of several parts
// (libs/passes/parted_lookup_fusion.h). Clients do not use them.
void AddOpsOfPartedLookups(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("_UniquePartition")
          .Input("x: T")
          .Output("y: T")
          .Output("idx: int32")
          .Output("rows: num_partitions * T")
          .Output("places: num_partitions * int32")
          .Attr("num_partitions: int >= 1")
          .Attr("T: {int32, int64}")
          .Doc("Unique, with the values partitioned: y[places[i]] are the "
               "values congruent to i modulo num_partitions, and rows[i] are "
               "these values divided by num_partitions, rounded down.")
          .Shape(UniquePartitionShape));
  registry.Add(
      OpDefBuilder("_GatherStitched")
          .Input("places: N * int32")
          .Input("data: N * T")
          .Input("indices: int32")
          .Output("output: T")
          .Attr("N: int >= 1")
          .Attr("T: type")
          .Doc("Gathers rows from the result of ParallelDynamicStitch, without "
               "creating it. Each row has one place.")
          .Shape(GatherStitchedShape));
  registry.Add(
      OpDefBuilder("_SumToParts")
          .Input("data: T")
          .Input("segment_ids: int32")
          .Input("places: N * int32")
          .Output("output: N * T")
          .Attr("N: int >= 1")
          .Attr("T: {float, double, half, bfloat16}")
          .Doc("UnsortedSegmentSum, partitioned: output i has the rows of the "
               "sum at places[i]. Each segment has one place.")
          .Shape(SumToPartsShape));
}

}  // namespace

void RegisterArraySetOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("DynamicPartition")
                   .Input("data: T")
                   .Input("partitions: int32")
                   .Output("outputs: num_partitions * T")
                   .Attr("num_partitions: int >= 1")
                   .Attr("T: type")
                   .Doc("Distributes rows over the outputs.")
                   .Shape(DynamicPartitionShape));
  registry.Add(OpDefBuilder("DynamicStitch")
                   .Input("indices: N * int32")
                   .Input("data: N * T")
                   .Output("merged: T")
                   .Attr("N: int >= 1")
                   .Attr("T: type")
                   .Doc("Merges rows at the given indices; later ones win.")
                   .Shape(DynamicStitchShape));
  registry.Add(OpDefBuilder("ParallelDynamicStitch")
                   .Input("indices: N * int32")
                   .Input("data: N * T")
                   .Output("merged: T")
                   .Attr("N: int >= 1")
                   .Attr("T: type")
                   .Doc("Merges rows at the given indices, in any order.")
                   .Shape(DynamicStitchShape));
  registry.Add(OpDefBuilder("Where")
                   .Input("input: T")
                   .Output("index: int64")
                   .Attr("T: {float, double, int32, uint8, int16, int8, "
                         "complex64, int64, bfloat16, uint16, complex128, "
                         "half, uint32, uint64, bool} = DT_BOOL")
                   .Doc("Returns the indices of the nonzero elements.")
                   .Shape(WhereShape));
  registry.Add(
      OpDefBuilder("Unique")
          .Input("x: T")
          .Output("y: T")
          .Output("idx: out_idx")
          .Attr("T: type")
          .Attr("out_idx: {int32, int64} = DT_INT32")
          .Doc("Returns the unique values of a vector, in order of appearance.")
          .Shape(UniqueShape));
  registry.Add(
      OpDefBuilder("UniqueV2")
          .Input("x: T")
          .Input("axis: Taxis")
          .Output("y: T")
          .Output("idx: out_idx")
          .Attr("T: type")
          .Attr("Taxis: {int32, int64} = DT_INT64")
          .Attr("out_idx: {int32, int64} = DT_INT32")
          .Doc("Returns the unique slices of a tensor along one dimension.")
          .Shape(UniqueV2Shape));
  registry.Add(
      OpDefBuilder("UniqueWithCounts")
          .Input("x: T")
          .Output("y: T")
          .Output("idx: out_idx")
          .Output("count: out_idx")
          .Attr("T: type")
          .Attr("out_idx: {int32, int64} = DT_INT32")
          .Doc("Returns the unique values of a vector and their counts.")
          .Shape(UniqueShape));
  registry.Add(
      OpDefBuilder("ListDiff")
          .Input("x: T")
          .Input("y: T")
          .Output("out: T")
          .Output("idx: out_idx")
          .Attr("T: type")
          .Attr("out_idx: {int32, int64} = DT_INT32")
          .Doc("Returns the values of one vector that are not in another.")
          .Shape(ListDiffShape));
  AddOpsOfPartedLookups(registry);
}

}  // namespace weft
