// Elements of a queue to and from batches: tensors with one more dimension in
// front.
//
// Pure functions; errors are of memory, or of elements that do not fit
// together.
#ifndef WEFT_LIBS_KERNELS_RESOURCE_QUEUE_BATCH_H_
#define WEFT_LIBS_KERNELS_RESOURCE_QUEUE_BATCH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "libs/resource/queue.h"
#include "libs/tensor/tensor.h"

namespace weft {

// Whose memory the rows of a batch lie in.
enum class Rows {
  kOwn,
  // The batch's, if nobody else holds it. One row keeps all of it alive: where
  // they leave about as soon, as those of a queue that is first in, first out.
  // Such a queue holds up to a batch more than its elements.
  kOfBatch,
};

// The rows of a batch as elements.
// REQUIRES: Queue::Check has accepted it as a batch.
absl::StatusOr<std::vector<QueueElement>> CutIntoElements(
    absl::Span<const Tensor> components, Rows rows, Allocator& allocator);

// An element for somebody who may keep it: not in the memory of a batch, of
// which it is a small part, as long as there is memory for a copy.
QueueElement WithoutBatch(QueueElement element, Allocator& allocator);

// Whether JoinElements copies nothing.
bool IsInOneBatch(absl::Span<const QueueElement> elements);

// The elements as a batch, one tensor for each component. With `pad`, sizes
// that the queue does not fix become the largest of the batch, and what is
// missing zero; else all elements must have one shape. Neighbours of one batch,
// and most of it (all of it where elements have no fixed size, as texts), are
// not copied.
absl::StatusOr<std::vector<Tensor>> JoinElements(
    const QueueOptions& queue, absl::Span<const QueueElement> elements,
    bool pad, Allocator& allocator);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RESOURCE_QUEUE_BATCH_H_
