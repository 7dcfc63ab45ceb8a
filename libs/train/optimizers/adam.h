// Adam (Kingma and Ba, 2014), and AdaMax (section 7.1 there): Adam with the
// largest gradient in place of the mean square. Names, slots, defaults and
// rules are those of tf.train.AdamOptimizer and of
// tf.contrib.opt.AdaMaxOptimizer (TensorFlow 1.x,
// contrib/opt/python/training/adamax.py).
//
//   Operation train = train::AdaMax(0.002).Minimize(scope, loss);
//
// Update number t, counted from 1, computes for each element with gradient g:
//
//   m = beta1 * m + (1 - beta1) * g
//   Adam:    v = beta2 * v + (1 - beta2) * g ^ 2
//            var -= learning_rate * sqrt(1 - beta2 ^ t) / (1 - beta1 ^ t)
//                   * m / (sqrt(v) + epsilon)
//   AdaMax:  v = max(beta2 * v, |g|)
//            var -= learning_rate / (1 - beta1 ^ t) * m / (v + epsilon)
//
// The slots m and v start at 0. This epsilon is the paper's epsilon-hat (just
// before section 2.1). optimizer.h documents the rules common to all
// optimizers.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_ADAM_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_ADAM_H_

#include <string>
#include <vector>

#include "libs/train/optimizers/beta_power.h"
#include "libs/train/optimizers/optimizer.h"

namespace weft::train {

struct AdamOptions {
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
};
using AdaMaxOptions = AdamOptions;

// AdamBase is the shared base of Adam and AdaMax: slots "m" and "v", and the
// variable beta1_power, which holds beta1 ^ t and is multiplied after all
// updates.
class AdamBase : public Optimizer {
 protected:
  // If `v_is_mean`, a variable beta2_power corrects the bias of v as
  // beta1_power corrects that of m.
  AdamBase(std::string name, Input learning_rate, const AdamOptions& options,
           bool v_is_mean);

  void CreateSlots(const Scope& scope,
                   const std::vector<ops::Variable>& variables) final;
  void Prepare(const Scope& scope) final;
  Operation ApplyDense(const Scope& scope, const ops::Variable& variable,
                       const Output& gradient) final;
  std::vector<Operation> Finish(const Scope& scope,
                                const std::vector<Operation>& updates) final;

  Hyper learning_rate_;
  Hyper beta1_;
  Hyper beta2_;
  Hyper epsilon_;
  BetaPower beta1_power_;
  BetaPower beta2_power_;

 private:
  const AdamOptions options_;
  const bool v_is_mean_;
};

// Adam treats rows that a sparse gradient does not name as having gradient 0:
// the slots of all rows decay, and the whole variable changes. This takes
// several ops, and updates of other workers may run between them. The same
// holds for sparse updates of AdaMax.
class Adam : public AdamBase {
 public:
  explicit Adam(Input learning_rate = 0.001f, const AdamOptions& options = {});

 protected:
  Operation ApplySparseUnique(const Scope& scope, const ops::Variable& variable,
                              const Gradient& gradient) override;
};

// AdaMax changes only the rows that a sparse gradient names, and their slots.
class AdaMax : public AdamBase {
 public:
  explicit AdaMax(Input learning_rate = 0.001f,
                  const AdaMaxOptions& options = {});

 protected:
  Operation ApplySparseUnique(const Scope& scope, const ops::Variable& variable,
                              const Gradient& gradient) override;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_ADAM_H_
