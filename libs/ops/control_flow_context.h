// ControlFlowContext: what surrounds the nodes of a loop's body or of a branch
// (TensorFlow's ControlFlowContext in control_flow_ops.py). A Scope that has
// one passes each node through it: values made outside become values that exist
// inside, and a node that takes none of these waits for the body's or the
// branch's turn.
//
// libs/ops/control/ has the contexts of loops and branches, libs/gradients that
// of the loop that runs backwards.
//
// Threads: as the scopes of its graph.
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

  // The value as nodes inside take it: itself where it was made inside or
  // exists everywhere. Null after an error, which sticks to the scope.
  virtual Output AddValue(const Output& value) = 0;
  // The same of a node that others wait for; null when none inside need wait.
  virtual const Node* AddControl(const Node* node) = 0;
  // What runs whenever the body or the branch does.
  virtual const Node* pivot() const = 0;

  // Makes the inputs of a node that is about to be added those of inside. A
  // context may put another node in its place that gives the same.
  // An error when one of them has no value here.
  virtual absl::Status AddOp(NodeSpec& spec);

  // The node is one of this context.
  void NoteInside(const Node* node) { inside_.insert(node); }
  bool IsInside(const Node* node) const { return inside_.contains(node); }

 protected:
  // Whether what takes or waits for `node`, which AddValue or AddControl gave,
  // runs in the turn of what is inside for that reason alone.
  virtual bool IsTiedBy(const Node& node) const;
  // Whether nodes inside take the value, which was made outside, as it is: a
  // constant that no gradient is asked for. A floating one comes in as all
  // else does, so that what flows back to it is known where it was made.
  static bool StaysOutside(const Output& value);

 private:
  absl::flat_hash_set<const Node*> inside_;
};

}  // namespace weft

#endif  // WEFT_LIBS_OPS_CONTROL_FLOW_CONTEXT_H_
