// Conversions between elements of a queue and batches, which have one more
// leading dimension.
//
// Pure functions; errors are lack of memory, or mismatched elements.
#ifndef WEFT_LIBS_KERNELS_RESOURCE_QUEUE_BATCH_H_
#define WEFT_LIBS_KERNELS_RESOURCE_QUEUE_BATCH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "libs/resource/queue.h"
#include "libs/tensor/tensor.h"

namespace weft {

// The memory of a batch's rows.
enum class Rows {
  kOwn,
  // Rows share the batch's memory if the batch is not held elsewhere. One row
  // keeps the whole batch alive, so this suits queues whose elements leave in
  // order (FIFO). Such a queue holds up to one batch more than its elements.
  kOfBatch,
};

// Returns the rows of a batch as elements. REQUIRES: Queue::Check accepted it
// as a batch.
absl::StatusOr<std::vector<QueueElement>> CutIntoElements(
    absl::Span<const Tensor> components, Rows rows, Allocator& allocator);

// Returns an element for a holder that may keep it: copied if it is a small
// part of a batch, as long as there is memory for the copy.
QueueElement WithoutBatch(QueueElement element, Allocator& allocator);

// Returns whether JoinElements copies nothing.
bool IsInOneBatch(absl::Span<const QueueElement> elements);

// Returns the elements as a batch, one tensor for each component. With `pad`,
// sizes that the queue does not fix become the largest of the batch, and
// missing values are zero; otherwise all elements must have the same shape.
// Adjacent elements that are most of one batch are not copied (for elements
// without a fixed size, such as strings: all of it).
absl::StatusOr<std::vector<Tensor>> JoinElements(
    const QueueOptions& queue, absl::Span<const QueueElement> elements,
    bool pad, Allocator& allocator);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RESOURCE_QUEUE_BATCH_H_
