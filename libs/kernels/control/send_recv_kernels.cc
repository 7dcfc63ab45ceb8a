// Kernels of a partition's edges to other partitions, and of edges between the
// memories of a device. The executor itself runs the ends of a partition, _Arg
// and _Retval; their kernels only declare support.
#include <utility>

#include "libs/base/status.h"
#include "libs/kernels/control/control_kernels.h"

namespace weft {
namespace {

RendezvousKey KeyOf(int64_t edge, const OpKernelContext& context) {
  const LoopPosition position = context.loop_position();
  return {static_cast<uint64_t>(edge), position.frame, position.iteration};
}

class Send : public OpKernel {
 public:
  Send(const OpKernelConstruction& construction, int64_t edge)
      : OpKernel(construction), edge_(edge) {}

  absl::Status Compute(OpKernelContext& context) override {
    const bool is_dead = context.input_is_dead(0);
    return context.rendezvous().Send(KeyOf(edge_, context),
                                     context.TakeInput(0), is_dead);
  }

 private:
  const int64_t edge_;
};

// Ends with the rendezvous if the step is cancelled.
class Recv : public AsyncOpKernel {
 public:
  Recv(const OpKernelConstruction& construction, int64_t edge)
      : AsyncOpKernel(construction), edge_(edge) {}

  void ComputeAsync(OpKernelContext& context, Done done) override {
    context.rendezvous().Receive(
        KeyOf(edge_, context),
        [&context, done = std::move(done)](absl::Status status, Tensor tensor,
                                           bool is_dead) mutable {
          if (status.ok() && is_dead) context.SetOutputDead(0);
          if (status.ok() && !is_dead) context.SetOutput(0, std::move(tensor));
          done(std::move(status));
        });
  }

 private:
  const int64_t edge_;
};

template <typename Kernel>
absl::StatusOr<std::unique_ptr<OpKernel>> MakeWithEdge(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(int64_t edge, construction.GetAttr<int64_t>("edge"));
  return std::make_unique<Kernel>(construction, edge);
}

// Copies between device and host memory. Values that are already there are
// forwarded, as all are on a device without its own memory.
class CopyToDevice : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    DeviceContext* const device = context.device().context();
    if (device == nullptr || context.input(0).IsOnDevice()) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, context.input(0).shape()));
    return device->CopyToDevice(context.input(0), *output);
  }
};

// Completes when the device has reached this point.
class CopyToHost : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;
  void ComputeAsync(OpKernelContext& context, Done done) override {
    DeviceContext* const device = context.device().context();
    if (device == nullptr || !context.input(0).IsOnDevice()) {
      context.SetOutput(0, context.TakeInput(0));
      return done(absl::OkStatus());
    }
    const auto output = context.AllocateOutput(0, context.input(0).shape());
    if (!output.ok()) return done(output.status());
    device->CopyToHost(context.input(0), **output, std::move(done));
  }
};

class RunByExecutor : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext&) override {
    return absl::InternalError("only the executor can run this op");
  }
};

}  // namespace

void RegisterSendRecvKernels(KernelRegistry& registry) {
  registry.Register({.op = "_Send", .is_cheap = true}, MakeWithEdge<Send>);
  registry.Register({.op = "_Recv", .is_cheap = true}, MakeWithEdge<Recv>);
  registry.Register<CopyToDevice>("_CopyToDevice");
  registry.Register<CopyToHost>("_CopyToHost");
  registry.Register<RunByExecutor>("_Arg", {}, /*is_cheap=*/true);
  registry.Register<RunByExecutor>("_Retval", {}, /*is_cheap=*/true);
}

}  // namespace weft
