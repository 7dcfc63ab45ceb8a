// Kernels of nodes that replace several nodes (libs/passes/element_fusion.h): a
// product or a convolution followed by elementwise functions, or such functions
// alone. Each replaced node has its own kernel here: if shapes broadcast or do
// not match, these run one after another, as the nodes would. _SlicedMatMul is
// a product of which a Slice keeps a part (libs/passes/slice_fusion.h).
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/slice_plan.h"
#include "libs/kernels/common/element_loops.h"
#include "libs/kernels/common/member_errors.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/math/gemm.h"
#include "libs/kernels/math/operand_checks.h"
#include "libs/kernels/nn/element_program.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

// One of the replaced nodes.
struct Member {
  std::string name;
  std::string op;
  DataTypeVector types;  // of its output
  std::unique_ptr<OpKernel> kernel;

  absl::StatusOr<Tensor> Run(OpKernelContext& context,
                             absl::Span<Slot> inputs) const {
    const OpKernelContext::NodeView view = {name, op, types};
    Slot output;
    OpKernelContext inner(context.step(), view, inputs,
                          absl::MakeSpan(&output, 1), context.loop_position());
    const absl::Status status = kernel->Compute(inner);
    if (!status.ok()) return OfMember(status, name, op);
    return std::move(output.tensor);
  }
};

struct Members {
  std::optional<Member> head;  // a product of the first two inputs
  std::vector<Member> functions;
};

using Args = absl::InlinedVector<const Tensor*, 8>;

class FusedKernel : public OpKernel {
 public:
  FusedKernel(const OpKernelConstruction& construction, Members members,
              ElementProgram program)
      : OpKernel(construction),
        members_(std::move(members)),
        program_(std::move(program)) {}

  absl::Status Compute(OpKernelContext& context) override {
    Args args;
    const int first = members_.head ? 2 : 0;
    for (int i = first; i < context.num_inputs(); ++i) {
      args.push_back(&context.input(i));
    }
    if (!members_.head) return ComputeElements(context, args);
    Slot operands[2];
    for (int i = 0; i < 2; ++i) operands[i].tensor = context.input(i);
    ASSIGN_OR_RETURN(Tensor product,
                     members_.head->Run(context, absl::MakeSpan(operands, 2)));
    args.push_back(&product);
    const std::optional<TensorShape> shape = program_.ShapeOf(args);
    if (!shape || *shape != product.shape()) {
      std::vector<Tensor> values = TakeInputs(context, first);
      values.push_back(std::move(product));
      return ComputeOneByOne(context, std::move(values));
    }
    program_.Run(context, args, product);
    context.SetOutput(0, std::move(product));
    return absl::OkStatus();
  }

 private:
  absl::Status ComputeElements(OpKernelContext& context, const Args& args) {
    const std::optional<TensorShape> shape = program_.ShapeOf(args);
    if (!shape) return ComputeOneByOne(context, TakeInputs(context, 0));
    ASSIGN_OR_RETURN(Tensor * out, OutputOf(context, *shape));
    program_.Run(context, args, *out);
    return absl::OkStatus();
  }

  static std::vector<Tensor> TakeInputs(OpKernelContext& context, int first) {
    std::vector<Tensor> inputs;
    for (int i = first; i < context.num_inputs(); ++i) {
      inputs.push_back(context.TakeInput(i));
    }
    return inputs;
  }

  // Allocates the output in an unshared input of that shape, if any.
  static absl::StatusOr<Tensor*> OutputOf(OpKernelContext& context,
                                          const TensorShape& shape) {
    for (int i = 0; i < context.num_inputs(); ++i) {
      const Tensor& input = context.input(i);
      if (input.RefCountIsOne() && input.shape() == shape) {
        return context.ForwardOrAllocate({i}, 0, shape);
      }
    }
    return context.AllocateOutput(0, shape);
  }

  // A value is released after its last use, as between nodes.
  absl::Status ComputeOneByOne(OpKernelContext& context,
                               std::vector<Tensor> values) const {
    for (size_t k = 0; k < program_.steps().size(); ++k) {
      const ElementStep& step = program_.steps()[k];
      Slot operands[2];
      operands[0].tensor = values[step.x];
      if (step.y >= 0) operands[1].tensor = values[step.y];
      // A result without further uses may be overwritten.
      for (const int value : {step.x, step.y}) {
        if (IsOver(value, k)) values[value] = Tensor();
      }
      ASSIGN_OR_RETURN(
          Tensor result,
          members_.functions[k].Run(
              context, absl::MakeSpan(operands, step.y < 0 ? 1 : 2)));
      values.push_back(std::move(result));
    }
    context.SetOutput(0, std::move(values.back()));
    return absl::OkStatus();
  }

  // Returns whether no step after `k` uses the value, which may be -1.
  bool IsOver(int value, size_t k) const {
    if (value < 0) return false;
    for (size_t later = k + 1; later < program_.steps().size(); ++later) {
      const ElementStep& step = program_.steps()[later];
      if (step.x == value || step.y == value) return false;
    }
    return true;
  }

  const Members members_;
  const ElementProgram program_;
};

// If the bits of a part differ from those of the whole, or an operand is
// invalid, the members run one after another.
class SlicedMatMulKernel : public OpKernel {
 public:
  SlicedMatMulKernel(const OpKernelConstruction& construction, Member product,
                     Member slice, bool transpose_a, bool transpose_b)
      : OpKernel(construction),
        product_(std::move(product)),
        slice_(std::move(slice)),
        transpose_a_(transpose_a),
        transpose_b_(transpose_b) {}

  absl::Status Compute(OpKernelContext& context) override {
    const std::optional<Part> part = PartOf(context);
    if (!part) return ComputeOneByOne(context);
    const MatMulArgs& args = part->args;
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create({args.m, args.n}));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    Gemm(context.scheduler(), args,
         context.input(0).flat<float>().data() + part->a,
         context.input(1).flat<float>().data() + part->b,
         out->mutable_flat<float>().data());
    return absl::OkStatus();
  }

 private:
  struct Part {
    MatMulArgs args;
    int64_t a = 0, b = 0;  // first row and first column
  };

  absl::Status ComputeOneByOne(OpKernelContext& context) const {
    Slot operands[2];
    for (int i = 0; i < 2; ++i) operands[i].tensor = context.TakeInput(i);
    Slot taken[3];
    ASSIGN_OR_RETURN(taken[0].tensor,
                     product_.Run(context, absl::MakeSpan(operands)));
    for (Slot& operand : operands) operand.tensor = Tensor();
    for (int i = 1; i < 3; ++i) taken[i].tensor = context.input(i + 1);
    ASSIGN_OR_RETURN(Tensor part, slice_.Run(context, absl::MakeSpan(taken)));
    context.SetOutput(0, std::move(part));
    return absl::OkStatus();
  }

  // nullopt if there is no valid product or slice, or if the slice must be cut
  // from the whole product.
  std::optional<Part> PartOf(const OpKernelContext& context) const {
    const TensorShape& a = context.input(0).shape();
    const TensorShape& b = context.input(1).shape();
    if (!CheckMatrices(a, b).ok()) return std::nullopt;
    const auto whole = ProductOf(a, b, transpose_a_, transpose_b_);
    if (!whole.ok()) return std::nullopt;
    const auto shape = TensorShape::Create({whole->m, whole->n});
    if (!shape.ok()) return std::nullopt;
    const MatMulFunctions& functions = BestMatMul();
    if (functions.is_by_element == nullptr ||
        !functions.is_by_element(*whole)) {
      return std::nullopt;
    }
    const auto box = ReadSliceBox(*shape, context.input(2), context.input(3));
    if (!box.ok()) return std::nullopt;
    Part part = {.args = PartOfProduct(*whole)};
    part.args.m = box->size[0];
    part.args.n = part.args.c_stride = box->size[1];
    part.a = box->begin[0] * (transpose_a_ ? 1 : whole->a_stride);
    part.b = box->begin[1] * (transpose_b_ ? whole->b_stride : 1);
    return part;
  }

  const Member product_;
  const Member slice_;
  const bool transpose_a_;
  const bool transpose_b_;
};

// Creates the kernels of the replaced nodes.
class MemberMaker {
 public:
  MemberMaker(const KernelRegistry& registry,
              const OpKernelConstruction& construction)
      : registry_(registry), construction_(construction) {}

  // The product, with the attrs of the node.
  absl::StatusOr<Member> MakeHead(const std::string& name,
                                  const std::string& op) const {
    NodeSpec spec{.name = name, .op = op};
    const std::shared_ptr<const OpRegistry> ops = StandardOps();
    for (const AttrDef& attr : ops->Find(op)->attrs) {
      const auto value = construction_.node().attrs().find(attr.name);
      if (value != construction_.node().attrs().end()) {
        spec.attrs.insert(*value);
      }
    }
    ASSIGN_OR_RETURN(const DataType type, construction_.GetAttr<DataType>("T"));
    return OfMember(Make(std::move(spec), {type, type}), name, op);
  }

  // A Slice of a matrix, with the node's own name.
  absl::StatusOr<Member> MakeSlice() const {
    const std::string& name = construction_.node().name();
    ASSIGN_OR_RETURN(const DataType type, construction_.GetAttr<DataType>("T"));
    ASSIGN_OR_RETURN(const DataType index,
                     construction_.GetAttr<DataType>("Index"));
    return OfMember(Make({.name = name,
                          .op = "Slice",
                          .attrs = {{"T", type}, {"Index", index}}},
                         {type, index, index}),
                    name, "Slice");
  }

  // An elementwise function. The other attrs of the node belong to the product.
  absl::StatusOr<Member> MakeFunction(const std::string& name,
                                      const std::string& op, DataType type,
                                      int num_inputs) const {
    // Fused ops could otherwise contain themselves.
    if (absl::StartsWith(op, "_")) {
      return absl::InvalidArgumentError(
          absl::StrCat("op '", op, "' cannot be fused"));
    }
    return OfMember(Make({.name = name, .op = op, .attrs = {{"T", type}}},
                         DataTypeVector(num_inputs, type)),
                    name, op);
  }

 private:
  static absl::StatusOr<Member> OfMember(absl::StatusOr<Member> made,
                                         const std::string& name,
                                         const std::string& op) {
    if (made.ok()) return made;
    return weft::OfMember(made.status(), name, op);
  }

  absl::StatusOr<Member> Make(NodeSpec spec,
                              const DataTypeVector& inputs) const {
    Graph graph(StandardOps());
    const std::string name = spec.name, op = spec.op;
    if (graph.FindOp(op) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("op '", op, "' to be fused is not registered"));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto index = static_cast<int64_t>(i);
      ASSIGN_OR_RETURN(
          const Node* input,
          graph.AddNode({.name = absl::StrCat(name, "/input_", i),
                         .op = "_Arg",
                         .attrs = {{"T", inputs[i]}, {"index", index}}}));
      spec.inputs.push_back({input, 0});
    }
    ASSIGN_OR_RETURN(const Node* node, graph.AddNode(std::move(spec)));
    ASSIGN_OR_RETURN(const KernelRegistry::Registration* found,
                     registry_.Find(*node, "CPU"));
    ASSIGN_OR_RETURN(
        std::unique_ptr<OpKernel> kernel,
        found->factory(OpKernelConstruction(*node, construction_.device(),
                                            construction_.random())));
    const DataTypeVector types(node->output_types().begin(),
                               node->output_types().end());
    return Member{name, op, types, std::move(kernel)};
  }

  const KernelRegistry& registry_;
  const OpKernelConstruction& construction_;
};

// The attrs of a node.
struct FusedAttrs {
  DataType type = DT_INVALID;
  std::vector<std::string> ops, names;
  std::vector<int64_t> operands;

  static absl::StatusOr<FusedAttrs> Read(
      const OpKernelConstruction& construction, bool has_head) {
    FusedAttrs attrs;
    ASSIGN_OR_RETURN(attrs.type, construction.GetAttr<DataType>("T"));
    using Texts = std::vector<std::string>;
    ASSIGN_OR_RETURN(attrs.ops, construction.GetAttr<Texts>("fused_ops"));
    if (attrs.ops.size() > ElementProgram::kMaxSteps) {
      return absl::InvalidArgumentError(
          absl::StrCat(attrs.ops.size(), " functions are more than the ",
                       ElementProgram::kMaxSteps, " that can be fused"));
    }
    ASSIGN_OR_RETURN(attrs.names, construction.GetAttr<Texts>("fused_names"));
    ASSIGN_OR_RETURN(attrs.operands, construction.GetAttr<std::vector<int64_t>>(
                                         "fused_operands"));
    if (attrs.names.size() == attrs.ops.size() + (has_head ? 1 : 0) &&
        attrs.operands.size() == 2 * attrs.ops.size()) {
      return attrs;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        attrs.ops.size(), " functions don't go with ", attrs.names.size(),
        " names and ", attrs.operands.size(), " numbers of operands"));
  }
};

absl::StatusOr<ElementStep> StepOf(const Member& member, DataType type,
                                   int64_t x, int64_t y) {
  const auto* const kernel =
      dynamic_cast<const ElementKernel*>(member.kernel.get());
  if (kernel == nullptr || !kernel->loops().any() ||
      member.types != DataTypeVector{type} ||
      kernel->loops().num_operands() != (y < 0 ? 1 : 2)) {
    return OfMember(
        absl::InvalidArgumentError(absl::StrCat(
            "op '", member.op, "' cannot be fused: it is not elementwise")),
        member.name, member.op);
  }
  // Larger numbers are rejected as invalid value numbers.
  const auto number = [](int64_t value) {
    return static_cast<int>(std::clamp<int64_t>(value, -1, 1 << 20));
  };
  return ElementStep{kernel->loops(), number(x), number(y)};
}

absl::StatusOr<std::unique_ptr<OpKernel>> MakeFused(
    const KernelRegistry& registry, const std::string& head,
    const OpKernelConstruction& construction) {
  const bool has_head = !head.empty();
  ASSIGN_OR_RETURN(const FusedAttrs attrs,
                   FusedAttrs::Read(construction, has_head));
  const MemberMaker maker(registry, construction);
  Members members;
  if (has_head) {
    ASSIGN_OR_RETURN(members.head, maker.MakeHead(attrs.names[0], head));
  }
  std::vector<ElementStep> steps;
  for (size_t k = 0; k < attrs.ops.size(); ++k) {
    const int64_t x = attrs.operands[2 * k], y = attrs.operands[2 * k + 1];
    ASSIGN_OR_RETURN(
        Member member,
        maker.MakeFunction(attrs.names[k + (has_head ? 1 : 0)], attrs.ops[k],
                           attrs.type, y < 0 ? 1 : 2));
    ASSIGN_OR_RETURN(const ElementStep step, StepOf(member, attrs.type, x, y));
    steps.push_back(step);
    members.functions.push_back(std::move(member));
  }
  // The product follows the other arguments.
  const int num_args = construction.node().num_inputs() - (has_head ? 1 : 0);
  ASSIGN_OR_RETURN(ElementProgram program,
                   ElementProgram::Of(
                       num_args, static_cast<int64_t>(DataTypeSize(attrs.type)),
                       std::move(steps)));
  return std::make_unique<FusedKernel>(construction, std::move(members),
                                       std::move(program));
}

absl::StatusOr<std::unique_ptr<OpKernel>> MakeSlicedMatMul(
    const KernelRegistry& registry, const OpKernelConstruction& construction) {
  const MemberMaker maker(registry, construction);
  ASSIGN_OR_RETURN(const std::string name,
                   construction.GetAttr<std::string>("product_name"));
  ASSIGN_OR_RETURN(Member product, maker.MakeHead(name, "MatMul"));
  ASSIGN_OR_RETURN(Member slice, maker.MakeSlice());
  ASSIGN_OR_RETURN(const bool transpose_a,
                   construction.GetAttr<bool>("transpose_a"));
  ASSIGN_OR_RETURN(const bool transpose_b,
                   construction.GetAttr<bool>("transpose_b"));
  return std::make_unique<SlicedMatMulKernel>(construction, std::move(product),
                                              std::move(slice), transpose_a,
                                              transpose_b);
}

}  // namespace

void RegisterFusedKernels(KernelRegistry& registry) {
  const auto add = [&registry](const std::string& op, const std::string& head,
                               DataType type, bool is_cheap) {
    registry.Register(
        {.op = op, .types = {{"T", {type}}}, .is_cheap = is_cheap},
        [&registry, head](const OpKernelConstruction& construction) {
          return MakeFused(registry, head, construction);
        });
  };
  for (const DataType type : DataTypesOf(FloatingTypes{})) {
    for (const char* head : {"MatMul", "Conv2D", "DepthwiseConv2dNative"}) {
      add(absl::StrCat("_Fused", head), head, type, /*is_cheap=*/false);
    }
    // For other types, the loops of exponentials and similar functions are not
    // vectorized.
    const bool is_cheap = type == DT_FLOAT || type == DT_DOUBLE;
    add("_FusedElementwise", "", type, is_cheap);
  }
  registry.Register({.op = "_SlicedMatMul"},
                    [&registry](const OpKernelConstruction& construction) {
                      return MakeSlicedMatMul(registry, construction);
                    });
}

}  // namespace weft
