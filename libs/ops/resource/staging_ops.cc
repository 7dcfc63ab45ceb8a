// Ops on staging areas. They have no handles: a name identifies the area.
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/resource/op_groups.h"

namespace weft {
namespace {

absl::Status StagePeekShape(InferenceContext& c) {
  return c.InputWithRank(0, 0).status();
}

absl::Status StagedItemShape(InferenceContext& c) {
  c.set_output(0, PartialShape::Scalar());
  return absl::OkStatus();
}

OpDefBuilder StagingOp(const char* name) {
  OpDefBuilder builder(name);
  builder.Attr("capacity: int >= 0 = 0")
      .Attr("memory_limit: int >= 0 = 0")
      .Attr("container: string = ''")
      .Attr("shared_name: string = ''")
      .Stateful();
  return builder;
}

void AddStagingAreaOps(OpRegistry& registry) {
  registry.Add(StagingOp("Stage")
                   .Input("values: dtypes")
                   .Attr("dtypes: list(type) >= 1")
                   .Doc("Adds a tuple to a staging area.")
                   .Shape(shapes::NoOutputs));
  registry.Add(StagingOp("Unstage")
                   .Output("values: dtypes")
                   .Attr("dtypes: list(type) >= 1")
                   .Doc("Takes the oldest tuple from a staging area.")
                   .Shape(shapes::Unknown));
  registry.Add(StagingOp("StagePeek")
                   .Input("index: int32")
                   .Output("values: dtypes")
                   .Attr("dtypes: list(type) >= 1")
                   .Doc("Returns a tuple of a staging area, by its index from "
                        "the oldest.")
                   .Shape(StagePeekShape));
  registry.Add(StagingOp("StageSize")
                   .Output("size: int32")
                   .Attr("dtypes: list(type)")
                   .Doc("Returns the number of tuples in a staging area.")
                   .Shape(shapes::Scalar));
  registry.Add(StagingOp("StageClear")
                   .Attr("dtypes: list(type)")
                   .Doc("Removes all tuples from a staging area.")
                   .Shape(shapes::NoOutputs));
}

// The ops on staging areas by key. TensorFlow has them in an ordered and an
// unordered version.
struct MapOpNames {
  const char *stage, *unstage, *unstage_no_key, *peek, *size, *incomplete_size,
      *clear;
};

void AddStagingMapOps(OpRegistry& registry, const MapOpNames& names) {
  registry.Add(StagingOp(names.stage)
                   .Input("key: int64")
                   .Input("indices: int32")
                   .Input("values: fake_dtypes")
                   .Attr("dtypes: list(type)")
                   .Attr("fake_dtypes: list(type) >= 1")
                   .Doc("Adds some or all values of a key to a staging area.")
                   .Shape(shapes::NoOutputs));
  registry.Add(StagingOp(names.unstage)
                   .Input("key: int64")
                   .Input("indices: int32")
                   .Output("values: dtypes")
                   .Attr("dtypes: list(type) >= 1")
                   .Doc("Takes values of a key from a staging area.")
                   .Shape(shapes::Unknown));
  registry.Add(StagingOp(names.unstage_no_key)
                   .Input("indices: int32")
                   .Output("key: int64")
                   .Output("values: dtypes")
                   .Attr("dtypes: list(type) >= 1")
                   .Doc("Takes values of the smallest key from a staging area.")
                   .Shape(StagedItemShape));
  registry.Add(StagingOp(names.peek)
                   .Input("key: int64")
                   .Input("indices: int32")
                   .Output("values: dtypes")
                   .Attr("dtypes: list(type) >= 1")
                   .Doc("Returns values of a key without taking them from the "
                        "staging area.")
                   .Shape(shapes::Unknown));
  registry.Add(
      StagingOp(names.size)
          .Output("size: int32")
          .Attr("dtypes: list(type)")
          .Doc("Returns the number of complete keys in a staging area.")
          .Shape(shapes::Scalar));
  registry.Add(
      StagingOp(names.incomplete_size)
          .Output("size: int32")
          .Attr("dtypes: list(type)")
          .Doc("Returns the number of incomplete keys in a staging area.")
          .Shape(shapes::Scalar));
  registry.Add(StagingOp(names.clear)
                   .Attr("dtypes: list(type)")
                   .Doc("Removes everything from a staging area.")
                   .Shape(shapes::NoOutputs));
}

}  // namespace

void RegisterStagingOps(OpRegistry& registry) {
  AddStagingAreaOps(registry);
  AddStagingMapOps(registry,
                   {"MapStage", "MapUnstage", "MapUnstageNoKey", "MapPeek",
                    "MapSize", "MapIncompleteSize", "MapClear"});
  AddStagingMapOps(
      registry, {"OrderedMapStage", "OrderedMapUnstage",
                 "OrderedMapUnstageNoKey", "OrderedMapPeek", "OrderedMapSize",
                 "OrderedMapIncompleteSize", "OrderedMapClear"});
}

}  // namespace weft
