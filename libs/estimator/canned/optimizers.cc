#include "libs/estimator/canned/optimizers.h"

#include "absl/strings/str_cat.h"
#include "libs/train/optimizers/adam.h"
#include "libs/train/optimizers/slot_optimizers.h"

namespace weft::estimator {

absl::StatusOr<std::unique_ptr<train::Optimizer>> OptimizerChoice::Make(
    const Scope& scope, float learning_rate) const {
  if (factory_) {
    auto made = factory_(scope);
    if (made != nullptr) return made;
    return absl::InvalidArgumentError(
        "The optimizer function returned no optimizer.");
  }
  if (name_ == "Adagrad")
    return std::make_unique<train::Adagrad>(learning_rate);
  if (name_ == "Adam") return std::make_unique<train::Adam>(learning_rate);
  if (name_ == "Ftrl") return std::make_unique<train::Ftrl>(learning_rate);
  if (name_ == "RMSProp")
    return std::make_unique<train::RmsProp>(learning_rate);
  if (name_ == "SGD") {
    return std::make_unique<train::GradientDescent>(learning_rate);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "Unsupported optimizer name: '", name_,
      "'. Supported names are: Adagrad, Adam, Ftrl, RMSProp, SGD."));
}

}  // namespace weft::estimator
