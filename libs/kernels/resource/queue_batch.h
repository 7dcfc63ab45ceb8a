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

// The rows of a batch as elements.
// REQUIRES: Queue::Check has accepted it as a batch.
absl::StatusOr<std::vector<QueueElement>> CutIntoElements(
    absl::Span<const Tensor> components, Allocator& allocator);

// The elements as a batch, one tensor for each component. With `pad`, sizes
// that the queue does not fix become the largest of the batch, and what is
// missing zero; else all elements must have one shape.
absl::StatusOr<std::vector<Tensor>> JoinElements(
    const QueueOptions& queue, absl::Span<const QueueElement> elements,
    bool pad, Allocator& allocator);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RESOURCE_QUEUE_BATCH_H_
