// Moving averages of variables and other tensors. Names and formulas are those
// of tf.train.ExponentialMovingAverage.
//
//   train::ExponentialMovingAverage ema(0.999);
//   Operation averages = ema.Apply(scope.WithControlDependencies({train}));
//   Output smooth = ema.Average(w);  // of "w/ExponentialMovingAverage"
//
// An average is colocated with its variable and of the same kind (resource or
// reference). Errors stick to the scope; results are null then. Threads: as the
// scope's.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_MOVING_AVERAGES_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_MOVING_AVERAGES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::train {

// Collection of the variables that have averages.
inline constexpr absl::string_view kMovingAverageVariables =
    "moving_average_variables";

// variable -= (1 - decay) * (variable - value); returns the new average.
// zero_debias: corrects for a variable that started at 0. Then a variable
// VARIABLE/biased is moved instead, VARIABLE/local_step counts the updates t,
// and the variable is set to biased / (1 - decay ^ t). INVALID_ARGUMENT if the
// shapes of variable and value cannot match, or the shape of a variable to be
// debiased is unknown.
Output AssignMovingAverage(const Scope& scope, const ops::Variable& variable,
                           const Input& value, const Input& decay,
                           bool zero_debias = true);

struct ExponentialMovingAverageOptions {
  // The number of updates so far. If it is given, the decay is at most
  // (1 + num_updates) / (10 + num_updates).
  Input num_updates = Output();
  // Whether averages of tensors are corrected for their start at 0, as
  // AssignMovingAverage describes.
  bool zero_debias = false;
  std::string name = "ExponentialMovingAverage";
};

class ExponentialMovingAverage {
 public:
  explicit ExponentialMovingAverage(
      Input decay, ExponentialMovingAverageOptions options = {});

  // Returns the operation that updates the averages. Averages that do not exist
  // yet are created and start at the value of the variable. INVALID_ARGUMENT
  // for a variable that is not floating-point.
  Operation Apply(const Scope& scope,
                  const std::vector<ops::Variable>& variables);
  // Like the first Apply, for all trainable variables.
  Operation Apply(const Scope& scope);
  // Like Apply, for tensors of known shape. Their averages start at 0.
  Operation ApplyToTensors(const Scope& scope,
                           const std::vector<Output>& tensors);

  // Average returns the average of a variable or tensor, or null if there is
  // none. Name returns the node name of the average, even before it exists.
  ops::Variable Average(const ops::Variable& variable) const;
  ops::Variable Average(const Output& tensor) const;
  std::string AverageName(const ops::Variable& variable) const;
  std::string AverageName(const Output& tensor) const;

  const std::string& name() const { return options_.name; }

 private:
  // A variable or tensor with an average.
  struct Averaged {
    Output key;    // the handle, or the tensor
    Output value;  // the value that the average follows
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

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_MOVING_AVERAGES_H_
