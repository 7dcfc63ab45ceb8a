// OpKernel implements one op on one type of device. OpKernelContext gives it
// access to its inputs, outputs and environment while it runs.
//
// A kernel is created once for a node of a registered partition and then runs
// in many steps, several at a time: Compute must be thread-safe, and a kernel
// with its own state must lock it.
//
//   class Square : public OpKernel {
//    public:
//     using OpKernel::OpKernel;
//     absl::Status Compute(OpKernelContext& context) override {
//       const Tensor& x = context.input(0);
//       ASSIGN_OR_RETURN(Tensor * y, context.ForwardOrAllocate({0}, 0,
//       x.shape()));
//       ...
//       return absl::OkStatus();
//     }
//   };
#ifndef WEFT_LIBS_KERNELS_OP_KERNEL_H_
#define WEFT_LIBS_KERNELS_OP_KERNEL_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/device/device.h"
#include "libs/fs/file_system.h"
#include "libs/graph/graph.h"
#include "libs/kernels/function_runtime.h"
#include "libs/kernels/slot.h"
#include "libs/rendezvous/rendezvous.h"
#include "libs/resource/resource_manager.h"
#include "libs/resource/variable.h"

namespace weft {

// The inputs of a kernel's construction. The node only lives until it ends.
class OpKernelConstruction {
 public:
  OpKernelConstruction(const Node& node, const Device& device, Random& random,
                       FunctionRuntime* functions = nullptr)
      : node_(node), device_(device), random_(random), functions_(functions) {}

  const Node& node() const { return node_; }
  const Device& device() const { return device_; }
  // For kernels whose op seeds are both 0.
  Random& random() const { return random_; }
  // Runs functions for the kernel and outlives it. Null where kernels cannot
  // call functions: in constant evaluation.
  FunctionRuntime* functions() const { return functions_; }

  template <typename T>
  absl::StatusOr<T> GetAttr(absl::string_view name) const {
    const T* value = node_.attr<T>(name);
    if (value == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("node ", node_.name(), " (", node_.type(),
                       ") has no attr ", name, " of the expected kind"));
    }
    return *value;
  }

 private:
  const Node& node_;
  const Device& device_;
  Random& random_;
  FunctionRuntime* functions_;
};

struct CheckpointMetrics;  // libs/kernels/checkpoint_metrics.h

// The environment shared by all kernels of a step on one device.
struct StepContext {
  uint64_t step_id = 0;
  Cancellation* cancellation = nullptr;  // never null
  Scheduler* scheduler = nullptr;        // never null
  Device* device = nullptr;              // never null
  Allocator* allocator = nullptr;        // the device's
  // Host memory for values that a device with its own memory keeps there. Null
  // if `allocator` is host memory.
  Allocator* host_allocator = nullptr;
  ResourceManager* resources = nullptr;  // of (session, device)
  // Resources that live as long as the step: TensorArrays, stacks.
  ResourceManager* step_resources = nullptr;
  Rendezvous* rendezvous = nullptr;
  // Null only in constant evaluation, where no kernel accesses files.
  FileSystem* file_system = nullptr;
  // The task's checkpoint metrics; null: not counted.
  CheckpointMetrics* checkpoint_metrics = nullptr;
  // The function call that this step runs; null outside functions.
  const FunctionFrame* frame = nullptr;
};

// Identifies an iteration of a loop; 0 and 0 outside loops. Equal in all tasks.
struct LoopPosition {
  uint64_t frame = 0;
  uint64_t iteration = 0;
};

// One run of one kernel. Created by the executor and used by one thread at a
// time, except for inputs, scheduler(), allocator() and AllocateTemp, which the
// ranges of a ParallelFor may use too.
class OpKernelContext {
 public:
  // Properties of a node that kernels can access at run time without a lookup.
  struct NodeView {
    absl::string_view name;
    absl::string_view op;
    absl::Span<const DataType> output_types;
    // The outputs in host memory, on a device with its own memory. Empty: all
    // are in the kernel's memory.
    absl::Span<const bool> outputs_on_host = {};
    // Whether the kernel runs on the CPU, even for such a device.
    bool is_on_host = false;
    // A bit mask of the first 64 outputs that are not used.
    uint64_t outputs_not_required = 0;

    bool output_required(int i) const {
      return i >= 64 || (outputs_not_required >> i & 1) == 0;
    }
  };

  OpKernelContext(const StepContext& step, const NodeView& node,
                  absl::Span<Slot> inputs, absl::Span<Slot> outputs,
                  LoopPosition loop_position = {},
                  WhenLocked when_locked = WhenLocked::kWait)
      : step_(step),
        node_(node),
        inputs_(inputs),
        outputs_(outputs),
        loop_position_(loop_position),
        when_locked_(when_locked) {}

  absl::string_view node_name() const { return node_.name; }
  absl::string_view op_name() const { return node_.op; }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  // REQUIRES: input i is not of ref type. (If the op takes a value, the
  // executor has read the variable.)
  const Tensor& input(int i) const { return inputs_[i].tensor; }
  // The variable of an input of ref type.
  const std::shared_ptr<Variable>& input_variable(int i) const {
    return inputs_[i].variable;
  }
  // Moves the variable out, for a kernel that must not keep it alive.
  std::shared_ptr<Variable> TakeInputVariable(int i) {
    return std::move(inputs_[i].variable);
  }
  bool input_is_ref(int i) const { return inputs_[i].is_ref(); }
  bool input_is_dead(int i) const { return inputs_[i].is_dead; }
  // Moves the input out: the kernel then holds the executor's reference, and
  // Tensor::RefCountIsOne returns whether it may write.
  Tensor TakeInput(int i) { return std::move(inputs_[i].tensor); }
  // Restores a taken input, for a kernel that gives up and will be run again.
  void PutBackInput(int i, Tensor input) {
    inputs_[i].tensor = std::move(input);
  }
  const Slot& input_slot(int i) const { return inputs_[i]; }

  DataType output_type(int i) const { return node_.output_types[i]; }
  // Returns false if output i is not used. A kernel may then leave it out once
  // its inputs are validated. For example, gradient graphs often do not use the
  // gradient with respect to the first layer's input.
  bool output_required(int i) const { return node_.output_required(i); }

  // Allocates new memory for output i. Valid until the kernel returns.
  absl::StatusOr<Tensor*> AllocateOutput(int i, const TensorShape& shape);
  // Allocates output i in the memory of one of `candidates` (inputs with the
  // same shape and number of bytes per element, not held elsewhere), or in new
  // memory. A candidate's elements stay in place, so each may be read until it
  // is overwritten.
  absl::StatusOr<Tensor*> ForwardOrAllocate(
      std::initializer_list<int> candidates, int i, const TensorShape& shape);
  absl::StatusOr<Tensor> AllocateTemp(DataType dtype, const TensorShape& shape);
  void SetOutput(int i, Tensor tensor) {
    outputs_[i].tensor = std::move(tensor);
  }
  void SetOutputRef(int i, std::shared_ptr<Variable> variable) {
    outputs_[i].variable = std::move(variable);
  }
  void SetOutputDead(int i) { outputs_[i].is_dead = true; }

  // For kernels that call functions in this step.
  const StepContext& step() const { return step_; }
  const Cancellation& cancellation() const { return *step_.cancellation; }
  Cancellation& mutable_cancellation() { return *step_.cancellation; }
  // Allocates the memory in which the kernel works.
  Allocator& allocator() const {
    return node_.is_on_host ? host_allocator() : *step_.allocator;
  }
  Allocator& host_allocator() const {
    return step_.host_allocator ? *step_.host_allocator : *step_.allocator;
  }
  Device& device() const { return *step_.device; }
  // The device whose memory holds output i; null: host memory.
  const Device* MemoryOfOutput(int i) const;
  Scheduler& scheduler() const { return *step_.scheduler; }
  ResourceManager& resources() const { return *step_.resources; }
  ResourceManager& step_resources() const { return *step_.step_resources; }
  Rendezvous& rendezvous() const { return *step_.rendezvous; }
  // The task's files. Calls block, so only kernels on Pool::kBlocking may use
  // them.
  FileSystem& file_system() const { return *step_.file_system; }
  CheckpointMetrics* checkpoint_metrics() const {
    return step_.checkpoint_metrics;
  }
  uint64_t step_id() const { return step_.step_id; }
  LoopPosition loop_position() const { return loop_position_; }
  // How a cheap kernel must lock a variable: on a thread that must not wait it
  // gives up. A kernel that returns such an error (IsGivenUp) must leave its
  // inputs unchanged, and is run again where it may wait.
  WhenLocked when_locked() const { return when_locked_; }

 private:
  const StepContext& step_;
  const NodeView& node_;
  absl::Span<Slot> inputs_;
  absl::Span<Slot> outputs_;
  LoopPosition loop_position_;
  WhenLocked when_locked_;
};

class AsyncOpKernel;

class OpKernel {
 public:
  explicit OpKernel(const OpKernelConstruction&) {}
  virtual ~OpKernel() = default;
  OpKernel(const OpKernel&) = delete;
  OpKernel& operator=(const OpKernel&) = delete;

  // Sets every required output (or marks it dead), or returns an error; the
  // executor adds node and op to its text.
  virtual absl::Status Compute(OpKernelContext& context) = 0;

  // Not null for kernels that complete later, on another thread.
  virtual AsyncOpKernel* AsAsync() { return nullptr; }
};

// A kernel that waits for an event (a tensor, a queue) without a thread.
class AsyncOpKernel : public OpKernel {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  using OpKernel::OpKernel;

  // Calls `done` exactly once, from any thread; `context` lives until then. The
  // kernel must end when its step is cancelled.
  virtual void ComputeAsync(OpKernelContext& context, Done done) = 0;

  absl::Status Compute(OpKernelContext&) final {
    return absl::InternalError("an asynchronous kernel was run synchronously");
  }
  AsyncOpKernel* AsAsync() final { return this; }
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_OP_KERNEL_H_
