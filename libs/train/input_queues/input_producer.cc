#include "libs/train/input_queues/input_producer.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/logging_ops.h"
#include "libs/ops/io/io_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"
#include "libs/ops/random/random_ops.h"
#include "libs/ops/state/state_ops.h"
#include "libs/train/input_queues/queue_fullness.h"

namespace weft::train {
namespace {

// Returns whether the input was not given.
bool IsNullInput(const Input& input) {
  return !input.value() && !input.output();
}

bool FailProducer(const Scope& scope, absl::string_view text) {
  scope.UpdateStatus(absl::InvalidArgumentError(text));
  return false;
}

// Computes in `row` the shape of one row of `tensor`. Returns false, with an
// error in the scope, if that shape is unknown or does not match `wanted`.
bool RowShape(const Scope& scope, const Output& tensor,
              const PartialShape& wanted, PartialShape& row) {
  row = wanted;
  const PartialShape& shape = tensor.shape();
  if (shape.has_rank()) {
    if (shape.rank() == 0) {
      return FailProducer(scope, "the rows of a scalar can't be produced");
    }
    const Dims dims(shape.dims().begin() + 1, shape.dims().end());
    auto merged = PartialShape(dims).MergeWith(wanted);
    if (!merged.ok()) return FailProducer(scope, merged.status().message());
    row = *std::move(merged);
  }
  if (row.IsFullyDefined()) return true;
  return FailProducer(scope,
                      "Either `input_tensor` must have a fully defined shape "
                      "or `element_shape` must be specified");
}

// Returns whether the number of elements is known and fits an int32.
bool IsKnownAndSmall(const PartialShape& shape) {
  if (!shape.IsFullyDefined()) return false;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  int64_t size = 1;
  for (const int64_t dim : shape.dims()) {
    if (dim > kMost) return false;
    size *= dim;
    if (size > kMost) return false;
  }
  return true;
}

// Returns the number of elements, like tf.size: as a constant if the shape is
// known.
Output SizeOf(const Scope& scope, const Output& tensor) {
  const PartialShape& shape = tensor.shape();
  if (!IsKnownAndSmall(shape)) return ops::Size(scope, tensor);
  int32_t size = 1;
  for (const int64_t dim : shape.dims()) size *= static_cast<int32_t>(dim);
  return scope.ToOutput(Tensor::Scalar(size), "Size");
}

Output ShapeOf(const Scope& scope, const Output& tensor) {
  const PartialShape& shape = tensor.shape();
  if (!IsKnownAndSmall(shape)) return ops::Shape(scope, tensor);
  std::vector<int32_t> dims;
  for (const int64_t dim : shape.dims()) {
    dims.push_back(static_cast<int32_t>(dim));
  }
  return scope.ToOutput(Tensor::Vector<int32_t>(dims), "Shape");
}

// Returns tensor[0] of a vector, with the node names of Python's slicing.
Output FirstElement(const Scope& scope, const Output& tensor) {
  const Scope inner = scope.SubScope("strided_slice");
  const Output begin = inner.ToOutput(ops::Ints({0}), "stack");
  const Output end = inner.ToOutput(ops::Ints({1}), "stack_1");
  const Output strides = inner.ToOutput(ops::Ints({1}), "stack_2");
  return ops::StridedSlice(inner.WithName(inner.prefix()), tensor, begin, end,
                           strides, {.shrink_axis_mask = 1});
}

Output CheckedStrings(const Scope& scope, const Output& strings) {
  constexpr char kText[] =
      "string_input_producer requires a non-null input tensor";
  const Output has_any = ops::Greater(scope, SizeOf(scope, strings), 0);
  const Scope check = scope.SubScope("Assert");
  // TensorFlow also creates this constant.
  check.ToOutput(Tensor::Scalar(kText), "Const");
  const Operation assert_op = ops::Assert(check, has_any, {Input(kText)});
  if (!scope.ok()) return Output();
  return ops::Identity(scope.WithControlDependencies({assert_op}), strings);
}

std::string FullnessName(int64_t capacity) {
  return absl::StrCat("fraction_of_", capacity, "_full");
}

}  // namespace

Output LimitEpochs(const Scope& scope, const Input& tensor,
                   std::optional<int64_t> num_epochs,
                   const LimitEpochsOptions& options) {
  if (!num_epochs) return scope.WithName("").ToOutput(tensor);
  if (*num_epochs <= 0) {
    FailProducer(scope,
                 absl::StrCat("num_epochs must be > 0 not ", *num_epochs, "."));
    return Output();
  }
  const Scope inner = scope.CompositeScope("limit_epochs");
  const Output zero = inner.ToOutput(Tensor::Scalar(int64_t{0}));
  const ops::Variable epochs(
      inner.WithName("epochs"), zero,
      {.trainable = false,
       .collections = {std::string(collection::kLocalVariables)},
       .use_resource = options.use_resource});
  if (!scope.ok()) return Output();
  const Scope beside = inner.ColocateWith(epochs.handle());
  const Output counter =
      options.use_resource
          ? ops::ResourceCountUpTo(beside, epochs.handle(), *num_epochs,
                                   DT_INT64)
          : ops::CountUpTo(beside, epochs.handle(), *num_epochs);
  if (!scope.ok()) return Output();
  return ops::Identity(
      inner.WithName(inner.prefix()).WithControlDependencies({counter}),
      tensor);
}

ops::Queue InputProducer(const Scope& scope, const Input& input_tensor,
                         const ProducerOptions& options) {
  if (!CheckCapacity(scope, options.capacity)) return {};
  const Scope inner = scope.CompositeScope("input_producer");
  Output rows = inner.ToOutput(input_tensor, "input_tensor");
  PartialShape row;
  if (!scope.ok()) return {};
  if (!rows) {
    FailProducer(scope, "an input producer needs a tensor");
    return {};
  }
  if (!RowShape(scope, rows, options.element_shape, row)) return {};
  if (options.shuffle) {
    rows = ops::RandomShuffle(inner, rows, {.seed = options.seed});
  }
  rows = LimitEpochs(inner, rows, options.num_epochs, options.limit);
  if (!scope.ok()) return {};
  ops::Queue queue = ops::Queue::Fifo(
      QueueScope(inner).WithName(scope.own_name()), {rows.dtype()},
      {.shapes = {row},
       .capacity = options.capacity,
       .shared_name = options.shared_name});
  if (!scope.ok()) return {};
  AddRunner(inner, queue, {queue.EnqueueMany(inner, {rows})},
            options.cancel_op);
  if (!options.summary_name.empty()) {
    AddFullness(inner, options.summary_name, queue.Size(inner),
                options.capacity);
  }
  return scope.ok() ? queue : ops::Queue();
}

ops::Queue StringInputProducer(const Scope& scope, const Input& string_tensor,
                               const ProducerOptions& options) {
  const auto& value = string_tensor.value();
  if (IsNullInput(string_tensor) || (value && value->num_elements() == 0)) {
    FailProducer(scope,
                 "string_input_producer requires a non-null input tensor");
    return {};
  }
  const Scope inner = scope.CompositeScope("input_producer");
  const Output strings = inner.ToOutput(string_tensor);
  if (!scope.ok()) return {};
  const Output checked = CheckedStrings(inner, strings);
  ProducerOptions rest = options;
  rest.element_shape = PartialShape::Scalar();
  rest.summary_name = FullnessName(options.capacity);
  return InputProducer(inner.WithName(inner.prefix()), checked, rest);
}

ops::Queue RangeInputProducer(const Scope& scope, const Input& limit,
                              const ProducerOptions& options) {
  const Scope inner = scope.CompositeScope("input_producer");
  const Output range = ops::Range(inner.WithName("range"), 0, limit, 1);
  ProducerOptions rest = options;
  rest.element_shape = PartialShape::Scalar();
  rest.summary_name = FullnessName(options.capacity);
  rest.cancel_op = Operation();
  return InputProducer(inner.WithName(inner.prefix()), range, rest);
}

std::vector<Output> SliceInputProducer(const Scope& scope,
                                       const InputList& tensors,
                                       const ProducerOptions& options) {
  if (tensors.empty()) {
    FailProducer(scope,
                 "Expected at least one tensor in slice_input_producer().");
    return {};
  }
  const Scope inner = scope.CompositeScope("input_producer");
  std::vector<Output> whole;
  for (const Input& tensor : tensors) whole.push_back(inner.ToOutput(tensor));
  if (!scope.ok()) return std::vector<Output>(tensors.size());
  const Output count = FirstElement(inner, ShapeOf(inner, whole[0]));
  const ops::Queue queue = RangeInputProducer(inner, count, options);
  if (!queue) return std::vector<Output>(tensors.size());
  const Output index = queue.Dequeue(inner)[0];
  std::vector<Output> slices;
  for (const Output& tensor : whole) {
    slices.push_back(ops::GatherV2(inner, tensor, index, 0));
  }
  return slices;
}

ops::Variable MatchFilenamesOnce(const Scope& scope, const Input& pattern,
                                 bool use_resource) {
  const Scope inner = scope.CompositeScope("matching_filenames");
  const Output paths = ops::MatchingFiles(inner, pattern);
  if (!scope.ok()) return {};
  return ops::Variable(
      inner.WithName(inner.prefix()), paths,
      {.trainable = false,
       .collections = {std::string(collection::kLocalVariables)},
       .use_resource = use_resource,
       .validate_shape = false});
}

}  // namespace weft::train
