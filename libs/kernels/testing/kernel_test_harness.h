// KernelTestHarness runs one op on one CPU device, without an executor, to test
// a kernel alone.
//
//   KernelTestHarness harness(RegisterMathKernels);
//   auto outputs = harness.Run("Add", {a, b});           // StatusOr<Tensors>
//   auto sum = harness.Run("Sum", {x, axes}, {{"keep_dims", true}});
//
// Shapes of the inputs are unknown while the graph is built, so errors come
// from the kernel. Use InferShapes for shape functions.
//
// Threads: call from one thread at a time. Kernels get a real scheduler.
#ifndef WEFT_LIBS_KERNELS_TESTING_KERNEL_TEST_HARNESS_H_
#define WEFT_LIBS_KERNELS_TESTING_KERNEL_TEST_HARNESS_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/device/device.h"
#include "libs/fs/local_file_system.h"
#include "libs/graph/graph.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/rendezvous/rendezvous.h"
#include "libs/resource/resource_manager.h"
#include "libs/resource/variable.h"

namespace weft {

// One input of the op under test: a tensor, or a variable for a reference
// input.
struct KernelInput {
  KernelInput(Tensor value) : tensor(std::move(value)) {}  // NOLINT
  KernelInput(std::shared_ptr<Variable> v)                 // NOLINT
      : variable(std::move(v)) {}
  Tensor tensor;
  std::shared_ptr<Variable> variable;
};

// ShapeInput is the static information about one input of a shape function.
struct ShapeInput {
  ShapeInput(DataType type, PartialShape known)  // NOLINT
      : dtype(type), shape(std::move(known)) {}
  // A value known during graph construction.
  ShapeInput(Tensor value)  // NOLINT
      : dtype(value.dtype()), shape(value.shape()), constant(value) {}
  DataType dtype;
  PartialShape shape;
  std::optional<Tensor> constant;
};

class KernelTestHarness {
 public:
  // `register_kernels` registers one family, or all: RegisterStandardKernels.
  // The ops are the standard ops.
  explicit KernelTestHarness(
      const std::function<void(KernelRegistry&)>& register_kernels);
  ~KernelTestHarness();

  // Returns the op's outputs. Lists of inputs are flattened; attrs that follow
  // from the inputs may be left out. Inputs moved in by the caller may be
  // forwarded. A dead output is returned uninitialized.
  absl::StatusOr<std::vector<Tensor>> Run(absl::string_view op,
                                          std::vector<KernelInput> inputs,
                                          AttrMap attrs = {});

  // Like Run, for an op with exactly one output.
  absl::StatusOr<Tensor> RunOne(absl::string_view op,
                                std::vector<KernelInput> inputs,
                                AttrMap attrs = {});

  // Returns the shapes that the op's shape function infers.
  absl::StatusOr<std::vector<PartialShape>> InferShapes(
      absl::string_view op, std::vector<ShapeInput> inputs, AttrMap attrs = {});

  // Returns the op's only output if it follows from constants.
  absl::StatusOr<std::optional<Tensor>> ConstantValue(
      absl::string_view op, std::vector<ShapeInput> inputs, AttrMap attrs = {});

  // A kernel with its own state that can be run several times.
  class Kernel;
  absl::StatusOr<std::unique_ptr<Kernel>> Make(
      absl::string_view op, const std::vector<DataType>& input_types,
      AttrMap attrs = {});

  const OpRegistry& ops() const { return *ops_; }
  const KernelRegistry& kernels() const { return kernels_; }
  Device& device() { return device_; }
  Scheduler& scheduler() { return *scheduler_; }
  ResourceManager& resources() { return resources_; }
  ResourceManager& step_resources() { return step_resources_; }
  Rendezvous& rendezvous() { return rendezvous_; }
  Cancellation& cancellation() { return *cancellation_; }
  // Later runs belong to a new step, which is not cancelled.
  void NewStep();
  // Sets the file system of kernels, which must outlive the harness. Default:
  // the machine's file system.
  void set_file_system(FileSystem& files) { step_.file_system = &files; }
  // Sets the allocator of kernels, which must outlive the allocated tensors.
  // Default: the device's allocator.
  void set_allocator(Allocator& allocator) { step_.allocator = &allocator; }
  // Sets the scheduler of kernels, which must outlive the harness.
  void set_scheduler(Scheduler& scheduler) { step_.scheduler = &scheduler; }
  // Sets the function runtime of kernels created later; it must outlive the
  // harness. Default: none.
  void set_functions(FunctionRuntime* functions) { functions_ = functions; }
  // Returns the environment shared by all kernels of the step.
  const StepContext& step() const { return step_; }
  // Sets what kernels do if a variable is locked.
  void set_when_locked(WhenLocked when) { when_locked_ = when; }

 private:
  absl::StatusOr<const Node*> AddNode(Graph& graph, absl::string_view op,
                                      const std::vector<ShapeInput>& inputs,
                                      AttrMap attrs);

  SystemClock clock_;
  std::unique_ptr<Random> random_;
  std::unique_ptr<Scheduler> scheduler_;
  std::shared_ptr<const OpRegistry> ops_;
  KernelRegistry kernels_;
  Device device_;
  std::unique_ptr<Cancellation> cancellation_;
  ResourceManager resources_{"localhost"};
  ResourceManager step_resources_{"step"};
  LocalRendezvous rendezvous_;
  LocalFileSystem file_system_;
  StepContext step_;
  FunctionRuntime* functions_ = nullptr;
  WhenLocked when_locked_ = WhenLocked::kWait;
};

class KernelTestHarness::Kernel {
 public:
  // Kernels are created by the harness, which must outlive them.
  Kernel(KernelTestHarness& harness, std::unique_ptr<Graph> graph,
         const Node& node, std::unique_ptr<OpKernel> kernel);

  absl::StatusOr<std::vector<Tensor>> Run(std::vector<KernelInput> inputs);
  // Marks all outputs as unused in later runs.
  void RequireNothing() { outputs_not_required_ = ~uint64_t{0}; }
  // Runs with the caller's slots, for tests of references and dead values.
  absl::Status RunSlots(absl::Span<Slot> inputs, absl::Span<Slot> outputs);
  const Node& node() const { return node_; }
  OpKernel& kernel() { return *kernel_; }

 private:
  KernelTestHarness& harness_;
  std::unique_ptr<Graph> graph_;
  const Node& node_;
  std::unique_ptr<OpKernel> kernel_;
  uint64_t outputs_not_required_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TESTING_KERNEL_TEST_HARNESS_H_
