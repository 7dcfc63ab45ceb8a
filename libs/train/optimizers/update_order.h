// UpdateOrder finds the reads of a variable that must precede its update, so
// that the update can happen in place.
//
// A gradient may still need the value of a variable whose own gradient is
// complete: in a layer x * w the gradient of x reads w, and that of w does not.
// If the update ran first, it would have to copy the variable, because a reader
// holds the old value. TensorFlow orders them by gates between the gradients
// (GATE_OP); a control edge does the same without extra nodes.
//
// The order affects only speed: if it is hard to determine (conditions, loops)
// or would cost a message (readers on other devices), none is imposed.
//
// Threads: as the scope's.
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
  // not change between construction and the last call.
  UpdateOrder(const Graph& graph, const std::vector<Gradient>& gradients);

  // Nodes that read the whole of `variable`, on its device, for one of the
  // gradients, and that `gradient` does not depend on already.
  std::vector<Operation> ReadersBefore(const ops::Variable& variable,
                                       const Gradient& gradient) const;

 private:
  // By node id: whether a node is needed for these gradients.
  std::vector<bool> NeededFor(const std::vector<Gradient>& gradients) const;

  const Graph& graph_;
  // Maps the node that makes a variable to consumers of values read from it.
  std::map<const Node*, std::vector<const Node*>> readers_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_UPDATE_ORDER_H_
