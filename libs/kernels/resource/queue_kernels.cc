// Kernels of queues. Enqueues and dequeues wait in the queue without a thread
// (libs/resource/queue.h).
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/kernels/common/philox.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/resource/queue_batch.h"
#include "libs/kernels/resource/resource_kernels.h"
#include "libs/kernels/resource/resource_lookup.h"
#include "libs/resource/queue.h"

namespace weft {
namespace {

// For all four kinds of queues.
class QueueHandleKernel : public ResourceHandleKernel<Queue> {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<QueueHandleKernel>(construction);
    RETURN_IF_ERROR(kernel->ReadName(construction));
    RETURN_IF_ERROR(kernel->ReadOptions(construction));
    RETURN_IF_ERROR(kernel->CheckOptions());
    return kernel;
  }
  explicit QueueHandleKernel(const OpKernelConstruction& construction)
      : ResourceHandleKernel<Queue>(construction) {}

 private:
  absl::Status ReadOptions(const OpKernelConstruction& construction) {
    absl::string_view kind = construction.node().type();
    absl::ConsumeSuffix(&kind, "V2");
    options_.kind = std::string(kind);
    ASSIGN_OR_RETURN(options_.types,
                     construction.GetAttr<DataTypeVector>("component_types"));
    ASSIGN_OR_RETURN(options_.shapes,
                     construction.GetAttr<std::vector<PartialShape>>("shapes"));
    ASSIGN_OR_RETURN(options_.capacity,
                     construction.GetAttr<int64_t>("capacity"));
    if (kind == "PriorityQueue") {
      options_.types.insert(options_.types.begin(), DT_INT64);
      options_.shapes.insert(options_.shapes.begin(), PartialShape::Scalar());
    }
    if (kind == "RandomShuffleQueue") {
      ASSIGN_OR_RETURN(options_.min_after_dequeue,
                       construction.GetAttr<int64_t>("min_after_dequeue"));
      stream_ = std::make_unique<PhiloxStream>(construction);
    }
    return absl::OkStatus();
  }

  absl::Status CheckOptions() const {
    if (!options_.shapes.empty() &&
        options_.shapes.size() != options_.types.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Number of component types (", options_.types.size(),
                       ") must match the number of component shapes (",
                       options_.shapes.size(), ")"));
    }
    if (options_.capacity == 0 || options_.min_after_dequeue < 0) {
      return absl::InvalidArgumentError(
          "the capacity must not be 0, nor min_after_dequeue negative");
    }
    if (options_.capacity > 0 &&
        options_.min_after_dequeue >= options_.capacity) {
      return absl::InvalidArgumentError(
          absl::StrCat("min_after_dequeue ", options_.min_after_dequeue,
                       " must be < capacity ", options_.capacity));
    }
    return CheckShapes();
  }

  // Only padding queues have elements of different shapes.
  absl::Status CheckShapes() const {
    const bool pads = options_.kind == "PaddingFIFOQueue";
    if (pads && options_.shapes.empty()) {
      return absl::InvalidArgumentError(
          "a PaddingFIFOQueue needs a shape for each component");
    }
    for (const PartialShape& shape : options_.shapes) {
      if (pads ? shape.has_rank() : shape.IsFullyDefined()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", shape.ToString(),
                       " is not known enough for a ", options_.kind));
    }
    return absl::OkStatus();
  }

  std::shared_ptr<Queue> Create(const std::string& name) override {
    return std::make_shared<Queue>(name, options_, NewStore());
  }
  absl::Status CheckShared(const Queue& queue) const override {
    return queue.CheckShared(options_);
  }

  std::unique_ptr<QueueStore> NewStore() const {
    if (options_.kind == "PriorityQueue") return NewPriorityStore();
    if (stream_ == nullptr) return NewFifoStore();
    const Philox philox = stream_->Reserve(std::numeric_limits<int64_t>::max());
    return NewRandomStore(
        [numbers = PhiloxNumbers(philox)]() mutable { return numbers.Next(); });
  }

  QueueOptions options_;
  std::unique_ptr<PhiloxStream> stream_;  // of a RandomShuffleQueue
};

// Returns whether `result` is an error. If so, calls `done` with the error.
template <typename Result>
bool Failed(const Result& result, AsyncOpKernel::Done& done) {
  const absl::Status status = internal::ToStatus(result);
  if (status.ok()) return false;
  done(status);
  return true;
}

std::vector<Tensor> TakeComponents(OpKernelContext& context) {
  std::vector<Tensor> components;
  for (int i = 1; i < context.num_inputs(); ++i) {
    components.push_back(context.TakeInput(i));
  }
  return components;
}

class EnqueueKernel : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;
  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto queue = FindResource<Queue>(context, 0);
    if (Failed(queue, done)) return;
    std::vector<QueueElement> elements;
    elements.push_back(TakeComponents(context));
    if (Failed((*queue)->Check(elements[0], /*is_batch=*/false), done)) return;
    (*queue)->Enqueue(context.mutable_cancellation(), std::move(elements),
                      std::move(done));
  }
};

// Returns kOfBatch if the queue's rows may share a batch's memory. In queues
// that are not FIFO, the elements of a batch may leave at very different times,
// and the last element would keep the whole batch alive.
Rows RowsIn(const Queue& queue) {
  const std::string& kind = queue.options().kind;
  return kind == "FIFOQueue" || kind == "PaddingFIFOQueue" ? Rows::kOfBatch
                                                           : Rows::kOwn;
}

class EnqueueManyKernel : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;
  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto queue = FindResource<Queue>(context, 0);
    if (Failed(queue, done)) return;
    std::vector<Tensor> components = TakeComponents(context);
    if (Failed((*queue)->Check(components, /*is_batch=*/true), done)) return;
    auto elements =
        CutIntoElements(components, RowsIn(**queue), context.allocator());
    if (Failed(elements, done)) return;
    // Released first, so that a dequeue that this completes may own them alone.
    components.clear();
    if (elements->empty()) return done(absl::OkStatus());
    (*queue)->Enqueue(context.mutable_cancellation(), *std::move(elements),
                      std::move(done));
  }
};

// Returns INVALID_ARGUMENT unless the node's outputs match the queue.
absl::Status CheckOutputs(const OpKernelContext& context, const Queue& queue) {
  const DataTypeVector& types = queue.options().types;
  bool match = context.num_outputs() == static_cast<int>(types.size());
  for (int i = 0; match && i < context.num_outputs(); ++i) {
    match = context.output_type(i) == types[i];
  }
  if (match) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the components of ", queue.options().kind, " '",
                   queue.name(), "' are not of this node's component_types"));
}

size_t BytesOf(absl::Span<const QueueElement> elements) {
  size_t bytes = 0;
  for (const QueueElement& element : elements) {
    for (const Tensor& component : element) bytes += component.num_bytes();
  }
  return bytes;
}

void SetOutputs(OpKernelContext& context, std::vector<Tensor> components) {
  for (size_t i = 0; i < components.size(); ++i) {
    context.SetOutput(static_cast<int>(i), std::move(components[i]));
  }
}

// A dequeue may complete on any thread, such as that of an enqueue that has
// messages to read. So the kernel copies there only as much as a thread switch
// would cost.
bool MayBeCopiedHere(absl::Span<const QueueElement> elements) {
  constexpr size_t kCopiedAtOnce = 64 << 10;
  return BytesOf(elements) <= kCopiedAtOnce || IsInOneBatch(elements);
}

class DequeueKernel : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;
  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto queue = FindResource<Queue>(context, 0);
    if (Failed(queue, done)) return;
    if (Failed(CheckOutputs(context, **queue), done)) return;
    (*queue)->Dequeue(
        context.mutable_cancellation(), /*count=*/1, /*or_fewer=*/false,
        [&context, done = std::move(done)](auto elements) mutable {
          if (Failed(elements, done)) return;
          if (MayBeCopiedHere(*elements)) {
            return End(context, std::move((*elements)[0]), done);
          }
          context.scheduler().Schedule(
              Pool::kCompute, [&context, element = std::move((*elements)[0]),
                               done = std::move(done)]() mutable {
                End(context, std::move(element), done);
              });
        });
  }

 private:
  static void End(OpKernelContext& context, QueueElement element, Done& done) {
    done(CatchExceptions([&] {
      SetOutputs(context,
                 WithoutBatch(std::move(element), context.allocator()));
      return absl::OkStatus();
    }));
  }
};

// DequeueMany, and DequeueUpTo with `or_fewer`.
class DequeueManyKernel : public AsyncOpKernel {
 public:
  DequeueManyKernel(const OpKernelConstruction& construction, bool or_fewer)
      : AsyncOpKernel(construction), or_fewer_(or_fewer) {}

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto queue = FindResource<Queue>(context, 0);
    if (Failed(queue, done)) return;
    if (Failed(CheckOutputs(context, **queue), done)) return;
    auto count = ReadCount(context, **queue);
    if (Failed(count, done)) return;
    if (*count == 0) return done(Join(context, **queue, {}));
    Queue& found = **queue;
    found.Dequeue(context.mutable_cancellation(), *count, or_fewer_,
                  [&context, queue = *std::move(queue),
                   done = std::move(done)](auto elements) mutable {
                    if (Failed(elements, done)) return;
                    JoinAndEnd(context, std::move(queue), *std::move(elements),
                               std::move(done));
                  });
  }

 private:
  absl::StatusOr<int64_t> ReadCount(const OpKernelContext& context,
                                    const Queue& queue) const {
    const Tensor& n = context.input(1);
    if (n.num_elements() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "n must be a scalar, but has shape ", n.shape().ToString()));
    }
    if (n.scalar<int32_t>() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(or_fewer_ ? "DequeueUpToOp" : "DequeueManyOp",
                       " requested ", n.scalar<int32_t>(), " < 0 elements"));
    }
    if (queue.options().shapes.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(queue.options().kind,
                       "'s DequeueMany and DequeueUpTo require the components "
                       "to have specified shapes."));
    }
    return n.scalar<int32_t>();
  }

  static void JoinAndEnd(OpKernelContext& context, std::shared_ptr<Queue> queue,
                         std::vector<QueueElement> elements, Done done) {
    const bool is_little = MayBeCopiedHere(elements);
    auto end = [&context, queue = std::move(queue),
                elements = std::move(elements),
                done = std::move(done)]() mutable {
      const absl::Status status =
          CatchExceptions([&] { return Join(context, *queue, elements); });
      // Released first, so that the batch may be owned alone.
      elements.clear();
      done(status);
    };
    if (is_little) return end();
    context.scheduler().Schedule(Pool::kCompute, std::move(end));
  }

  static absl::Status Join(OpKernelContext& context, const Queue& queue,
                           absl::Span<const QueueElement> elements) {
    const bool pad = queue.options().kind == "PaddingFIFOQueue";
    ASSIGN_OR_RETURN(
        std::vector<Tensor> components,
        JoinElements(queue.options(), elements, pad, context.allocator()));
    SetOutputs(context, std::move(components));
    return absl::OkStatus();
  }

  const bool or_fewer_;
};

class CloseKernel : public AsyncOpKernel {
 public:
  explicit CloseKernel(const OpKernelConstruction& construction)
      : AsyncOpKernel(construction),
        cancel_pending_enqueues_(
            construction.GetAttr<bool>("cancel_pending_enqueues")
                .value_or(false)) {}

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto queue = FindResource<Queue>(context, 0);
    if (Failed(queue, done)) return;
    (*queue)->Close(context.mutable_cancellation(), cancel_pending_enqueues_,
                    std::move(done));
  }

 private:
  const bool cancel_pending_enqueues_;
};

class QueueSizeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto queue, FindResource<Queue>(context, 0));
    ASSIGN_OR_RETURN(Tensor * size, context.AllocateOutput(0, {}));
    size->mutable_scalar<int32_t>() = static_cast<int32_t>(queue->size());
    return absl::OkStatus();
  }
};

class QueueIsClosedKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto queue, FindResource<Queue>(context, 0));
    ASSIGN_OR_RETURN(Tensor * closed, context.AllocateOutput(0, {}));
    closed->mutable_scalar<bool>() = queue->is_closed();
    return absl::OkStatus();
  }
};

// TensorFlow has the attr, but no queue supports it.
absl::Status CheckTimeout(const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(int64_t timeout_ms,
                   construction.GetAttr<int64_t>("timeout_ms"));
  if (timeout_ms == -1) return absl::OkStatus();
  return absl::InvalidArgumentError("Timeout not supported yet.");
}

template <typename Kernel>
absl::StatusOr<std::unique_ptr<OpKernel>> MakeWithTimeout(
    const OpKernelConstruction& construction) {
  RETURN_IF_ERROR(CheckTimeout(construction));
  return std::make_unique<Kernel>(construction);
}

template <bool or_fewer>
absl::StatusOr<std::unique_ptr<OpKernel>> MakeDequeueMany(
    const OpKernelConstruction& construction) {
  RETURN_IF_ERROR(CheckTimeout(construction));
  return std::make_unique<DequeueManyKernel>(construction, or_fewer);
}

// Registers for both kinds of handles.
void RegisterBoth(KernelRegistry& registry, const char* on_reference,
                  const char* on_resource, const KernelFactory& factory,
                  bool is_cheap) {
  registry.Register({.op = on_reference, .is_cheap = is_cheap}, factory);
  registry.Register({.op = on_resource, .is_cheap = is_cheap}, factory);
}

template <typename Kernel>
absl::StatusOr<std::unique_ptr<OpKernel>> MakePlain(
    const OpKernelConstruction& construction) {
  return std::make_unique<Kernel>(construction);
}

}  // namespace

void RegisterQueueKernels(KernelRegistry& registry) {
  for (const char* op :
       {"FIFOQueue", "FIFOQueueV2", "PaddingFIFOQueue", "PaddingFIFOQueueV2",
        "RandomShuffleQueue", "RandomShuffleQueueV2", "PriorityQueue",
        "PriorityQueueV2"}) {
    registry.Register({.op = op, .is_cheap = true}, QueueHandleKernel::Make);
  }
  RegisterBoth(registry, "QueueEnqueue", "QueueEnqueueV2",
               MakeWithTimeout<EnqueueKernel>, true);
  RegisterBoth(registry, "QueueEnqueueMany", "QueueEnqueueManyV2",
               MakeWithTimeout<EnqueueManyKernel>, false);
  RegisterBoth(registry, "QueueDequeue", "QueueDequeueV2",
               MakeWithTimeout<DequeueKernel>, true);
  RegisterBoth(registry, "QueueDequeueMany", "QueueDequeueManyV2",
               MakeDequeueMany<false>, false);
  RegisterBoth(registry, "QueueDequeueUpTo", "QueueDequeueUpToV2",
               MakeDequeueMany<true>, false);
  RegisterBoth(registry, "QueueClose", "QueueCloseV2", MakePlain<CloseKernel>,
               true);
  RegisterBoth(registry, "QueueSize", "QueueSizeV2", MakePlain<QueueSizeKernel>,
               true);
  registry.Register<QueueIsClosedKernel>("QueueIsClosed", {}, true);
  registry.Register<QueueIsClosedKernel>("QueueIsClosedV2", {}, true);
}

}  // namespace weft
