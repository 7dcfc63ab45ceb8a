#include "libs/ops/resource/queue.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::ops {

Queue Queue::Fifo(const Scope& scope, const DataTypeVector& component_types,
                  const QueueAttrs& attrs) {
  return {FIFOQueue(scope, component_types, attrs), component_types};
}

Queue Queue::PaddingFifo(const Scope& scope,
                         const DataTypeVector& component_types,
                         const QueueAttrs& attrs) {
  return {PaddingFIFOQueue(scope, component_types, attrs), component_types};
}

Queue Queue::Priority(const Scope& scope, const DataTypeVector& component_types,
                      const QueueAttrs& attrs) {
  DataTypeVector all = component_types;
  all.insert(all.begin(), DT_INT64);
  return {PriorityQueue(scope, component_types, attrs), std::move(all)};
}

Queue Queue::RandomShuffle(const Scope& scope,
                           const DataTypeVector& component_types,
                           const RandomShuffleQueueAttrs& attrs,
                           std::optional<int64_t> seed) {
  return {RandomShuffleQueue(scope, component_types, attrs, seed),
          component_types};
}

Scope Queue::Named(const Scope& scope, absl::string_view suffix) const {
  if (!handle_ || !scope.own_name().empty()) return scope;
  const std::string& name = handle_.node()->name();
  return scope.WithName(absl::StrCat(name.substr(name.rfind('/') + 1), suffix));
}

Operation Queue::Enqueue(const Scope& scope,
                         const InputList& components) const {
  return QueueEnqueue(Named(scope, "_enqueue"), handle_, components);
}

Operation Queue::EnqueueMany(const Scope& scope,
                             const InputList& components) const {
  return QueueEnqueueMany(Named(scope, "_EnqueueMany"), handle_, components);
}

std::vector<Output> Queue::Dequeue(const Scope& scope) const {
  return QueueDequeue(Named(scope, "_Dequeue"), handle_, dtypes_);
}

std::vector<Output> Queue::DequeueMany(const Scope& scope,
                                       const Input& n) const {
  return QueueDequeueMany(Named(scope, "_DequeueMany"), handle_, n, dtypes_);
}

std::vector<Output> Queue::DequeueUpTo(const Scope& scope,
                                       const Input& n) const {
  return QueueDequeueUpTo(Named(scope, "_DequeueUpTo"), handle_, n, dtypes_);
}

Operation Queue::Close(const Scope& scope, bool cancel_pending_enqueues) const {
  return QueueClose(Named(scope, "_Close"), handle_, cancel_pending_enqueues);
}

Output Queue::Size(const Scope& scope) const {
  return QueueSize(Named(scope, "_Size"), handle_);
}

Output Queue::IsClosed(const Scope& scope) const {
  return QueueIsClosed(Named(scope, "_Is_Closed"), handle_);
}

}  // namespace weft::ops
