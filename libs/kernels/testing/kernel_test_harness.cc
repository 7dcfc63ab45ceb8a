#include "libs/kernels/testing/kernel_test_harness.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

constexpr absl::string_view kDeviceName =
    "/job:localhost/replica:0/task:0/device:CPU:0";

absl::Status GivenShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.GetAttr<PartialShape>("shape"));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status ConstantShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(Tensor value, c.GetAttr<Tensor>("value"));
  c.set_output(0, value.shape());
  return absl::OkStatus();
}

std::optional<Tensor> GivenValue(InferenceContext& c) {
  absl::StatusOr<Tensor> value = c.GetAttr<Tensor>("value");
  if (!value.ok()) return std::nullopt;
  return *std::move(value);
}

// Registers placeholders for the inputs of the op under test.
void RegisterTestOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("TestInput")
                   .Output("output: dtype")
                   .Attr("dtype: type")
                   .Attr("shape: shape")
                   .Doc("An input of the op under test.")
                   .Shape(GivenShape));
  registry.Add(OpDefBuilder("TestRefInput")
                   .Output("output: Ref(dtype)")
                   .Attr("dtype: type")
                   .Attr("shape: shape")
                   .Doc("A variable that the op under test refers to.")
                   .Shape(GivenShape));
  registry.Add(OpDefBuilder("TestConstant")
                   .Output("output: dtype")
                   .Attr("dtype: type")
                   .Attr("value: tensor")
                   .Doc("An input that is known while the graph is built.")
                   .Shape(ConstantShape)
                   .Value(GivenValue));
}

std::shared_ptr<const OpRegistry> MakeOps() {
  auto registry = std::make_shared<OpRegistry>();
  RegisterStandardOps(*registry);
  RegisterTestOps(*registry);
  return registry;
}

NodeSpec InputNode(const ShapeInput& input, int index) {
  NodeSpec spec;
  spec.name = absl::StrCat("input", index);
  spec.attrs["dtype"] = RemoveRefType(input.dtype);
  if (input.constant) {
    spec.op = "TestConstant";
    spec.attrs["value"] = *input.constant;
    return spec;
  }
  spec.op = IsRefType(input.dtype) ? "TestRefInput" : "TestInput";
  spec.attrs["shape"] = input.shape;
  return spec;
}

std::vector<DataType> TypesOf(const std::vector<KernelInput>& inputs) {
  std::vector<DataType> types;
  for (const KernelInput& input : inputs) {
    types.push_back(input.variable ? MakeRefType(input.variable->dtype())
                                   : input.tensor.dtype());
  }
  return types;
}

absl::Status RunAsync(AsyncOpKernel& kernel, OpKernelContext& context) {
  std::unique_ptr<Event> done = context.scheduler().NewEvent();
  absl::Status result;
  kernel.ComputeAsync(context, [&](absl::Status status) {
    result = std::move(status);
    done->Set();
  });
  done->Wait();
  return result;
}

}  // namespace

KernelTestHarness::KernelTestHarness(
    const std::function<void(KernelRegistry&)>& register_kernels)
    : random_(NewSeededRandom(1)),
      scheduler_(NewThreadScheduler(clock_)),
      ops_(MakeOps()),
      device_({std::string(kDeviceName), "CPU", 0, 1, ""}, HeapAllocator()) {
  register_kernels(kernels_);
  NewStep();
  step_.scheduler = scheduler_.get();
  step_.device = &device_;
  step_.allocator = &device_.allocator();
  step_.resources = &resources_;
  step_.step_resources = &step_resources_;
  step_.rendezvous = &rendezvous_;
  step_.file_system = &file_system_;
}

KernelTestHarness::~KernelTestHarness() = default;

void KernelTestHarness::NewStep() {
  ++step_.step_id;
  cancellation_ = std::make_unique<Cancellation>();
  step_.cancellation = cancellation_.get();
}

absl::StatusOr<const Node*> KernelTestHarness::AddNode(
    Graph& graph, absl::string_view op, const std::vector<ShapeInput>& inputs,
    AttrMap attrs) {
  NodeSpec spec;
  spec.name = "test";
  spec.op = std::string(op);
  spec.attrs = std::move(attrs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSIGN_OR_RETURN(Node * input,
                     graph.AddNode(InputNode(inputs[i], static_cast<int>(i))));
    spec.inputs.push_back({input, 0});
  }
  ASSIGN_OR_RETURN(Node * node, graph.AddNode(std::move(spec)));
  return node;
}

absl::StatusOr<std::unique_ptr<KernelTestHarness::Kernel>>
KernelTestHarness::Make(absl::string_view op,
                        const std::vector<DataType>& input_types,
                        AttrMap attrs) {
  auto graph = std::make_unique<Graph>(ops_);
  std::vector<ShapeInput> inputs;
  for (DataType type : input_types) {
    inputs.push_back({type, PartialShape::UnknownRank()});
  }
  ASSIGN_OR_RETURN(const Node* node,
                   AddNode(*graph, op, inputs, std::move(attrs)));
  graph->set_assigned_device(node, std::string(kDeviceName));
  ASSIGN_OR_RETURN(const KernelRegistry::Registration* registration,
                   kernels_.Find(*node, "CPU"));
  ASSIGN_OR_RETURN(std::unique_ptr<OpKernel> kernel,
                   registration->factory(OpKernelConstruction(
                       *node, device_, *random_, functions_)));
  return std::make_unique<Kernel>(*this, std::move(graph), *node,
                                  std::move(kernel));
}

absl::StatusOr<std::vector<Tensor>> KernelTestHarness::Run(
    absl::string_view op, std::vector<KernelInput> inputs, AttrMap attrs) {
  ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel,
                   Make(op, TypesOf(inputs), std::move(attrs)));
  return kernel->Run(std::move(inputs));
}

absl::StatusOr<Tensor> KernelTestHarness::RunOne(
    absl::string_view op, std::vector<KernelInput> inputs, AttrMap attrs) {
  ASSIGN_OR_RETURN(std::vector<Tensor> outputs,
                   Run(op, std::move(inputs), std::move(attrs)));
  if (outputs.size() != 1) {
    return absl::InternalError(
        absl::StrCat(op, " has ", outputs.size(), " outputs, not one"));
  }
  return std::move(outputs[0]);
}

absl::StatusOr<std::vector<PartialShape>> KernelTestHarness::InferShapes(
    absl::string_view op, std::vector<ShapeInput> inputs, AttrMap attrs) {
  Graph graph(ops_);
  ASSIGN_OR_RETURN(const Node* node,
                   AddNode(graph, op, inputs, std::move(attrs)));
  std::vector<PartialShape> shapes;
  for (int i = 0; i < node->num_outputs(); ++i) {
    shapes.push_back(node->output_shape(i));
  }
  return shapes;
}

absl::StatusOr<std::optional<Tensor>> KernelTestHarness::ConstantValue(
    absl::string_view op, std::vector<ShapeInput> inputs, AttrMap attrs) {
  Graph graph(ops_);
  ASSIGN_OR_RETURN(const Node* node,
                   AddNode(graph, op, inputs, std::move(attrs)));
  return graph.ConstantValue({node, 0});
}

KernelTestHarness::Kernel::Kernel(KernelTestHarness& harness,
                                  std::unique_ptr<Graph> graph,
                                  const Node& node,
                                  std::unique_ptr<OpKernel> kernel)
    : harness_(harness),
      graph_(std::move(graph)),
      node_(node),
      kernel_(std::move(kernel)) {}

absl::Status KernelTestHarness::Kernel::RunSlots(absl::Span<Slot> inputs,
                                                 absl::Span<Slot> outputs) {
  const OpKernelContext::NodeView view{
      .name = node_.name(),
      .op = node_.type(),
      .output_types = node_.output_types(),
      .outputs_not_required = outputs_not_required_};
  OpKernelContext context(harness_.step_, view, inputs, outputs, {},
                          harness_.when_locked_);
  AsyncOpKernel* async = kernel_->AsAsync();
  return async ? RunAsync(*async, context) : kernel_->Compute(context);
}

absl::StatusOr<std::vector<Tensor>> KernelTestHarness::Kernel::Run(
    std::vector<KernelInput> inputs) {
  std::vector<Slot> in(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    in[i].tensor = std::move(inputs[i].tensor);
    in[i].variable = std::move(inputs[i].variable);
  }
  inputs.clear();
  std::vector<Slot> out(node_.num_outputs());
  RETURN_IF_ERROR(RunSlots(absl::MakeSpan(in), absl::MakeSpan(out)));
  std::vector<Tensor> outputs;
  for (Slot& slot : out) outputs.push_back(std::move(slot.tensor));
  return outputs;
}

}  // namespace weft
