// Ops on barriers. TensorFlow defines them for references only.
#include <string>

#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/resource/handle_family.h"
#include "libs/ops/resource/op_groups.h"

namespace weft {
namespace {

absl::Status InsertManyShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape keys, c.InputWithRank(1, 1));
  const PartialShape& values = c.input(2);
  if (!values.has_rank()) return absl::OkStatus();
  if (values.rank() == 0) {
    return absl::InvalidArgumentError(
        "a barrier needs a value for each key, not a scalar");
  }
  return InferenceContext::MergeDims(keys.dim(0), values.dim(0)).status();
}

// The number of elements depends on the barrier once it is closed.
absl::Status TakeManyShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, PartialShape::Vector(PartialShape::kUnknown));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  return absl::OkStatus();
}

}  // namespace

void RegisterBarrierOps(OpRegistry& registry) {
  const HandleFamily family(registry, HandleKind::kReference);
  family.Add(family.Maker({"Barrier"})
                 .Attr("component_types: list(type) >= 1")
                 .Attr("shapes: list(shape) >= 0 = []")
                 .Attr("capacity: int = -1")
                 .Attr("container: string = ''")
                 .Attr("shared_name: string = ''")
                 .Doc("What gathers components by key, and gives them once a "
                      "key has all."));
  family.Add(family.User({"BarrierInsertMany"})
                 .Input("keys: string")
                 .Input("values: T")
                 .Attr("T: type")
                 .Attr("component_index: int")
                 .Doc("Gives each key one of its components.")
                 .Shape(InsertManyShape));
  family.Add(family.User({"BarrierTakeMany"})
                 .Input("num_elements: int32")
                 .Output("indices: int64")
                 .Output("keys: string")
                 .Output("values: component_types")
                 .Attr("component_types: list(type) >= 1")
                 .Attr("allow_small_batch: bool = false")
                 .Attr("wait_for_incomplete: bool = false")
                 .Attr("timeout_ms: int = -1")
                 .Doc("Takes so many complete elements, as a batch.")
                 .Shape(TakeManyShape));
  family.Add(family.User({"BarrierClose"})
                 .Attr("cancel_pending_enqueues: bool = false")
                 .Doc("Makes a barrier refuse new keys.")
                 .Shape(shapes::NoOutputs));
  family.Add(family.User({"BarrierReadySize"})
                 .Output("size: int32")
                 .Doc("How many elements of a barrier are complete.")
                 .Shape(shapes::Scalar));
  family.Add(family.User({"BarrierIncompleteSize"})
                 .Output("size: int32")
                 .Doc("How many elements of a barrier are not complete.")
                 .Shape(shapes::Scalar));
}

}  // namespace weft
