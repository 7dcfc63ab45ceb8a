// Implements OptimizerOf and PartitionerOf.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/train/optimizers/adam.h"
#include "libs/train/optimizers/slot_optimizers.h"
#include "tools/conformance/estimator_fields.h"
#include "tools/conformance/estimator_model_fn.h"

namespace weft::conformance {
namespace {

using estimator::OptimizerChoice;
using Json = nlohmann::json;
using Made = std::unique_ptr<train::Optimizer>;

// Reads a number for an optimizer option that is an Input.
absl::Status TakeInput(Fields& fields, const char* name, Input& input) {
  std::optional<float> value;
  RETURN_IF_ERROR(fields.Take(name, value));
  if (value) input = *value;
  return absl::OkStatus();
}

template <typename Optimizer, typename... Args>
OptimizerChoice ChoiceOf(const Args&... args) {
  return OptimizerChoice([args...](const Scope&) -> Made {
    return std::make_unique<Optimizer>(args...);
  });
}

template <typename Options>
absl::Status TakeAccumulator(Fields& fields, Options& options) {
  return fields.Take("initial_accumulator_value",
                     options.initial_accumulator_value);
}
template <typename Options>
absl::Status TakePenalties(Fields& fields, Options& options) {
  RETURN_IF_ERROR(fields.Take("l1_regularization_strength",
                              options.l1_regularization_strength));
  return fields.Take("l2_regularization_strength",
                     options.l2_regularization_strength);
}

absl::StatusOr<OptimizerChoice> Adagrad(Fields& fields, float rate) {
  train::AdagradOptions options;
  RETURN_IF_ERROR(TakeAccumulator(fields, options));
  return ChoiceOf<train::Adagrad>(rate, options);
}

absl::StatusOr<OptimizerChoice> Adam(Fields& fields, float rate) {
  train::AdamOptions options;
  RETURN_IF_ERROR(fields.Take("beta1", options.beta1));
  RETURN_IF_ERROR(fields.Take("beta2", options.beta2));
  RETURN_IF_ERROR(fields.Take("epsilon", options.epsilon));
  return ChoiceOf<train::Adam>(rate, options);
}

absl::StatusOr<OptimizerChoice> Ftrl(Fields& fields, float rate) {
  train::FtrlOptions options;
  RETURN_IF_ERROR(
      fields.Take("learning_rate_power", options.learning_rate_power));
  RETURN_IF_ERROR(TakeAccumulator(fields, options));
  RETURN_IF_ERROR(TakePenalties(fields, options));
  RETURN_IF_ERROR(fields.Take("l2_shrinkage_regularization_strength",
                              options.l2_shrinkage_regularization_strength));
  return ChoiceOf<train::Ftrl>(rate, options);
}

absl::StatusOr<OptimizerChoice> RmsProp(Fields& fields, float rate) {
  train::RmsPropOptions options;
  RETURN_IF_ERROR(TakeInput(fields, "decay", options.decay));
  RETURN_IF_ERROR(TakeInput(fields, "momentum", options.momentum));
  RETURN_IF_ERROR(TakeInput(fields, "epsilon", options.epsilon));
  RETURN_IF_ERROR(fields.Take("centered", options.centered));
  return ChoiceOf<train::RmsProp>(rate, options);
}

absl::StatusOr<OptimizerChoice> Momentum(Fields& fields, float rate) {
  ASSIGN_OR_RETURN(const auto momentum, fields.Get<float>("momentum"));
  train::MomentumOptions options;
  RETURN_IF_ERROR(fields.Take("use_nesterov", options.use_nesterov));
  return ChoiceOf<train::Momentum>(rate, momentum, options);
}

absl::StatusOr<OptimizerChoice> ProximalAdagrad(Fields& fields, float rate) {
  train::ProximalAdagradOptions options;
  RETURN_IF_ERROR(TakeAccumulator(fields, options));
  RETURN_IF_ERROR(TakePenalties(fields, options));
  return ChoiceOf<train::ProximalAdagrad>(rate, options);
}

absl::StatusOr<OptimizerChoice> OfType(const std::string& type,
                                       Fields& fields) {
  // Only Adam has a default learning rate.
  std::optional<float> given;
  RETURN_IF_ERROR(fields.Take("learning_rate", given));
  if (!given && type != "Adam") {
    return absl::InvalidArgumentError(
        absl::StrCat(fields.what(), " lacks the field learning_rate"));
  }
  const float rate = given.value_or(0.001f);
  if (type == "Adagrad") return Adagrad(fields, rate);
  if (type == "Adam") return Adam(fields, rate);
  if (type == "Ftrl") return Ftrl(fields, rate);
  if (type == "RMSProp") return RmsProp(fields, rate);
  if (type == "Momentum") return Momentum(fields, rate);
  if (type == "ProximalAdagrad") return ProximalAdagrad(fields, rate);
  if (type != "SGD") return UnknownHere(absl::StrCat("optimizer ", type));
  return ChoiceOf<train::GradientDescent>(rate);
}

absl::StatusOr<ops::Partitioner> FixedSize(Fields& fields) {
  ASSIGN_OR_RETURN(const auto num_shards, fields.Get<int>("num_shards"));
  int axis = 0;
  RETURN_IF_ERROR(fields.Take("axis", axis));
  return ops::FixedSizePartitioner(num_shards, axis);
}

absl::StatusOr<ops::Partitioner> MinMaxVariable(Fields& fields) {
  ops::MinMaxVariableOptions options;
  RETURN_IF_ERROR(fields.Take("max_partitions", options.max_partitions));
  RETURN_IF_ERROR(fields.Take("axis", options.axis));
  RETURN_IF_ERROR(fields.Take("min_slice_size", options.min_slice_size));
  RETURN_IF_ERROR(fields.Take("bytes_per_string_element",
                              options.bytes_per_string_element));
  return ops::MinMaxVariablePartitioner(options);
}

absl::StatusOr<ops::Partitioner> VariableAxisSize(Fields& fields) {
  ASSIGN_OR_RETURN(const auto bytes, fields.Get<int64_t>("max_shard_bytes"));
  ops::VariableAxisSizeOptions options;
  RETURN_IF_ERROR(fields.Take("axis", options.axis));
  RETURN_IF_ERROR(fields.Take("bytes_per_string_element",
                              options.bytes_per_string_element));
  RETURN_IF_ERROR(fields.Take("max_shards", options.max_shards));
  return ops::VariableAxisSizePartitioner(bytes, options);
}

}  // namespace

absl::StatusOr<OptimizerChoice> OptimizerOf(const Json& spec) {
  if (spec.is_null()) return OptimizerChoice();
  if (spec.is_string()) return OptimizerChoice(spec.get<std::string>());
  Fields fields(spec, "the optimizer");
  ASSIGN_OR_RETURN(const auto type, fields.Get<std::string>("type"));
  ASSIGN_OR_RETURN(auto choice, OfType(type, fields));
  RETURN_IF_ERROR(fields.CheckAllTaken());
  return choice;
}

absl::StatusOr<ops::Partitioner> PartitionerOf(const Json& spec) {
  ASSIGN_OR_RETURN(const OnlyField kind, OnlyFieldOf(spec, "the partitioner"));
  Fields fields(kind.value, absl::StrCat("the partitioner ", kind.name));
  absl::StatusOr<ops::Partitioner> made =
      UnknownHere(absl::StrCat("partitioner ", kind.name));
  if (kind.name == "fixed_size") made = FixedSize(fields);
  if (kind.name == "min_max_variable") made = MinMaxVariable(fields);
  if (kind.name == "variable_axis_size") made = VariableAxisSize(fields);
  RETURN_IF_ERROR(made.status());
  RETURN_IF_ERROR(fields.CheckAllTaken());
  return made;
}

}  // namespace weft::conformance
