// UpdateOrder finds the reads of a variable that must precede its update, so
// that the update can happen in place.
//
// A gradient may still need the value of a variable whose own gradient is
// complete. For example, in a layer x * w the gradient of x reads w, but the
// gradient of w does not. If the update ran first, it would have to copy the
// variable, because a reader holds the old value. TensorFlow orders reads and
// updates by gates between the gradients (GATE_OP). A control edge has the same
// effect without extra nodes.
//
// The order affects only speed. No order is imposed if it is hard to determine
// (conditions, loops), or if it would cost a message (readers on other
// devices).
//
// The functions are as thread-safe as the scope.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_UPDATE_ORDER_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_UPDATE_ORDER_H_

#include <map>
#include <vector>

#include "libs/gradients/gradients.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::train {

class UpdateOrder {
 public:
  // `gradients` are all gradients that one operation applies. The graph must
  // not change between construction and the last call of a method.
  UpdateOrder(const Graph& graph, const std::vector<Gradient>& gradients);

  // Returns the nodes that read the whole of `variable`, on its device, to
  // compute one of the gradients. Nodes on which `gradient` depends already are
  // left out.
  std::vector<Operation> ReadersBefore(const ops::Variable& variable,
                                       const Gradient& gradient) const;

 private:
  // Returns whether each node, by its id, is needed for these gradients.
  std::vector<bool> NeededFor(const std::vector<Gradient>& gradients) const;

  const Graph& graph_;
  // Maps the node that creates a variable to the consumers of values read from
  // it.
  std::map<const Node*, std::vector<const Node*>> readers_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_UPDATE_ORDER_H_
