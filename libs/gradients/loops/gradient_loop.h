// GradientLoop adds the backward loop of a forward loop of the graph. The
// backward loop has the same number of iterations; its iteration i computes the
// gradients of iteration count - 1 - i. It is TensorFlow's GradLoopState
// (control_flow_state.py). Internal to libs/gradients.
//
// GradientLoop is the control flow context of the nodes added to the backward
// loop. A value of the forward loop that a gradient needs is pushed on a stack
// in each forward iteration, and popped in the backward loop in reverse order.
// Values that are the same in all iterations are taken from outside the loop.
// Constants are created again, and if only the shape of a tensor is needed,
// only the shape is kept. For this purpose a counter, stacks and pushes are
// added to the forward loop; only steps that compute gradients run them.
//
// A stack lives for one run of the forward loop. If the loop is inside another
// loop, a stack of the outer loop keeps the handle of the stack. Values of a
// branch are pushed when it is taken, and popped under the same condition.
//
// Threads: as for the scope. Errors stick to the scope.
#ifndef WEFT_LIBS_GRADIENTS_LOOPS_GRADIENT_LOOP_H_
#define WEFT_LIBS_GRADIENTS_LOOPS_GRADIENT_LOOP_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "libs/gradients/loops/frames.h"
#include "libs/gradients/registry/gradient.h"
#include "libs/ops/scope.h"

namespace weft {

class GradientLoop : public ControlFlowContext {
 public:
  // `outside` is the scope of gradients around the backward loop, `forward`
  // that of nodes around the forward loop. `frames` must outlive this object.
  GradientLoop(Frames& frames, LoopParts loop, const Scope& outside,
               const Scope& forward);

  const LoopParts& forward_loop() const { return loop_; }

  // Adds a loop variable for the gradient of `variable`, with the value `begin`
  // in the first iteration: the gradient of the last forward iteration's
  // result. Returns its value in an iteration, or null after an error.
  Output AddVariable(const LoopVariable& variable, const Output& begin);
  // Zeros of the shape of a loop result that has no gradient.
  Output ZerosFor(const LoopVariable& variable);
  // Closes the variable that was added as number `i`. `next` is its value in
  // the next iteration, or null for zeros. Returns the value after the last
  // iteration.
  Output CloseVariable(const Scope& inside, size_t i, const Output& next);
  // Returns the sum over all iterations of `part`, the gradient of an
  // invariant, as a value outside the loop. Sparse parts are joined.
  Gradient Accumulate(const Scope& inside, const Node& enter,
                      const Gradient& part);
  // Closes the counters; nothing may be added to the loop afterwards.
  void Close();

  Output AddValue(const Output& value) override;
  const Node* AddControl(const Node* node) override;
  const Node* pivot() const override { return pivot_.node(); }
  absl::Status AddOp(NodeSpec& spec) override;

 private:
  struct Counter {
    Output merge;
    Output next;                       // the value in the next iteration
    std::vector<Operation> waits_for;  // must end before the next iteration
    bool waits_for_branches = false;   // some of these may not run
  };
  struct Variable {
    Output merge;
    Output in_body;
    Output exit;
  };

  void AddForwardCounter();
  void AddBackwardCounter();
  void CloseCounter(const Scope& scope, const Counter& counter) const;
  std::vector<Operation> WhereEntered();
  Scope WhereEnteredOutside() const;

  // Starts a value that is carried around the backward loop.
  Variable Begin(const Output& value, const PartialShape& shape);
  void Back(const Variable& variable, const Output& next);
  Output EnterConstant(const Output& value);

  Output FromForward(const Output& value);
  Output Invariant(const Output& value) const;
  Output ThroughStack(const Output& value);
  Output Push(const Output& value, bool is_conditional);
  Output Pop(const Output& value, const Output& handle,
             const Conditions& conditions);
  absl::Status StackShapeOnly(NodeSpec& spec);
  bool IsKept(const Output& value);
  Output ForwardShape(const std::string& op, const Output& value,
                      const AttrMap& attrs);

  Output ZerosLike(const Output& value, DataType dtype);
  Gradient AccumulateRows(const Scope& inside, const Output& value,
                          const Gradient& part);
  Output JoinParts(const Scope& inside, const Output& part);

  Frames& frames_;
  const LoopParts loop_;
  const Scope outside_;
  const Scope forward_;
  const Scope free_;  // adds to either loop, without changing inputs
  const std::string frame_name_;
  bool may_not_be_entered_ = false;
  std::vector<Operation> where_entered_;

  Output count_;         // the number of forward iterations
  Output forward_turn_;  // runs in each forward iteration
  Counter forward_counter_, counter_;
  Output goes_on_, pivot_, index_;
  std::vector<Variable> variables_;
  absl::flat_hash_map<OutputTensor, Output> values_;
  absl::flat_hash_map<std::pair<OutputTensor, std::string>, Output> shapes_;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_LOOPS_GRADIENT_LOOP_H_
