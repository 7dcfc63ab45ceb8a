// Queue is a queue of the graph together with its component types. It is
// TensorFlow's tf.queue.QueueBase, with its node names.
//
//   auto queue = ops::Queue::Fifo(root.WithName("jobs"), {DT_INT64},
//                                 {.shapes = {PartialShape::Scalar()}});
//   Operation enqueue = queue.Enqueue(root, {next});       // "jobs_enqueue"
//   Output job = queue.Dequeue(root)[0];                   // "jobs_Dequeue"
//
// A small value that refers to the graph. It is null after an error, which
// sticks to the scope; everything derived from a null queue is null. Threads:
// as for the scope.
#ifndef WEFT_LIBS_OPS_RESOURCE_QUEUE_H_
#define WEFT_LIBS_OPS_RESOURCE_QUEUE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "libs/ops/resource/queue_ops.h"
#include "libs/ops/scope.h"

namespace weft::ops {

class Queue {
 public:
  Queue() = default;
  static Queue Fifo(const Scope& scope, const DataTypeVector& component_types,
                    const QueueAttrs& attrs = {});
  static Queue PaddingFifo(const Scope& scope,
                           const DataTypeVector& component_types,
                           const QueueAttrs& attrs);
  // The priority, an int64, is the first component of elements. It is not
  // included in component_types.
  static Queue Priority(const Scope& scope,
                        const DataTypeVector& component_types,
                        const QueueAttrs& attrs);
  static Queue RandomShuffle(const Scope& scope,
                             const DataTypeVector& component_types,
                             const RandomShuffleQueueAttrs& attrs = {},
                             std::optional<int64_t> seed = std::nullopt);

  explicit operator bool() const { return bool{handle_}; }
  const Output& handle() const { return handle_; }
  operator Output() const { return handle_; }  // NOLINT: as an argument
  // The types of all components, including the priority.
  const DataTypeVector& dtypes() const { return dtypes_; }

  Operation Enqueue(const Scope& scope, const InputList& components) const;
  // The rows of the components are the elements.
  Operation EnqueueMany(const Scope& scope, const InputList& components) const;
  // One output for each component.
  std::vector<Output> Dequeue(const Scope& scope) const;
  std::vector<Output> DequeueMany(const Scope& scope, const Input& n) const;
  std::vector<Output> DequeueUpTo(const Scope& scope, const Input& n) const;
  Operation Close(const Scope& scope,
                  bool cancel_pending_enqueues = false) const;
  Output Size(const Scope& scope) const;
  Output IsClosed(const Scope& scope) const;

 private:
  Queue(Output handle, DataTypeVector dtypes)
      : handle_(handle), dtypes_(std::move(dtypes)) {}
  // Names a node: by the scope's own name, or by this queue's name and
  // `suffix`.
  Scope Named(const Scope& scope, absl::string_view suffix) const;

  Output handle_;
  DataTypeVector dtypes_;
};

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_RESOURCE_QUEUE_H_
