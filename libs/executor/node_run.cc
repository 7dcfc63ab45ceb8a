#include "libs/executor/node_run.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/resource/uninitialized.h"

namespace weft {
namespace {

// TensorFlow's error text names the node that makes the reference.
absl::Status Uninitialized(const RefInput& input) {
  return UninitializedError(input.name);
}

absl::Status ReadRef(const RefInput& input, Slot& slot, WhenLocked when) {
  absl::StatusOr<Tensor> value = slot.variable->Read(when);
  if (absl::IsFailedPrecondition(value.status())) return Uninitialized(input);
  if (!value.ok()) return value.status();
  slot.tensor = *std::move(value);
  slot.variable.reset();
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadRefs(const PlanImpl& plan, const NodeItem& item, Slot* inputs,
                      WhenLocked when) {
  for (int i = 0; i < item.num_refs; ++i) {
    const RefInput& input = plan.ref_inputs[item.first_ref + i];
    Slot& slot = inputs[input.input];
    // A Merge has only one of its inputs; a reader may run this again.
    if (!slot.is_ref()) continue;
    if (input.read) {
      RETURN_IF_ERROR(ReadRef(input, slot, when));
    } else if (!slot.variable->IsInitialized()) {
      return Uninitialized(input);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOutputs(const NodeItem& item, const Slot* outputs) {
  if (AreAsPromised(item, outputs)) return absl::OkStatus();
  for (int i = 0; i < item.num_outputs; ++i) {
    const DataType type = item.view.output_types[i];
    const Slot& output = outputs[i];
    if (output.is_dead || IsLeftOut(item, i, output)) continue;
    if (IsRefType(type) ? output.is_ref() : output.tensor.dtype() == type) {
      continue;
    }
    if (!output.is_ref() && !output.tensor.IsInitialized()) {
      return absl::InternalError(absl::StrCat("Missing output ", i));
    }
    return absl::InternalError(absl::StrCat(
        "Output ", i, " of type ",
        output.is_ref() ? "reference" : DataTypeName(output.tensor.dtype()),
        " does not match declared output type ", DataTypeName(type)));
  }
  return absl::OkStatus();
}

size_t InputBytes(const NodeItem& item, const Slot* inputs) {
  size_t bytes = 0;
  for (int i = 0; i < item.num_inputs; ++i) {
    if (inputs[i].tensor.IsInitialized()) bytes += inputs[i].tensor.num_bytes();
  }
  return bytes;
}

}  // namespace weft
