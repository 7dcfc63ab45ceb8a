// ControlFlowContext is the context of the nodes in a loop body or a branch
// (TensorFlow's ControlFlowContext in control_flow_ops.py). A Scope with a
// context passes each new node to it. The context replaces outer values by
// values that exist inside, and a node without such inputs gets a control
// input, so that it runs when the body or the branch does.
//
// libs/ops/control/ has the contexts of loops and branches, libs/gradients that
// of the backward loop.
//
// Threads: as for the scopes of its graph.
#ifndef WEFT_LIBS_OPS_CONTROL_FLOW_CONTEXT_H_
#define WEFT_LIBS_OPS_CONTROL_FLOW_CONTEXT_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "libs/graph/graph.h"
#include "libs/ops/output.h"

namespace weft {

class ControlFlowContext {
 public:
  virtual ~ControlFlowContext() = default;

  // Returns the value for use by nodes inside: unchanged if it was created
  // inside or is valid everywhere. Returns null after an error, which sticks to
  // the scope.
  virtual Output AddValue(const Output& value) = 0;
  // Like AddValue, for a control input; null if no node inside needs to wait
  // for it.
  virtual const Node* AddControl(const Node* node) = 0;
  // Returns a node that runs whenever the body or the branch does.
  virtual const Node* pivot() const = 0;

  // Replaces the inputs of a node that is about to be added by values that
  // exist inside. A context may substitute an equivalent node. Returns an error
  // if an input has no value here.
  virtual absl::Status AddOp(NodeSpec& spec);

  // Records that the node belongs to this context.
  void NoteInside(const Node* node) { inside_.insert(node); }
  bool IsInside(const Node* node) const { return inside_.contains(node); }

 protected:
  // Returns whether an input or control input from `node`, a result of AddValue
  // or AddControl, is enough to run a node whenever the inside does.
  virtual bool IsTiedBy(const Node& node) const;
  // Returns whether nodes inside take this outer value unchanged: a constant
  // without a gradient. A floating-point constant enters like other values, so
  // that its gradient is known where it was created.
  static bool IsPassedUnchanged(const Output& value);

 private:
  absl::flat_hash_set<const Node*> inside_;
};

}  // namespace weft

#endif  // WEFT_LIBS_OPS_CONTROL_FLOW_CONTEXT_H_
