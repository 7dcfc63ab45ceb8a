// Ops on queues, for both kinds of handles: resources (FIFOQueueV2, ...) and
// references to two strings (FIFOQueue, ... in old graphs).
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/resource/handle_family.h"
#include "libs/ops/resource/op_groups.h"

namespace weft {
namespace {

// The node that created the handle at input 0, if it is visible.
const Node* QueueOf(const InferenceContext& c) {
  OutputTensor at = c.input_source(0);
  while (at.node != nullptr &&
         (at.node->type() == "Identity" || at.node->type() == "Enter" ||
          at.node->type() == "Switch" || at.node->type() == "RefEnter" ||
          at.node->type() == "RefSwitch" || at.node->type() == "RefIdentity")) {
    at = at.node->input(0);
  }
  return at.node;
}

// The shapes of the components; empty if they are unknown.
std::vector<PartialShape> ComponentShapes(const InferenceContext& c) {
  const Node* queue = QueueOf(c);
  if (queue == nullptr) return {};
  const auto* shapes = queue->attr<std::vector<PartialShape>>("shapes");
  if (shapes == nullptr) return {};
  std::vector<PartialShape> result = *shapes;
  if (absl::StartsWith(queue->type(), "PriorityQueue")) {
    result.insert(result.begin(), PartialShape::Scalar());
  }
  if (static_cast<int>(result.size()) != c.num_outputs()) return {};
  return result;
}

PartialShape WithBatch(const PartialShape& shape, int64_t size) {
  if (!shape.has_rank()) return shape;
  Dims dims = {size};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return PartialShape(std::move(dims));
}

absl::Status DequeueShape(InferenceContext& c) {
  const std::vector<PartialShape> shapes = ComponentShapes(c);
  for (size_t i = 0; i < shapes.size(); ++i) {
    c.set_output(static_cast<int>(i), shapes[i]);
  }
  return absl::OkStatus();
}

absl::Status BatchShape(InferenceContext& c, int64_t size) {
  const std::vector<PartialShape> shapes = ComponentShapes(c);
  for (size_t i = 0; i < shapes.size(); ++i) {
    c.set_output(static_cast<int>(i), WithBatch(shapes[i], size));
  }
  return absl::OkStatus();
}

absl::Status DequeueManyShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  const int64_t count = c.input_scalar(1).value_or(PartialShape::kUnknown);
  if (count < PartialShape::kUnknown) {
    return absl::InvalidArgumentError(
        absl::StrCat("n must not be negative, but is ", count));
  }
  return BatchShape(c, count);
}

absl::Status DequeueUpToShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  return BatchShape(c, PartialShape::kUnknown);
}

// An op that creates a queue.
OpDefBuilder Queue(const HandleFamily& family, const HandleOpNames& names) {
  OpDefBuilder builder = family.Maker(names);
  builder.Attr("capacity: int = -1")
      .Attr("container: string = ''")
      .Attr("shared_name: string = ''");
  return builder;
}

// An op that creates a FIFO queue.
OpDefBuilder FifoQueue(const HandleFamily& family, const HandleOpNames& names) {
  OpDefBuilder builder = Queue(family, names);
  builder.Attr("component_types: list(type) >= 1")
      .Attr("shapes: list(shape) >= 0 = []");
  return builder;
}

void AddQueues(const HandleFamily& family) {
  family.Add(FifoQueue(family, {"FIFOQueue", "FIFOQueueV2"})
                 .Doc("A first-in first-out queue."));
  family.Add(
      FifoQueue(family, {"PaddingFIFOQueue", "PaddingFIFOQueueV2"})
          .Doc("A first-in first-out queue whose batches pad their elements."));
  family.Add(Queue(family, {"RandomShuffleQueue", "RandomShuffleQueueV2"})
                 .Attr("component_types: list(type) >= 1")
                 .Attr("shapes: list(shape) >= 0 = []")
                 .Attr("min_after_dequeue: int = 0")
                 .Attr("seed: int = 0")
                 .Attr("seed2: int = 0")
                 .Doc("A queue that dequeues elements in random order."));
  family.Add(Queue(family, {"PriorityQueue", "PriorityQueueV2"})
                 .Attr("component_types: list(type) >= 0 = []")
                 .Attr("shapes: list(shape) >= 0")
                 .Doc("A queue that dequeues the element with the smallest "
                      "first component."));
}

// An op that enqueues elements.
OpDefBuilder Enqueue(const HandleFamily& family, const HandleOpNames& names) {
  OpDefBuilder builder = family.User(names);
  builder.Input("components: Tcomponents")
      .Attr("Tcomponents: list(type) >= 1")
      .Attr("timeout_ms: int = -1")
      .Shape(shapes::NoOutputs);
  return builder;
}

// An op that dequeues a batch.
OpDefBuilder DequeueBatch(const HandleFamily& family,
                          const HandleOpNames& names) {
  OpDefBuilder builder = family.User(names);
  builder.Input("n: int32")
      .Output("components: component_types")
      .Attr("component_types: list(type) >= 1")
      .Attr("timeout_ms: int = -1");
  return builder;
}

void AddTransfers(const HandleFamily& family) {
  family.Add(Enqueue(family, {"QueueEnqueue", "QueueEnqueueV2"})
                 .Doc("Enqueues one element."));
  family.Add(Enqueue(family, {"QueueEnqueueMany", "QueueEnqueueManyV2"})
                 .Doc("Enqueues the rows of the components."));
  family.Add(DequeueBatch(family, {"QueueDequeueMany", "QueueDequeueManyV2"})
                 .Doc("Dequeues n elements as a batch.")
                 .Shape(DequeueManyShape));
  family.Add(
      DequeueBatch(family, {"QueueDequeueUpTo", "QueueDequeueUpToV2"})
          .Doc("Dequeues n elements, or the remaining ones of a closed queue.")
          .Shape(DequeueUpToShape));
  family.Add(family.User({"QueueDequeue", "QueueDequeueV2"})
                 .Output("components: component_types")
                 .Attr("component_types: list(type) >= 1")
                 .Attr("timeout_ms: int = -1")
                 .Doc("Dequeues one element.")
                 .Shape(DequeueShape));
}

void AddState(const HandleFamily& family) {
  family.Add(family.User({"QueueClose", "QueueCloseV2"})
                 .Attr("cancel_pending_enqueues: bool = false")
                 .Doc("Makes a queue reject further elements.")
                 .Shape(shapes::NoOutputs));
  family.Add(family.User({"QueueSize", "QueueSizeV2"})
                 .Output("size: int32")
                 .Doc("Returns the number of elements in a queue.")
                 .Shape(shapes::Scalar));
  family.Add(family.User({"QueueIsClosed", "QueueIsClosedV2"})
                 .Output("is_closed: bool")
                 .Doc("Returns whether a queue is closed.")
                 .Shape(shapes::Scalar));
}

}  // namespace

void RegisterQueueOps(OpRegistry& registry) {
  for (const HandleFamily& family :
       HandleFamily::ReferencesAndResources(registry)) {
    AddQueues(family);
    AddTransfers(family);
    AddState(family);
  }
}

}  // namespace weft
