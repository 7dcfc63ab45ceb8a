// KernelTestHarness: runs one op on one CPU device, without an executor, so
// that a kernel can be tested alone.
//
//   KernelTestHarness harness(RegisterMathKernels);
//   auto outputs = harness.Run("Add", {a, b});           // StatusOr<Tensors>
//   auto sum = harness.Run("Sum", {x, axes}, {{"keep_dims", true}});
//
// Inputs come from nodes whose shapes are unknown while the graph is built, so
// what is refused is refused by the kernel. Use InferShapes for shape
// functions.
//
// Threads: one at a time; kernels get a real scheduler.
#ifndef WEFT_LIBS_KERNELS_TESTING_KERNEL_TEST_HARNESS_H_
#define WEFT_LIBS_KERNELS_TESTING_KERNEL_TEST_HARNESS_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/cancellation.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler.h"
#include "libs/device/device.h"
#include "libs/fs/local_file_system.h"
#include "libs/graph/graph.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/rendezvous/rendezvous.h"
#include "libs/resource/resource_manager.h"
#include "libs/resource/variable.h"

namespace weft {

// One input of the op under test: a tensor, or a variable where the op takes a
// reference.
struct KernelInput {
  KernelInput(Tensor value) : tensor(std::move(value)) {}  // NOLINT
  KernelInput(std::shared_ptr<Variable> v)                 // NOLINT
      : variable(std::move(v)) {}
  Tensor tensor;
  std::shared_ptr<Variable> variable;
};

// What a shape function is told of one input.
struct ShapeInput {
  ShapeInput(DataType type, PartialShape known)  // NOLINT
      : dtype(type), shape(std::move(known)) {}
  // A value that is known while the graph is built.
  ShapeInput(Tensor value)  // NOLINT
      : dtype(value.dtype()), shape(value.shape()), constant(value) {}
  DataType dtype;
  PartialShape shape;
  std::optional<Tensor> constant;
};

class KernelTestHarness {
 public:
  // `register_kernels` is one family's, or RegisterStandardKernels. The ops are
  // all standard ops.
  explicit KernelTestHarness(
      const std::function<void(KernelRegistry&)>& register_kernels);
  ~KernelTestHarness();

  // The op's outputs. Lists of inputs are flattened; attrs that follow from the
  // inputs may be left out. Inputs that the caller has moved in may be
  // forwarded. A dead output comes back uninitialized.
  absl::StatusOr<std::vector<Tensor>> Run(absl::string_view op,
                                          std::vector<KernelInput> inputs,
                                          AttrMap attrs = {});

  // The same for an op with exactly one output.
  absl::StatusOr<Tensor> RunOne(absl::string_view op,
                                std::vector<KernelInput> inputs,
                                AttrMap attrs = {});

  // Shapes of the op's outputs as its shape function says.
  absl::StatusOr<std::vector<PartialShape>> InferShapes(
      absl::string_view op, std::vector<ShapeInput> inputs, AttrMap attrs = {});

  // The op's only output where it follows from constants.
  absl::StatusOr<std::optional<Tensor>> ConstantValue(
      absl::string_view op, std::vector<ShapeInput> inputs, AttrMap attrs = {});

  // A kernel that stays, with its own state, to be run several times.
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
  // What is run from now on is of another step, which nobody has cancelled.
  void NewStep();
  // What kernels reach files through from now on; it outlives the harness. The
  // machine's until then.
  void set_file_system(FileSystem& files) { step_.file_system = &files; }
  // Where kernels have memory from, from now on; it outlives what they make.
  // The device's until then.
  void set_allocator(Allocator& allocator) { step_.allocator = &allocator; }
  // Whose threads kernels use from now on; it outlives the harness.
  void set_scheduler(Scheduler& scheduler) { step_.scheduler = &scheduler; }
  // What kernels that are made from now on call functions with; outlives the
  // harness. None until then.
  void set_functions(FunctionRuntime* functions) { functions_ = functions; }
  // What is the same for all kernels of the step.
  const StepContext& step() const { return step_; }
  // What kernels do from now on where a variable is locked.
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
  // Made by the harness, which must outlive it.
  Kernel(KernelTestHarness& harness, std::unique_ptr<Graph> graph,
         const Node& node, std::unique_ptr<OpKernel> kernel);

  absl::StatusOr<std::vector<Tensor>> Run(std::vector<KernelInput> inputs);
  // From now on as where nobody takes the outputs.
  void RequireNothing() { outputs_not_required_ = ~uint64_t{0}; }
  // Slots of the caller's own, for tests of references and dead values.
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
