// Builders of queue ops, one for each op, with TensorFlow's names. A handle is
// an output of FIFOQueue or a similar op. With a `shared_name`, other sessions
// and tasks share the queue; without it, the queue belongs to the node's
// session.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_RESOURCE_QUEUE_OPS_H_
#define WEFT_LIBS_OPS_RESOURCE_QUEUE_OPS_H_

#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

struct QueueAttrs {
  // The shapes of the components. Without them, elements may have any shape,
  // but cannot be dequeued in batches.
  std::vector<PartialShape> shapes;
  int64_t capacity = -1;    // elements; -1: unbounded
  std::string container;    // empty: the scope's
  std::string shared_name;  // empty: not shared
};

Output FIFOQueue(const Scope& scope, const DataTypeVector& component_types,
                 const QueueAttrs& attrs = {});
// Sizes of -1 may differ between elements; batches are padded with zeros.
// REQUIRES: shapes.
Output PaddingFIFOQueue(const Scope& scope,
                        const DataTypeVector& component_types,
                        const QueueAttrs& attrs);
// An int64 scalar, the priority, precedes the components; the smallest leaves
// first. REQUIRES: shapes.
Output PriorityQueue(const Scope& scope, const DataTypeVector& component_types,
                     const QueueAttrs& attrs);
struct RandomShuffleQueueAttrs : QueueAttrs {
  int64_t min_after_dequeue = 0;
};
// Draws with the graph's seed and `seed`, if set.
Output RandomShuffleQueue(const Scope& scope,
                          const DataTypeVector& component_types,
                          const RandomShuffleQueueAttrs& attrs = {},
                          std::optional<int64_t> seed = std::nullopt);

Operation QueueEnqueue(const Scope& scope, const Input& handle,
                       const InputList& components);
// The rows of the components are the elements.
Operation QueueEnqueueMany(const Scope& scope, const Input& handle,
                           const InputList& components);
// One output for each component.
std::vector<Output> QueueDequeue(const Scope& scope, const Input& handle,
                                 const DataTypeVector& component_types);
std::vector<Output> QueueDequeueMany(const Scope& scope, const Input& handle,
                                     const Input& n,
                                     const DataTypeVector& component_types);
std::vector<Output> QueueDequeueUpTo(const Scope& scope, const Input& handle,
                                     const Input& n,
                                     const DataTypeVector& component_types);
Operation QueueClose(const Scope& scope, const Input& handle,
                     bool cancel_pending_enqueues = false);
Output QueueSize(const Scope& scope, const Input& handle);
Output QueueIsClosed(const Scope& scope, const Input& handle);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_RESOURCE_QUEUE_OPS_H_
