// Builds the graph of one call of an Estimator from its input function and its
// model function.
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/estimator/estimator_impl.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/replica_device_setter.h"
#include "libs/train/optimizers/global_step.h"

namespace weft::estimator {
namespace {

class InputInitializerHook : public train::SessionRunHook {
 public:
  explicit InputInitializerHook(std::vector<Operation> initializers)
      : initializers_(std::move(initializers)) {}
  absl::Status AfterCreateSession(Session& session,
                                  train::Coordinator&) override {
    return session.Run(FeedList(), std::vector<Output>(), initializers_)
        .status();
  }

 private:
  const std::vector<Operation> initializers_;
};

// Returns the scope of the model. In a training on a cluster, variables are
// placed on the parameter servers.
Scope ModelScope(const Scope& root, const RunConfig& config, Mode mode) {
  if (mode != Mode::kTrain || config.num_ps_replicas == 0) return root;
  return root.WithDeviceFunction(
      ReplicaDeviceSetter({.ps_tasks = config.num_ps_replicas,
                           .worker_device = config.TaskDevice()}));
}

// Returns the scope of the input, which is read on the task that runs the step,
// never on a parameter server.
Scope InputScope(const Scope& root, const RunConfig& config, Mode mode) {
  if (mode != Mode::kTrain || config.num_ps_replicas == 0) {
    return root.WithDevice("/cpu:0");
  }
  return root.WithDevice(absl::StrCat(config.TaskDevice(), "/cpu:0"));
}

absl::Status Missing(absl::string_view what, absl::string_view mode) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Missing ", what, ": an EstimatorSpec of mode ", mode, " needs it."));
}

absl::Status CheckPredictions(const EstimatorSpec& spec) {
  if (spec.predictions.empty()) return Missing("predictions", "kPredict");
  for (const auto& [name, output] : spec.predictions) {
    if (output) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Prediction '", name, "' is null."));
  }
  return absl::OkStatus();
}

absl::Status CheckMetrics(const EstimatorSpec& spec) {
  for (const auto& [name, metric] : spec.eval_metric_ops) {
    if (name == "loss" || name == "global_step") {
      return absl::InvalidArgumentError(absl::StrCat(
          "Metric with name '", name,
          "' is not allowed, because Estimator already defines a default "
          "metric with the same name."));
    }
    if (metric.value && metric.update_op) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Metric '", name, "' is null."));
  }
  return absl::OkStatus();
}

absl::Status CheckSpec(const EstimatorSpec& spec, Mode mode) {
  switch (mode) {
    case Mode::kPredict:
      return CheckPredictions(spec);
    case Mode::kTrain:
      if (!spec.loss) return Missing("loss", "kTrain");
      return spec.train_op ? absl::OkStatus() : Missing("train_op", "kTrain");
    case Mode::kEval:
      return spec.loss ? CheckMetrics(spec) : Missing("loss", "kEval");
  }
  return absl::OkStatus();
}

// Converts a loss with a single element to a scalar.
absl::Status MakeLossScalar(const Scope& root, EstimatorSpec& spec) {
  if (!spec.loss) return absl::OkStatus();
  const PartialShape& shape = spec.loss.shape();
  if (!shape.has_rank() || shape.rank() == 0) return absl::OkStatus();
  if (shape.IsFullyDefined() && shape.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Loss must be scalar, given: ", spec.loss.name(),
                     " of shape ", shape.ToString(), "."));
  }
  spec.loss = ops::Reshape(root, spec.loss, Tensor(DT_INT32, TensorShape({0})));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BuiltModel> BuildModel(const ModelFn& model_fn,
                                      const RunConfig& config, Mode mode,
                                      const InputFn& input_fn) {
  if (!input_fn) return absl::InvalidArgumentError("input_fn must be given.");
  BuiltModel built(Scope::Root());
  const Scope& root = built.root;
  if (config.tf_random_seed) root.SetGraphSeed(*config.tf_random_seed);
  const Scope model = ModelScope(root, config, mode);
  built.global_step = train::GetOrCreateGlobalStep(model);
  ASSIGN_OR_RETURN(built.input, input_fn(InputScope(root, config, mode)));
  RETURN_IF_ERROR(Annotate(root.status(), "input_fn"));
  ModelInput input{built.input.features, Output(), mode, config};
  if (mode != Mode::kPredict) {
    input.labels = built.input.labels;
    input.sparse_labels = built.input.sparse_labels;
  }
  ASSIGN_OR_RETURN(built.spec, model_fn(model, input));
  RETURN_IF_ERROR(root.status());
  RETURN_IF_ERROR(CheckSpec(built.spec, mode));
  RETURN_IF_ERROR(MakeLossScalar(root, built.spec));
  RETURN_IF_ERROR(root.status());
  return built;
}

std::shared_ptr<train::SessionRunHook> InputHook(const InputTensors& input) {
  if (input.initializers.empty()) return nullptr;
  return std::make_shared<InputInitializerHook>(input.initializers);
}

void AddHooks(const train::HookList& from, train::HookList& hooks) {
  for (const auto& hook : from) {
    if (hook != nullptr) hooks.push_back(hook);
  }
}

std::optional<double> NumberIn(const Tensor& tensor) {
  if (!tensor.IsInitialized() || tensor.num_elements() != 1) {
    return std::nullopt;
  }
  switch (tensor.dtype()) {
    case DT_FLOAT:
      return tensor.scalar<float>();
    case DT_DOUBLE:
      return tensor.scalar<double>();
    case DT_INT32:
      return tensor.scalar<int32_t>();
    case DT_INT64:
      return static_cast<double>(tensor.scalar<int64_t>());
    default:
      return std::nullopt;
  }
}

}  // namespace weft::estimator
