// Slot is the value on one edge of a running step: nothing yet, a tensor, a
// reference to a variable, or a dead value (of a branch not taken).
#ifndef WEFT_LIBS_KERNELS_SLOT_H_
#define WEFT_LIBS_KERNELS_SLOT_H_

#include <memory>
#include <utility>

#include "libs/resource/variable.h"
#include "libs/tensor/tensor.h"

namespace weft {

// Constructs a tensor in place. Assigning a newly created tensor takes longer,
// because it is read in larger units than it was written in.
template <typename... From>
void MakeAnew(Tensor& tensor, From&&... from) {
  std::destroy_at(&tensor);
  std::construct_at(&tensor, std::forward<From>(from)...);
}

// A value; not synchronized.
struct Slot {
  Tensor tensor;                       // if `variable` is null
  std::shared_ptr<Variable> variable;  // an edge of ref type
  bool is_dead = false;

  bool is_ref() const { return variable != nullptr; }
  void Clear() {
    if (tensor.IsInitialized()) MakeAnew(tensor);
    if (variable) variable.reset();
    is_dead = false;
  }
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SLOT_H_
