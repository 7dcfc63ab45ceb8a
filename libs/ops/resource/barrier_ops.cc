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
                 .Doc("Collects components by key, and returns them when a key "
                      "is complete."));
  family.Add(family.User({"BarrierInsertMany"})
                 .Input("keys: string")
                 .Input("values: T")
                 .Attr("T: type")
                 .Attr("component_index: int")
                 .Doc("Inserts one component for each key.")
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
                 .Doc("Takes num_elements complete elements as a batch.")
                 .Shape(TakeManyShape));
  family.Add(family.User({"BarrierClose"})
                 .Attr("cancel_pending_enqueues: bool = false")
                 .Doc("Makes a barrier reject new keys.")
                 .Shape(shapes::NoOutputs));
  family.Add(family.User({"BarrierReadySize"})
                 .Output("size: int32")
                 .Doc("Returns the number of complete elements of a barrier.")
                 .Shape(shapes::Scalar));
  family.Add(family.User({"BarrierIncompleteSize"})
                 .Output("size: int32")
                 .Doc("Returns the number of incomplete elements of a barrier.")
                 .Shape(shapes::Scalar));
}

}  // namespace weft
