// Optimizer adds ops that update variables to minimize a loss. Classes and node
// names are those of tf.train.
//
//   Operation train = train::GradientDescent(0.05f).Minimize(scope, loss);
//   auto step = train::GetOrCreateGlobalStep(scope);
//   Operation train = train::Adam(1e-3f).Minimize(scope, loss,
//                                                 {.global_step = step});
//
// An update and its slots ("w/Momentum") are colocated with the variable; slots
// are variables of the same kind (resource or reference). Rows of a sparse
// gradient with the same index are summed first.
//
// Variables are float, double, half or bfloat16; updates of the last two are
// computed in float. The op that applies an update holds the locks of the
// variable and its slots, regardless of use_locking, so that updates are
// atomic. Hyperparameters given as C++ numbers become floats, as in TensorFlow,
// also for double variables; an output is read in each step.
//
// Errors stick to the scope; operations are null then. An Optimizer may be used
// for several losses of one graph, and must not outlive it. Threads: as the
// scope's.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_OPTIMIZER_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_OPTIMIZER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libs/gradients/gradients.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/initializers.h"
#include "libs/ops/state/variable.h"
#include "libs/train/optimizers/global_step.h"

namespace weft::train {

struct GradientAndVariable {
  Gradient gradient;  // None where the loss does not depend on the variable
  ops::Variable variable;
};

struct ComputeGradientsOptions {
  // The variables to update; empty for all trainable variables of the graph.
  std::vector<ops::Variable> var_list;
  bool colocate_gradients_with_ops = false;
  Output grad_loss;  // weight of the loss; null: 1
};

struct ApplyGradientsOptions {
  ops::Variable global_step;  // counted up after the updates; null: none
  std::string name;           // empty: the optimizer's
};

struct MinimizeOptions {
  ops::Variable global_step;
  std::vector<ops::Variable> var_list;
  std::string name;
  bool colocate_gradients_with_ops = false;
  Output grad_loss;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Returns one entry per variable; empty after an error.
  std::vector<GradientAndVariable> ComputeGradients(
      const Scope& scope, const Output& loss,
      const ComputeGradientsOptions& options = {});
  // Returns the operation that applies all gradients and adds it to the
  // collection "train_op". Variables without a gradient are unchanged.
  // INVALID_ARGUMENT if every gradient is None, a variable occurs twice, or a
  // variable that needs slots has an unknown shape.
  Operation ApplyGradients(const Scope& scope,
                           const std::vector<GradientAndVariable>& gradients,
                           const ApplyGradientsOptions& options = {});
  // ComputeGradients, then ApplyGradients. INVALID_ARGUMENT if the loss depends
  // on no variable.
  Operation Minimize(const Scope& scope, const Output& loss,
                     const MinimizeOptions& options = {});

  const std::string& name() const { return name_; }
  // Returns the slot of `variable` with a name such as "momentum"; null if
  // there is none. Names are tf.train's.
  ops::Variable GetSlot(const ops::Variable& variable,
                        const std::string& slot) const;

 protected:
  explicit Optimizer(std::string name) : name_(std::move(name)) {}
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(Optimizer&&) = default;

  // ApplyGradients calls the following methods, in this order.

  // Creates the slots of these variables. `scope` is the scope of
  // ApplyGradients.
  virtual void CreateSlots(const Scope& scope,
                           const std::vector<ops::Variable>& variables);
  // Creates the hyperparameter tensors under `scope`.
  virtual void Prepare(const Scope& scope) = 0;
  // Adds the update of one variable. A null variable is never passed.
  virtual Operation ApplyDense(const Scope& scope,
                               const ops::Variable& variable,
                               const Output& gradient) = 0;
  // Adds the update of one variable for a sparse gradient. Sums rows with the
  // same index and calls ApplySparseUnique. Optimizers that need no such sum
  // override it.
  virtual Operation ApplySparse(const Scope& scope,
                                const ops::Variable& variable,
                                const Gradient& gradient);
  virtual Operation ApplySparseUnique(const Scope& scope,
                                      const ops::Variable& variable,
                                      const Gradient& gradient) = 0;
  // Returns additional operations to run after all updates.
  virtual std::vector<Operation> Finish(const Scope& scope,
                                        const std::vector<Operation>& updates);

  // ---- helpers for the methods above ----

  // A hyperparameter, given as a number or as an output.
  struct Hyper {
    Hyper(Input given, const char* node)
        : value(std::move(given)), name(node) {}
    Input value;
    const char* name;
    Output tensor;  // set by PrepareHyper
  };
  static void PrepareHyper(const Scope& scope, Hyper& hyper);
  // Returns the hyperparameter in the type of `variable`.
  static Output HyperFor(const Scope& scope, const Hyper& hyper,
                         const ops::Variable& variable);

  // Creates a slot unless it exists; its node is VARIABLE/`node_name` below the
  // open variable scope, as in TensorFlow.
  void MakeSlot(const Scope& scope, const ops::Variable& variable,
                const std::string& slot, const std::string& node_name,
                const ops::Initializer& initializer);
  // Returns the slot's handle; null after an error.
  Output Slot(const ops::Variable& variable, const std::string& slot) const;

  // Adds [Resource][Sparse]Apply`rule` with inputs: variable, `slots`,
  // `before`, the gradient (and indices), `after`.
  Operation AddApply(const Scope& scope, const ops::Variable& variable,
                     const Gradient& gradient, const char* rule,
                     const std::vector<std::string>& slots,
                     const InputList& before, const InputList& after,
                     AttrMap attrs = {}) const;

 private:
  Operation AddUpdate(const Scope& scope, const GradientAndVariable& item,
                      const std::vector<Operation>& after);
  Operation AddFinish(const Scope& named, const std::vector<Operation>& updates,
                      const ops::Variable& global_step);

  std::string name_;
  std::map<std::pair<const Node*, std::string>, ops::Variable> slots_;
};

// var -= learning_rate * gradient. Rows that a sparse gradient repeats are
// subtracted repeatedly, which equals their sum.
class GradientDescent : public Optimizer {
 public:
  explicit GradientDescent(Input learning_rate);

 protected:
  void Prepare(const Scope& scope) override;
  Operation ApplyDense(const Scope& scope, const ops::Variable& variable,
                       const Output& gradient) override;
  Operation ApplySparse(const Scope& scope, const ops::Variable& variable,
                        const Gradient& gradient) override;
  Operation ApplySparseUnique(const Scope& scope, const ops::Variable& variable,
                              const Gradient& gradient) override;

 private:
  Hyper learning_rate_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_OPTIMIZER_H_
