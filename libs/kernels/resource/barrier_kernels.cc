// Kernels of barriers. Takes wait in the barrier without a thread
// (libs/resource/barrier.h).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/resource/queue_batch.h"
#include "libs/kernels/resource/resource_kernels.h"
#include "libs/kernels/resource/resource_lookup.h"
#include "libs/resource/barrier.h"

namespace weft {
namespace {

class BarrierHandleKernel : public ResourceHandleKernel<Barrier> {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<BarrierHandleKernel>(construction);
    RETURN_IF_ERROR(kernel->ReadName(construction));
    RETURN_IF_ERROR(kernel->ReadOptions(construction));
    return kernel;
  }
  explicit BarrierHandleKernel(const OpKernelConstruction& construction)
      : ResourceHandleKernel<Barrier>(construction) {}

 private:
  absl::Status ReadOptions(const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(options_.types,
                     construction.GetAttr<DataTypeVector>("component_types"));
    ASSIGN_OR_RETURN(options_.shapes,
                     construction.GetAttr<std::vector<PartialShape>>("shapes"));
    if (options_.shapes.size() != options_.types.size()) {
      return absl::InvalidArgumentError(
          "All of the component shapes must be specified");
    }
    for (const PartialShape& shape : options_.shapes) {
      if (shape.IsFullyDefined()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "shape ", shape.ToString(), " is not known enough for a Barrier"));
    }
    ASSIGN_OR_RETURN(const int64_t capacity,
                     construction.GetAttr<int64_t>("capacity"));
    if (capacity == -1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier "
        "through a queue to enforce a limited capacity.");
  }

  std::shared_ptr<Barrier> Create(const std::string& name) override {
    return std::make_shared<Barrier>(name, options_);
  }
  absl::Status CheckShared(const Barrier& barrier) const override {
    return barrier.CheckShared(options_);
  }

  BarrierOptions options_;
};

class BarrierInsertManyKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(const int64_t component,
                     construction.GetAttr<int64_t>("component_index"));
    if (component < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("component_index must be >= 0 not ", component));
    }
    return std::make_unique<BarrierInsertManyKernel>(construction, component);
  }
  BarrierInsertManyKernel(const OpKernelConstruction& construction,
                          int64_t component)
      : OpKernel(construction), component_(static_cast<size_t>(component)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto barrier, FindResource<Barrier>(context, 0));
    const Tensor& keys = context.input(1);
    const Tensor& values = context.input(2);
    if (keys.rank() != 1 || values.rank() < 1 || keys.dim(0) != values.dim(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a barrier takes a vector of keys and a value for each, "
                       "but got keys of shape ",
                       keys.shape().ToString(), " and values of shape ",
                       values.shape().ToString()));
    }
    if (keys.dim(0) > 0 && values.num_elements() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Tensors with no elements are not supported: received shape ",
          values.shape().ToString()));
    }
    ASSIGN_OR_RETURN(
        auto rows, CutIntoElements({values}, Rows::kOwn, context.allocator()));
    std::vector<Tensor> components;
    components.reserve(rows.size());
    for (QueueElement& row : rows) components.push_back(std::move(row[0]));
    return barrier->Insert(context.cancellation(), keys.flat<std::string>(),
                           component_, std::move(components));
  }

 private:
  const size_t component_;
};

class BarrierTakeManyKernel : public AsyncOpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(const int64_t timeout_ms,
                     construction.GetAttr<int64_t>("timeout_ms"));
    if (timeout_ms != -1) {
      return absl::InvalidArgumentError("Timeout not supported yet.");
    }
    ASSIGN_OR_RETURN(const bool or_fewer,
                     construction.GetAttr<bool>("allow_small_batch"));
    return std::make_unique<BarrierTakeManyKernel>(construction, or_fewer);
  }
  BarrierTakeManyKernel(const OpKernelConstruction& construction, bool or_fewer)
      : AsyncOpKernel(construction), or_fewer_(or_fewer) {}

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto barrier = FindResource<Barrier>(context, 0);
    if (!barrier.ok()) return done(barrier.status());
    const auto count = CountOf(context, **barrier);
    if (!count.ok()) return done(count.status());
    Barrier& found = **barrier;
    found.Take(context.mutable_cancellation(), *count, or_fewer_,
               [&context, barrier = *std::move(barrier),
                done = std::move(done)](auto elements) mutable {
                 if (!elements.ok()) return done(elements.status());
                 JoinAndEnd(context, std::move(barrier), *std::move(elements),
                            std::move(done));
               });
  }

 private:
  static absl::StatusOr<int64_t> CountOf(const OpKernelContext& context,
                                         const Barrier& barrier) {
    const Tensor& count = context.input(1);
    if (count.rank() != 0) {
      return absl::InvalidArgumentError("num_elements must be a scalar.");
    }
    if (count.scalar<int32_t>() < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "num_elements must be >= 0 not ", count.scalar<int32_t>()));
    }
    const DataTypeVector& types = barrier.element_options().types;
    bool match = context.num_outputs() == static_cast<int>(types.size());
    for (int i = 0; match && i < context.num_outputs(); ++i) {
      match = context.output_type(i) == types[static_cast<size_t>(i)];
    }
    if (match) return count.scalar<int32_t>();
    return absl::InvalidArgumentError(
        "the components of the barrier are not of this node's component_types");
  }

  // Joins the elements on the compute pool. The calling thread is unknown and
  // may have other work.
  static void JoinAndEnd(OpKernelContext& context,
                         std::shared_ptr<Barrier> barrier,
                         std::vector<QueueElement> elements, Done done) {
    context.scheduler().Schedule(
        Pool::kCompute,
        [&context, barrier = std::move(barrier), elements = std::move(elements),
         done = std::move(done)]() mutable {
          const absl::Status status = CatchExceptions(
              [&] { return Join(context, *barrier, elements); });
          elements.clear();
          done(status);
        });
  }

  static absl::Status Join(OpKernelContext& context, const Barrier& barrier,
                           absl::Span<const QueueElement> elements) {
    ASSIGN_OR_RETURN(std::vector<Tensor> batch,
                     JoinElements(barrier.element_options(), elements,
                                  /*pad=*/false, context.allocator()));
    for (size_t i = 0; i < batch.size(); ++i) {
      context.SetOutput(static_cast<int>(i), std::move(batch[i]));
    }
    return absl::OkStatus();
  }

  const bool or_fewer_;
};

class BarrierCloseKernel : public OpKernel {
 public:
  explicit BarrierCloseKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        cancel_pending_enqueues_(
            construction.GetAttr<bool>("cancel_pending_enqueues")
                .value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto barrier, FindResource<Barrier>(context, 0));
    return barrier->Close(context.cancellation(), cancel_pending_enqueues_);
  }

 private:
  const bool cancel_pending_enqueues_;
};

template <int64_t (Barrier::*size)() const>
class BarrierSizeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto barrier, FindResource<Barrier>(context, 0));
    context.SetOutput(
        0, Tensor::Scalar(static_cast<int32_t>(((*barrier).*size)())));
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterBarrierKernels(KernelRegistry& registry) {
  registry.Register({.op = "Barrier", .is_cheap = true},
                    BarrierHandleKernel::Make);
  registry.Register({.op = "BarrierInsertMany"}, BarrierInsertManyKernel::Make);
  registry.Register({.op = "BarrierTakeMany"}, BarrierTakeManyKernel::Make);
  registry.Register<BarrierCloseKernel>("BarrierClose");
  registry.Register<BarrierSizeKernel<&Barrier::ready_size>>(
      "BarrierReadySize", {}, /*is_cheap=*/true);
  registry.Register<BarrierSizeKernel<&Barrier::incomplete_size>>(
      "BarrierIncompleteSize", {}, /*is_cheap=*/true);
}

}  // namespace weft
