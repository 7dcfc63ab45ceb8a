// Ops that call functions of the graph's library. When a session's graph is
// extended, they are expanded (libs/graph/functions/function_expander.h).
#include <vector>

#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/control/op_groups.h"

namespace weft {
namespace {

// Uses attr output_shapes, if it is set. For a While without it, TensorFlow
// takes the inputs' shapes; but shapes may change in the loop.
absl::Status DeclaredShapes(InferenceContext& c) {
  ASSIGN_OR_RETURN(const auto shapes,
                   c.GetAttr<std::vector<PartialShape>>("output_shapes"));
  if (shapes.empty()) return absl::OkStatus();
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("`output_shapes` must be the same length as num outputs (",
                     shapes.size(), " vs. ", c.num_outputs(), ")"));
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[i]);
  return absl::OkStatus();
}

absl::Status CaseShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return DeclaredShapes(c);
}

// Each output has a row for each row of the arguments.
absl::Status MapDefunShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const auto shapes,
                   c.GetAttr<std::vector<PartialShape>>("output_shapes"));
  ASSIGN_OR_RETURN(const auto arguments,
                   c.GetAttr<std::vector<DataType>>("Targuments"));
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("`output_shapes` must be the same length as "
                     "`output_types` (",
                     shapes.size(), " vs. ", c.num_outputs(), ")"));
  }
  int64_t rows = PartialShape::kUnknown;
  for (size_t i = 0; i < arguments.size(); ++i) {
    ASSIGN_OR_RETURN(const PartialShape shape,
                     c.InputWithRankAtLeast(static_cast<int>(i), 1));
    if (!shape.has_rank()) continue;
    ASSIGN_OR_RETURN(rows, InferenceContext::MergeDims(rows, shape.dim(0)));
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    if (!shapes[i].has_rank()) continue;
    std::vector<int64_t> dims = {rows};
    for (int d = 0; d < shapes[i].rank(); ++d) dims.push_back(shapes[i].dim(d));
    ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Create(dims));
    c.set_output(i, std::move(shape));
  }
  return absl::OkStatus();
}

OpDefBuilder Call(absl::string_view name) {
  return OpDefBuilder(name)
      .Input("args: Tin")
      .Output("output: Tout")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("f: func")
      .Attr("config: string = ''")
      .Attr("config_proto: string = ''")
      .Attr("executor_type: string = ''")
      .Shape(shapes::Unknown);
}

OpDefBuilder If(absl::string_view name) {
  return OpDefBuilder(name)
      .Input("cond: Tcond")
      .Input("input: Tin")
      .Output("output: Tout")
      .Attr("Tcond: type")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("then_branch: func")
      .Attr("else_branch: func")
      .Attr("output_shapes: list(shape) = []")
      .Shape(DeclaredShapes);
}

OpDefBuilder Case(absl::string_view name) {
  return OpDefBuilder(name)
      .Input("branch_index: int32")
      .Input("input: Tin")
      .Output("output: Tout")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("branches: list(func) >= 1")
      .Attr("output_shapes: list(shape) = []")
      .Shape(CaseShape);
}

OpDefBuilder While(absl::string_view name) {
  return OpDefBuilder(name)
      .Input("input: T")
      .Output("output: T")
      .Attr("T: list(type) >= 0")
      .Attr("cond: func")
      .Attr("body: func")
      .Attr("output_shapes: list(shape) = []")
      .Attr("parallel_iterations: int = 10")
      .Shape(DeclaredShapes);
}

}  // namespace

void RegisterFunctionalOps(OpRegistry& registry) {
  registry.Add(Call("PartitionedCall").Doc("Calls the function f."));
  registry.Add(Call("StatefulPartitionedCall")
                   .Stateful()
                   .Doc("Calls the stateful function f."));
  registry.Add(If("If").Stateful().Doc("Calls one of two stateful functions."));
  registry.Add(If("StatelessIf").Doc("Calls one of two functions."));
  registry.Add(
      Case("Case").Stateful().Doc("Calls one of several stateful functions."));
  registry.Add(Case("StatelessCase").Doc("Calls one of several functions."));
  registry.Add(
      While("While").Stateful().Doc("Applies body to its input while cond "
                                    "holds; both functions may be stateful."));
  registry.Add(While("StatelessWhile")
                   .Doc("Applies body to its input while cond holds."));
  registry.Add(OpDefBuilder("SymbolicGradient")
                   .Input("input: Tin")
                   .Output("output: Tout")
                   .Attr("Tin: list(type) >= 1")
                   .Attr("Tout: list(type) >= 1")
                   .Attr("f: func")
                   .Doc("Computes the gradients of f's arguments from the "
                        "arguments and the gradients of f's results.")
                   .Shape(shapes::Unknown));
  registry.Add(OpDefBuilder("MapDefun")
                   .Input("arguments: Targuments")
                   .Input("captured_inputs: Tcaptured")
                   .Output("output: output_types")
                   .Attr("Targuments: list(type) >= 1")
                   .Attr("Tcaptured: list(type) >= 0 = []")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("f: func")
                   .Attr("max_intra_op_parallelism: int = 1")
                   .Doc("Applies f to each row of the arguments.")
                   .Shape(MapDefunShape));
  registry.Add(OpDefBuilder("ToBool")
                   .Input("input: T")
                   .Output("output: bool")
                   .Attr("T: type")
                   .Doc("Returns whether a scalar is neither zero nor empty, "
                        "or another tensor has elements.")
                   .Shape(shapes::Scalar));
}

}  // namespace weft
