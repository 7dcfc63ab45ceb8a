// QueueStore holds the elements of a queue and defines the order in which they
// leave it.
//
// Not synchronized: the Queue holds its lock.
#ifndef WEFT_LIBS_RESOURCE_QUEUE_STORE_H_
#define WEFT_LIBS_RESOURCE_QUEUE_STORE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "libs/tensor/tensor.h"

namespace weft {

// One element: a tensor for each component.
using QueueElement = std::vector<Tensor>;

class QueueStore {
 public:
  virtual ~QueueStore() = default;
  virtual void Add(QueueElement element) = 0;
  // REQUIRES: size() > 0.
  virtual QueueElement Take() = 0;
  // Undoes the last calls of Take; `elements` are in the order in which they
  // were taken.
  virtual void GiveBack(std::vector<QueueElement> elements) = 0;
  virtual int64_t size() const = 0;
};

// First in, first out.
std::unique_ptr<QueueStore> NewFifoStore();

// Draws any element with `random`, which returns uniform numbers.
std::unique_ptr<QueueStore> NewRandomStore(
    absl::AnyInvocable<uint32_t()> random);

// Takes the element with the smallest component 0, and the oldest of equal
// ones. REQUIRES: component 0 is an int64 scalar.
std::unique_ptr<QueueStore> NewPriorityStore();

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_QUEUE_STORE_H_
