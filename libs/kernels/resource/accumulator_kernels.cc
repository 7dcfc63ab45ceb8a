// Kernels of gradient accumulators, dense and sparse, for both kinds of
// handles.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/resource/accumulator_sums.h"
#include "libs/kernels/resource/resource_kernels.h"
#include "libs/kernels/resource/resource_lookup.h"
#include "libs/resource/gradient_accumulator.h"

namespace weft {
namespace {

// A step resource that records in which training of an accumulator the step
// began. Its name is the accumulator's. The first training needs no record.
class BeganIn : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "GradientAccumulatorTraining";
  explicit BeganIn(int64_t training) : training_(training) {}
  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override {
    return absl::StrCat("began in training ", training_);
  }
  int64_t training() const { return training_; }

 private:
  const int64_t training_;
};

// Returns the number of the training in which the step began.
// REQUIRES: the step ran the op that creates the accumulator's handle.
int64_t TrainingOf(const OpKernelContext& context,
                   const GradientAccumulator& accumulator) {
  const int64_t training = accumulator.training();
  if (training < 2) return training;
  const auto began =
      context.step_resources().Lookup<BeganIn>("", accumulator.name());
  return began.ok() ? (*began)->training() : 1;
}

class AccumulatorHandleKernel
    : public ResourceHandleKernel<GradientAccumulator> {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<AccumulatorHandleKernel>(construction);
    RETURN_IF_ERROR(kernel->ReadName(construction));
    GradientAccumulatorOptions& options = kernel->options_;
    ASSIGN_OR_RETURN(options.dtype, construction.GetAttr<DataType>("dtype"));
    ASSIGN_OR_RETURN(options.shape,
                     construction.GetAttr<PartialShape>("shape"));
    ASSIGN_OR_RETURN(const std::string reduction,
                     construction.GetAttr<std::string>("reduction_type"));
    options.takes_mean = reduction == "MEAN";
    options.is_sparse =
        construction.node().type() == "SparseConditionalAccumulator";
    return kernel;
  }
  explicit AccumulatorHandleKernel(const OpKernelConstruction& construction)
      : ResourceHandleKernel<GradientAccumulator>(construction) {}

 private:
  std::shared_ptr<GradientAccumulator> Create(
      const std::string& name) override {
    return std::make_shared<GradientAccumulator>(
        name, options_,
        options_.is_sparse ? NewSparseSum(options_) : NewDenseSum(options_));
  }

  // Records the accumulator's training when the step creates the handle. The
  // step also reads its variables at about this time.
  absl::Status NoteStep(OpKernelContext& context) override {
    const auto accumulator = context.resources().Lookup<GradientAccumulator>(
        container(), shared_name());
    if (!accumulator.ok()) return absl::OkStatus();  // not shared
    const int64_t training = (*accumulator)->training();
    if (training < 2) return absl::OkStatus();
    return context.step_resources()
        .LookupOrCreate<BeganIn>(
            context.cancellation(), "", (*accumulator)->name(),
            [&]() -> absl::StatusOr<std::shared_ptr<BeganIn>> {
              return std::make_shared<BeganIn>(training);
            })
        .status();
  }

  absl::Status CheckShared(const GradientAccumulator& shared) const override {
    if (shared.options() == options_) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "Shared conditional accumulator '", shared.name(), "' has dtype ",
        DataTypeName(shared.options().dtype), " and shape ",
        shared.options().shape.ToString(), ", but requested were dtype ",
        DataTypeName(options_.dtype), " and shape ", options_.shape.ToString(),
        " (or another kind or reduction)"));
  }

  GradientAccumulatorOptions options_;
};

absl::StatusOr<int64_t> StepAt(const OpKernelContext& context, int i,
                               absl::string_view name) {
  const Tensor& step = context.input(i);
  if (step.shape().IsScalar()) return step.scalar<int64_t>();
  return absl::InvalidArgumentError(
      absl::StrCat("Argument ", name, " must be scalar, but had bad shape ",
                   step.shape().ToString()));
}

absl::Status CheckKind(const GradientAccumulator& accumulator, DataType dtype,
                       bool is_sparse) {
  const GradientAccumulatorOptions& options = accumulator.options();
  if (options.dtype == dtype && options.is_sparse == is_sparse) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "conditional accumulator '", accumulator.name(), "' holds ",
      options.is_sparse ? "sparse " : "dense ", DataTypeName(options.dtype),
      ", not ", is_sparse ? "sparse " : "dense ", DataTypeName(dtype)));
}

// Weft's own attributes of nodes that apply gradients (see
// libs/ops/resource/accumulator_ops.h).
std::optional<int64_t> ReplicaOf(const OpKernelConstruction& construction) {
  const auto replica = construction.GetAttr<int64_t>("_replica");
  return replica.ok() ? std::optional<int64_t>(*replica) : std::nullopt;
}

class ApplyGradientKernel : public OpKernel {
 public:
  explicit ApplyGradientKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), replica_(ReplicaOf(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto accumulator,
                     FindResource<GradientAccumulator>(context, 0));
    RETURN_IF_ERROR(CheckKind(*accumulator, context.input(2).dtype(), false));
    ASSIGN_OR_RETURN(const int64_t step, StepAt(context, 1, "local_step"));
    const Tensor gradient = context.TakeInput(2);
    return accumulator->Apply(context.cancellation(), step, {gradient},
                              replica_, TrainingOf(context, *accumulator));
  }

 private:
  const std::optional<int64_t> replica_;
};

class SparseApplyGradientKernel : public OpKernel {
 public:
  explicit SparseApplyGradientKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        has_known_shape_(
            construction.GetAttr<bool>("has_known_shape").value_or(false)),
        sums_repeated_rows_(
            construction.GetAttr<bool>("_sums_repeated_rows").value_or(false)),
        replica_(ReplicaOf(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto accumulator,
                     FindResource<GradientAccumulator>(context, 0));
    RETURN_IF_ERROR(CheckKind(*accumulator, context.input(3).dtype(), true));
    ASSIGN_OR_RETURN(const int64_t step, StepAt(context, 1, "local_step"));
    std::vector<Tensor> gradient = {context.TakeInput(2), context.TakeInput(3)};
    if (has_known_shape_) gradient.push_back(context.TakeInput(4));
    if (sums_repeated_rows_) {
      ASSIGN_OR_RETURN(gradient, SumRepeatedRows(std::move(gradient)));
    }
    return accumulator->Apply(context.cancellation(), step, gradient, replica_,
                              TrainingOf(context, *accumulator));
  }

 private:
  const bool has_known_shape_;
  const bool sums_repeated_rows_;
  const std::optional<int64_t> replica_;
};

class TakeGradientKernel : public AsyncOpKernel {
 public:
  TakeGradientKernel(const OpKernelConstruction& construction, bool is_sparse)
      : AsyncOpKernel(construction), is_sparse_(is_sparse) {}

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto accumulator = FindResource<GradientAccumulator>(context, 0);
    if (!accumulator.ok()) return done(accumulator.status());
    const DataType dtype = context.output_type(is_sparse_ ? 1 : 0);
    const absl::Status kind = CheckKind(**accumulator, dtype, is_sparse_);
    if (!kind.ok()) return done(kind);
    const auto num_required = ReadCount(context);
    if (!num_required.ok()) return done(num_required.status());
    (*accumulator)
        ->Take(context.mutable_cancellation(), *num_required,
               [&context, done = std::move(done)](auto taken) mutable {
                 if (!taken.ok()) return done(taken.status());
                 for (size_t i = 0; i < taken->size(); ++i) {
                   context.SetOutput(static_cast<int>(i),
                                     std::move((*taken)[i]));
                 }
                 done(absl::OkStatus());
               });
  }

 private:
  static absl::StatusOr<int64_t> ReadCount(const OpKernelContext& context) {
    const Tensor& count = context.input(1);
    if (!count.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Argument num_required must be scalar, but had bad "
                       "shape ",
                       count.shape().ToString()));
    }
    if (count.scalar<int32_t>() > 0) return count.scalar<int32_t>();
    return absl::InvalidArgumentError(
        absl::StrCat("Argument num_required must be positive, but was ",
                     count.scalar<int32_t>()));
  }

  const bool is_sparse_;
};

template <bool is_sparse>
absl::StatusOr<std::unique_ptr<OpKernel>> MakeTakeGradient(
    const OpKernelConstruction& construction) {
  return std::make_unique<TakeGradientKernel>(construction, is_sparse);
}

// Outputs the number of accumulated gradients. With the attr "_at_least", the
// kernel first waits until the accumulator has that many gradients.
class NumAccumulatedKernel : public AsyncOpKernel {
 public:
  explicit NumAccumulatedKernel(const OpKernelConstruction& construction)
      : AsyncOpKernel(construction),
        at_least_(construction.GetAttr<int64_t>("_at_least").value_or(0)) {}

  void ComputeAsync(OpKernelContext& context, Done done) override {
    const auto accumulator = FindResource<GradientAccumulator>(context, 0);
    if (!accumulator.ok()) return done(accumulator.status());
    if (at_least_ <= 0) {
      return done(SetCount(context, (*accumulator)->num_accumulated()));
    }
    (*accumulator)
        ->WhenAccumulated(
            context.mutable_cancellation(), at_least_,
            [&context, done = std::move(done)](
                const absl::StatusOr<int64_t>& count) mutable {
              done(count.ok() ? SetCount(context, *count) : count.status());
            });
  }

 private:
  static absl::Status SetCount(OpKernelContext& context, int64_t count) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, {}));
    output->mutable_scalar<int32_t>() =
        static_cast<int32_t>(std::min(count, kMost));
    return absl::OkStatus();
  }

  const int64_t at_least_;
};

class SetGlobalStepKernel : public OpKernel {
 public:
  explicit SetGlobalStepKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        begins_anew_(
            construction.GetAttr<bool>("_begins_anew").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto accumulator,
                     FindResource<GradientAccumulator>(context, 0));
    ASSIGN_OR_RETURN(const int64_t step, StepAt(context, 1, "new_global_step"));
    return begins_anew_
               ? accumulator->BeginAnew(context.cancellation(), step)
               : accumulator->SetGlobalStep(context.cancellation(), step);
  }

 private:
  const bool begins_anew_;
};

}  // namespace

void RegisterAccumulatorKernels(KernelRegistry& registry) {
  const std::map<std::string, std::vector<DataType>> types = {
      {"dtype", AccumulatedTypes()}};
  const auto add = [&](const std::string& op, const KernelFactory& factory) {
    KernelDef def;
    def.op = op;
    def.types = types;
    registry.Register(std::move(def), factory);
  };
  for (const char* op :
       {"ConditionalAccumulator", "ResourceConditionalAccumulator",
        "SparseConditionalAccumulator"}) {
    add(op, AccumulatorHandleKernel::Make);
  }
  registry.Register<ApplyGradientKernel>("AccumulatorApplyGradient", types);
  registry.Register<ApplyGradientKernel>("ResourceAccumulatorApplyGradient",
                                         types);
  add("AccumulatorTakeGradient", MakeTakeGradient<false>);
  add("ResourceAccumulatorTakeGradient", MakeTakeGradient<false>);
  registry.Register<NumAccumulatedKernel>("AccumulatorNumAccumulated");
  registry.Register<NumAccumulatedKernel>("ResourceAccumulatorNumAccumulated");
  registry.Register<SetGlobalStepKernel>("AccumulatorSetGlobalStep");
  registry.Register<SetGlobalStepKernel>("ResourceAccumulatorSetGlobalStep");
  registry.Register<SparseApplyGradientKernel>("SparseAccumulatorApplyGradient",
                                               types);
  add("SparseAccumulatorTakeGradient", MakeTakeGradient<true>);
}

}  // namespace weft
