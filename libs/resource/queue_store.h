// QueueStore holds the elements of a queue and determines the order in which
// they are taken.
//
// Not synchronized: Queue calls it under its lock.
#ifndef WEFT_LIBS_RESOURCE_QUEUE_STORE_H_
#define WEFT_LIBS_RESOURCE_QUEUE_STORE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "libs/tensor/tensor.h"

namespace weft {

// A QueueElement has one tensor for each component.
using QueueElement = std::vector<Tensor>;

class QueueStore {
 public:
  virtual ~QueueStore() = default;
  virtual void Add(QueueElement element) = 0;
  // Removes and returns the next element. REQUIRES: size() > 0.
  virtual QueueElement Take() = 0;
  // Undoes the last calls of Take. `elements` are in the order in which they
  // were taken.
  virtual void GiveBack(std::vector<QueueElement> elements) = 0;
  virtual int64_t size() const = 0;
};

// Returns a store that takes elements in FIFO order.
std::unique_ptr<QueueStore> NewFifoStore();

// Returns a store that takes a random element. `random` returns uniform
// numbers.
std::unique_ptr<QueueStore> NewRandomStore(
    absl::AnyInvocable<uint32_t()> random);

// Returns a store that takes the element with the smallest component 0, and the
// oldest of elements with equal values. REQUIRES: component 0 is an int64
// scalar.
std::unique_ptr<QueueStore> NewPriorityStore();

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_QUEUE_STORE_H_
