// Moving averages of variables and other tensors: each step moves an average a
// little towards the value. Names and formulas are those of
// tf.train.ExponentialMovingAverage.
//
//   train::ExponentialMovingAverage ema(0.999);
//   Operation averages = ema.Apply(scope.WithControlDependencies({train}));
//   Output smooth = ema.Average(w);  // of "w/ExponentialMovingAverage"
//
// An average lies beside its variable and is of its family.
// Errors stick to the scope; what is returned is null then. Threads: as the
// scope's.
#ifndef WEFT_LIBS_TRAIN_MOVING_AVERAGES_H_
#define WEFT_LIBS_TRAIN_MOVING_AVERAGES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::train {

// The collection of the variables that averages are kept of.
inline constexpr absl::string_view kMovingAverageVariables =
    "moving_average_variables";

// variable -= (1 - decay) * (variable - value); returns the new average.
// zero_debias: the variable began at 0, and that is made up for. A variable
// VARIABLE/biased is moved instead, VARIABLE/local_step counts the updates t,
// and the variable is set to biased / (1 - decay ^ t), an average of the values
// alone. INVALID_ARGUMENT where the shapes of variable and value can't be the
// same, or that of a variable to be debiased is not known.
Output AssignMovingAverage(const Scope& scope, const ops::Variable& variable,
                           const Input& value, const Input& decay,
                           bool zero_debias = true);

struct ExponentialMovingAverageOptions {
  // The count of updates so far: the decay is at most
  // (1 + num_updates) / (10 + num_updates). Null: not so.
  Input num_updates = Output();
  // For averages of tensors, which begin at 0.
  bool zero_debias = false;
  std::string name = "ExponentialMovingAverage";
};

class ExponentialMovingAverage {
 public:
  explicit ExponentialMovingAverage(
      Input decay, ExponentialMovingAverageOptions options = {});

  // The operation that updates the averages; those that are not there yet are
  // made, and begin with the value of the variable. INVALID_ARGUMENT for a
  // variable that is not floating-point.
  Operation Apply(const Scope& scope,
                  const std::vector<ops::Variable>& variables);
  // Of all trainable variables.
  Operation Apply(const Scope& scope);
  // Of tensors of a known shape; the averages begin with 0.
  Operation ApplyToTensors(const Scope& scope,
                           const std::vector<Output>& tensors);

  // The average; null when there is none. Name: that of its node, also before
  // it is made.
  ops::Variable Average(const ops::Variable& variable) const;
  ops::Variable Average(const Output& tensor) const;
  std::string AverageName(const ops::Variable& variable) const;
  std::string AverageName(const Output& tensor) const;

  const std::string& name() const { return options_.name; }

 private:
  // Something that an average is kept of.
  struct Averaged {
    Output key;    // the handle, or the tensor
    Output value;  // what moves the average
    bool zero_debias = false;
  };
  void MakeAverage(const Scope& scope, const ops::Variable& variable);
  void MakeAverage(const Scope& scope, const Output& tensor);
  ops::Variable Find(const Output& key) const;
  Output DecayTensor(const Scope& scope) const;
  Operation Update(const Scope& scope,
                   const std::vector<Averaged>& averaged) const;

  const Input decay_;
  const ExponentialMovingAverageOptions options_;
  std::map<std::pair<const Node*, int>, ops::Variable> averages_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_MOVING_AVERAGES_H_
