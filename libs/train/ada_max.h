// AdaMax: Adam with the largest gradient in place of the mean square (Kingma
// and Ba, 2014, section 7.1). Name, slots, defaults and rules are those of
// tf.contrib.opt.AdaMaxOptimizer (TensorFlow 1.x,
// contrib/opt/python/training/adamax.py).
//
//   Operation train = train::AdaMax(0.002).Minimize(scope, loss);
//
// A sparse gradient changes the rows it names and their slots, and no others:
// unlike Adam's, whose slots decay as a whole.
//
// What holds for all optimizers is in optimizer.h.
#ifndef WEFT_LIBS_TRAIN_ADA_MAX_H_
#define WEFT_LIBS_TRAIN_ADA_MAX_H_

#include <vector>

#include "libs/train/beta_power.h"
#include "libs/train/optimizer.h"

namespace weft::train {

struct AdaMaxOptions {
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
};

// Slots "m" and "v", and the variable beta1_power.
class AdaMax : public Optimizer {
 public:
  explicit AdaMax(Input learning_rate = 0.001f,
                  const AdaMaxOptions& options = {});

 protected:
  void CreateSlots(const Scope& scope,
                   const std::vector<ops::Variable>& variables) override;
  void Prepare(const Scope& scope) override;
  Operation ApplyDense(const Scope& scope, const ops::Variable& variable,
                       const Output& gradient) override;
  Operation ApplySparseUnique(const Scope& scope, const ops::Variable& variable,
                              const Gradient& gradient) override;
  std::vector<Operation> Finish(const Scope& scope,
                                const std::vector<Operation>& updates) override;

 private:
  const AdaMaxOptions options_;
  Hyper learning_rate_;
  Hyper beta1_;
  Hyper beta2_;
  Hyper epsilon_;
  BetaPower beta1_power_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_ADA_MAX_H_
