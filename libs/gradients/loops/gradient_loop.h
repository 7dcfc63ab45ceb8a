// GradientLoop: the loop that runs backwards. For a loop of the graph it adds
// one of as many iterations, whose iteration i computes the gradients of
// iteration count - 1 - i; TensorFlow's GradLoopState
// (control_flow_state.py). Internal to libs/gradients.
//
// It is the context of what is added to that loop: a value of the forward loop
// that a gradient takes is put on a stack there, in each iteration, and taken
// from it here, in the opposite order. What is the same in all iterations is
// taken from outside, constants are made anew, and of a tensor whose shape
// alone is asked for the shape is kept. Forward nodes are added for this: a
// counter, stacks and pushes; only steps that compute gradients run them.
//
// A stack lives for one run of the forward loop. Where that is inside another
// loop, the handle of the stack is kept by a stack of the outer loop. Values of
// a branch are pushed where it was taken, and popped under the same condition.
//
// Threads: as the scope's. Errors stick to the scope.
#ifndef WEFT_LIBS_GRADIENTS_LOOPS_GRADIENT_LOOP_H_
#define WEFT_LIBS_GRADIENTS_LOOPS_GRADIENT_LOOP_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "libs/gradients/gradient_registry.h"
#include "libs/gradients/loops/frames.h"
#include "libs/ops/scope.h"

namespace weft {

class GradientLoop : public ControlFlowContext {
 public:
  // `outside`: where gradients of what surrounds the loop are added. `forward`:
  // where nodes that surround the loop itself are. `frames` outlives this.
  GradientLoop(Frames& frames, LoopParts loop, const Scope& outside,
               const Scope& forward);

  const LoopParts& forward_loop() const { return loop_; }

  // A gradient that goes from iteration to iteration, `begin` in the first:
  // that of what the last iteration gave. `variable`: whose it is. Gives its
  // value in an iteration; null after an error.
  Output AddVariable(const LoopVariable& variable, const Output& begin);
  // Zeros like what the loop gives for a variable that nobody asks for.
  Output ZerosFor(const LoopVariable& variable);
  // Closes the variable that was added as number `i`: `next` is its value in
  // the next iteration; zeros when null. Gives the value after the last.
  Output CloseVariable(const Scope& inside, size_t i, const Output& next);
  // The sum over all iterations of `part`, the gradient of an invariant, given
  // outside the loop. Sparse parts are joined.
  Gradient Accumulate(const Scope& inside, const Node& enter,
                      const Gradient& part);
  // Closes the counters; nothing may be added after it.
  void Close();

  Output AddValue(const Output& value) override;
  const Node* AddControl(const Node* node) override;
  const Node* pivot() const override { return pivot_.node(); }
  absl::Status AddOp(NodeSpec& spec) override;

 private:
  struct Counter {
    Output merge;
    Output next;                       // the value of the next iteration
    std::vector<Operation> waits_for;  // before which that may not begin
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

  // A value that goes around the backward loop.
  Variable Begin(const Output& value, const PartialShape& shape);
  void Back(const Variable& variable, const Output& next);
  Output EnterConstant(const Output& value);

  Output FromForward(const Output& value);
  Output Invariant(const Output& value) const;
  Output ThroughStack(const Output& value);
  Output Push(const Output& value, bool is_conditional);
  Output Pop(const Output& value, const Output& handle,
             const Conditions& conditions);
  absl::Status KeepShapeInstead(NodeSpec& spec);
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
  const Scope free_;  // adds to either loop, by inputs that are there
  const std::string frame_name_;
  bool may_not_be_entered_ = false;
  std::vector<Operation> where_entered_;

  Output count_;         // of forward iterations
  Output forward_turn_;  // runs in each of them
  Counter forward_counter_, counter_;
  Output goes_on_, pivot_, index_;
  std::vector<Variable> variables_;
  absl::flat_hash_map<OutputTensor, Output> values_;
  absl::flat_hash_map<std::pair<OutputTensor, std::string>, Output> shapes_;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_LOOPS_GRADIENT_LOOP_H_
