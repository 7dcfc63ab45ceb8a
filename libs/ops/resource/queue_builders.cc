#include "libs/ops/resource/queue_ops.h"

namespace weft::ops {
namespace {

AttrMap AttrsOf(const DataTypeVector& component_types,
                const QueueAttrs& attrs) {
  AttrMap result = {{"component_types", component_types},
                    {"shapes", attrs.shapes},
                    {"capacity", attrs.capacity},
                    {"shared_name", attrs.shared_name}};
  if (!attrs.container.empty()) result["container"] = attrs.container;
  return result;
}

InputList WithHandle(const Input& handle, const InputList& components) {
  InputList inputs = {handle};
  inputs.insert(inputs.end(), components.begin(), components.end());
  return inputs;
}

// One output for each type; null after an error.
std::vector<Output> Components(const Node* node, const DataTypeVector& types) {
  std::vector<Output> outputs(types.size());
  for (size_t i = 0; node != nullptr && i < outputs.size(); ++i) {
    outputs[i] = Output(node, static_cast<int>(i));
  }
  return outputs;
}

}  // namespace

Output FIFOQueue(const Scope& scope, const DataTypeVector& component_types,
                 const QueueAttrs& attrs) {
  return scope.AddOutput("FIFOQueueV2", {}, AttrsOf(component_types, attrs));
}

Output PaddingFIFOQueue(const Scope& scope,
                        const DataTypeVector& component_types,
                        const QueueAttrs& attrs) {
  return scope.AddOutput("PaddingFIFOQueueV2", {},
                         AttrsOf(component_types, attrs));
}

Output PriorityQueue(const Scope& scope, const DataTypeVector& component_types,
                     const QueueAttrs& attrs) {
  return scope.AddOutput("PriorityQueueV2", {},
                         AttrsOf(component_types, attrs));
}

Output RandomShuffleQueue(const Scope& scope,
                          const DataTypeVector& component_types,
                          const RandomShuffleQueueAttrs& attrs,
                          std::optional<int64_t> seed) {
  AttrMap map = AttrsOf(component_types, attrs);
  const auto [graph_seed, op_seed] = scope.GetSeeds(seed);
  map["min_after_dequeue"] = attrs.min_after_dequeue;
  map["seed"] = graph_seed;
  map["seed2"] = op_seed;
  return scope.AddOutput("RandomShuffleQueueV2", {}, std::move(map));
}

Operation QueueEnqueue(const Scope& scope, const Input& handle,
                       const InputList& components) {
  return scope.AddNode("QueueEnqueueV2", WithHandle(handle, components));
}

Operation QueueEnqueueMany(const Scope& scope, const Input& handle,
                           const InputList& components) {
  return scope.AddNode("QueueEnqueueManyV2", WithHandle(handle, components));
}

std::vector<Output> QueueDequeue(const Scope& scope, const Input& handle,
                                 const DataTypeVector& component_types) {
  return Components(scope.AddNode("QueueDequeueV2", {handle},
                                  {{"component_types", component_types}}),
                    component_types);
}

std::vector<Output> QueueDequeueMany(const Scope& scope, const Input& handle,
                                     const Input& n,
                                     const DataTypeVector& component_types) {
  return Components(scope.AddNode("QueueDequeueManyV2", {handle, n},
                                  {{"component_types", component_types}}),
                    component_types);
}

std::vector<Output> QueueDequeueUpTo(const Scope& scope, const Input& handle,
                                     const Input& n,
                                     const DataTypeVector& component_types) {
  return Components(scope.AddNode("QueueDequeueUpToV2", {handle, n},
                                  {{"component_types", component_types}}),
                    component_types);
}

Operation QueueClose(const Scope& scope, const Input& handle,
                     bool cancel_pending_enqueues) {
  return scope.AddNode("QueueCloseV2", {handle},
                       {{"cancel_pending_enqueues", cancel_pending_enqueues}});
}

Output QueueSize(const Scope& scope, const Input& handle) {
  return scope.AddOutput("QueueSizeV2", {handle});
}

Output QueueIsClosed(const Scope& scope, const Input& handle) {
  return scope.AddOutput("QueueIsClosedV2", {handle});
}

}  // namespace weft::ops
