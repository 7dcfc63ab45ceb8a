// UpdateOrder: what has to be read of a variable before an update may change
// it, so that the update happens in place.
//
// A gradient may still need the value of a variable whose own gradient is done:
// in a layer x * w the gradient of x reads w, and that of w does not. If the
// update came first, it would have to copy the variable, because a reader holds
// the old value. TensorFlow orders them by gates between the gradients
// (GATE_OP); a control edge does the same without nodes of its own.
//
// Nothing depends on it but speed: where the order is hard to tell (conditions,
// loops) or would cost a message (readers on other devices), there is none.
//
// Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_UPDATE_ORDER_H_
#define WEFT_LIBS_TRAIN_UPDATE_ORDER_H_

#include <map>
#include <vector>

#include "libs/gradients/gradients.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::train {

class UpdateOrder {
 public:
  // `gradients` are all that are applied in one operation. The graph must not
  // change between construction and the last call.
  UpdateOrder(const Graph& graph, const std::vector<Gradient>& gradients);

  // Nodes that read the whole of `variable`, on its device, for one of the
  // gradients, and that `gradient` does not wait for anyway.
  std::vector<Operation> ReadersBefore(const ops::Variable& variable,
                                       const Gradient& gradient) const;

 private:
  // By id: whether a node is needed for these gradients.
  std::vector<bool> NeededFor(const std::vector<Gradient>& gradients) const;

  const Graph& graph_;
  // Node that makes a variable -> consumers of values read from it.
  std::map<const Node*, std::vector<const Node*>> readers_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_UPDATE_ORDER_H_
