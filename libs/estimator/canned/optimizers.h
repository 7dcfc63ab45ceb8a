// OptimizerChoice is the optimizer of a canned model. It is given by name, and
// then uses the model's learning rate, or by a factory function.
//
//   {.optimizer = "Adagrad"}
//   {.optimizer = [](const Scope&) {
//      return std::make_unique<train::Adam>(0.01f);
//    }}
#ifndef WEFT_LIBS_ESTIMATOR_CANNED_OPTIMIZERS_H_
#define WEFT_LIBS_ESTIMATOR_CANNED_OPTIMIZERS_H_

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "libs/ops/scope.h"
#include "libs/train/optimizers/optimizer.h"

namespace weft::estimator {

class OptimizerChoice {
 public:
  // Factory creates the optimizer. It is called during graph construction, so a
  // learning rate may depend on the global step.
  using Factory =
      std::function<std::unique_ptr<train::Optimizer>(const Scope& scope)>;

  OptimizerChoice() = default;                                   // no optimizer
  OptimizerChoice(const char* name) : name_(name) {}             // NOLINT
  OptimizerChoice(std::string name) : name_(std::move(name)) {}  // NOLINT
  template <typename F,
            typename = std::enable_if_t<std::is_invocable_v<F, const Scope&>>>
  OptimizerChoice(F factory) : factory_(std::move(factory)) {}  // NOLINT

  bool is_none() const { return name_.empty() && !factory_; }
  // Creates the optimizer. `learning_rate` is used if the optimizer was given
  // by name. INVALID_ARGUMENT for a name that is not Adagrad, Adam, Ftrl,
  // RMSProp or SGD.
  absl::StatusOr<std::unique_ptr<train::Optimizer>> Make(
      const Scope& scope, float learning_rate) const;

 private:
  std::string name_;
  Factory factory_;
};

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_CANNED_OPTIMIZERS_H_
