#include "libs/graph/graph.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/hash_tables.h"
#include "libs/base/reserve.h"
#include "libs/base/status.h"
#include "libs/graph/constant_evaluator.h"
#include "libs/graph/inference_context.h"
#include "libs/graph/node_signature.h"
#include "libs/graph/unknown_op.h"

namespace weft {
namespace {

std::pair<int, int> Range(const std::vector<ArgDef>& args, const AttrMap& attrs,
                          int arg) {
  int begin = 0;
  for (int i = 0; i < arg; ++i) begin += ArgLength(args[i], attrs);
  return {begin, begin + ArgLength(args[arg], attrs)};
}

// Returns whether a node name matches [A-Za-z0-9_.][A-Za-z0-9_.\\/>-]*. A
// leading "_" is reserved for nodes that Weft creates.
bool IsValidName(absl::string_view name) {
  if (name.empty()) return false;
  const auto word = [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.';
  };
  if (!word(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return word(c) || c == '\\' || c == '/' || c == '>' || c == '-';
  });
}

bool IsMerge(const OpDef& op) {
  return op.name == "Merge" || op.name == "RefMerge";
}

absl::Status CheckOutputTensor(const Graph& graph, const OutputTensor& output) {
  const Node* node = output.node;
  if (node->id() >= graph.num_nodes() || graph.node(node->id()) != node) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", node->name(), "' is of another graph"));
  }
  if (output.index < 0 || output.index >= node->num_outputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", TensorName(output), "': node '", node->name(),
                     "' has ", node->num_outputs(), " outputs"));
  }
  return absl::OkStatus();
}

absl::Status CheckEdges(const Graph& graph, const OpDef& op,
                        const NodeSpec& spec) {
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (spec.inputs[i].node != nullptr) {
      RETURN_IF_ERROR(CheckOutputTensor(graph, spec.inputs[i]));
    } else if (!IsMerge(op)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " is missing"));
    }
  }
  for (const Node* node : spec.control_inputs) {
    if (node == nullptr || node->id() >= graph.num_nodes() ||
        graph.node(node->id()) != node) {
      return absl::InvalidArgumentError(
          "a control input is missing, or of another graph");
    }
  }
  return absl::OkStatus();
}

// Returns the text that TensorFlow appends to an error of a shape function.
std::string ShapeErrorContext(const NodeSpec& spec,
                              const InferenceContext& context) {
  std::vector<std::string> shapes;
  for (int i = 0; i < context.num_inputs(); ++i) {
    shapes.push_back(context.input(i).ToString());
  }
  return absl::StrCat("for '", spec.name, "' (op: '", spec.op,
                      "') with input shapes: ", absl::StrJoin(shapes, ", "),
                      ".");
}

absl::StatusOr<std::vector<PartialShape>> InferShapes(
    const OpDef& op, const NodeSpec& spec, const NodeSignature& signature) {
  InferenceContext context(op, signature.attrs, spec.inputs,
                           signature.input_types, signature.output_types);
  if (absl::Status status = op.shape_fn(context); !status.ok()) {
    return Append(status, ShapeErrorContext(spec, context));
  }
  // Reject a shape that no tensor can have, so that later computations need not
  // check it again.
  for (const PartialShape& shape : context.output_shapes()) {
    if (!shape.has_rank()) continue;
    if (auto valid = PartialShape::Create(shape.dims()); !valid.ok()) {
      return Append(valid.status(), ShapeErrorContext(spec, context));
    }
  }
  return context.output_shapes();
}

absl::Status CheckName(const Graph& graph, const std::string& name) {
  if (!IsValidName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Node '", name,
                     "': Node name contains invalid characters; allowed are "
                     "letters, digits, '_', '.', '-' and '/'"));
  }
  if (graph.FindNode(name) != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("Node '", name, "' is not unique"));
  }
  return absl::OkStatus();
}

std::string ErrorPrefix(const NodeSpec& spec) {
  return absl::StrCat("Node '", spec.name, "' (op: '", spec.op, "')");
}

// OpParts has the parts of a new node that follow from its op.
struct OpParts {
  const OpDef* op = nullptr;
  std::shared_ptr<const AttrMap> attrs;
  DataTypeVector input_types;
  DataTypeVector output_types;
  std::vector<PartialShape> shapes;
};

absl::StatusOr<OpParts> PartsOfKnown(const Graph& graph, const NodeSpec& spec) {
  ASSIGN_OR_RETURN(NodeSignature signature, graph.Resolve(spec));
  OpParts parts{.op = graph.FindOp(spec.op)};
  ASSIGN_OR_RETURN(parts.shapes, InferShapes(*parts.op, spec, signature));
  parts.attrs = std::make_shared<const AttrMap>(std::move(signature.attrs));
  parts.input_types = std::move(signature.input_types);
  parts.output_types = std::move(signature.output_types);
  return parts;
}

// Returns the parts of an unknown node, except its inputs. The node owns its
// op.
OpParts PartsWithOwnOp(std::shared_ptr<const OpDef> op, AttrMap attrs,
                       DataTypeVector output_types) {
  // The op and the attrs are in one object, so that the op lives until the node
  // releases its attrs.
  struct Owned {
    std::shared_ptr<const OpDef> op;
    AttrMap attrs;
  };
  const auto owned =
      std::make_shared<const Owned>(Owned{std::move(op), std::move(attrs)});
  const size_t num_outputs = output_types.size();
  return {.op = owned->op.get(),
          .attrs = {owned, &owned->attrs},
          .output_types = std::move(output_types),
          .shapes = std::vector<PartialShape>(num_outputs)};
}

absl::StatusOr<OpParts> PartsOfUnknown(const Graph& graph, NodeSpec& spec,
                                       int num_outputs) {
  RETURN_IF_ERROR(CheckName(graph, spec.name));
  OpParts parts = PartsWithOwnOp(MakeUnknownOp(spec.op), std::move(spec.attrs),
                                 DataTypeVector(num_outputs, DT_INVALID));
  if (absl::Status status = CheckEdges(graph, *parts.op, spec); !status.ok()) {
    return Annotate(status, ErrorPrefix(spec));
  }
  for (const OutputTensor& input : spec.inputs) {
    parts.input_types.push_back(input.node == nullptr
                                    ? DT_INVALID
                                    : input.node->output_type(input.index));
  }
  return parts;
}

// Returns the parts of an unknown node that has the outputs of its registered
// op.
absl::StatusOr<OpParts> PartsOfNotRunnable(const Graph& graph,
                                           const NodeSpec& spec) {
  ASSIGN_OR_RETURN(NodeSignature signature, graph.Resolve(spec));
  OpParts parts = PartsWithOwnOp(MakeUnknownOp(*graph.FindOp(spec.op)),
                                 std::move(signature.attrs),
                                 std::move(signature.output_types));
  parts.input_types = std::move(signature.input_types);
  return parts;
}

absl::StatusOr<OpParts> PartsOf(const Graph& graph, NodeSpec& spec) {
  const std::optional<UnknownMark> mark = TakeUnknownMark(spec);
  if (!mark) return PartsOfKnown(graph, spec);
  return mark->num_outputs ? PartsOfUnknown(graph, spec, *mark->num_outputs)
                           : PartsOfNotRunnable(graph, spec);
}

// Returns whether the input is an output that an unknown node of the graph does
// not have yet. Such a node starts with the outputs that its consumers have
// shown, and a new consumer may add one.
bool IsNewOutput(const Graph& graph, const OutputTensor& input) {
  return IsOfUnknown(input) && input.index < kMaxUnknownOutputs &&
         input.index >= input.node->num_outputs() &&
         input.node->id() < graph.num_nodes() &&
         graph.node(input.node->id()) == input.node;
}

// Sets the type of outputs of unknown nodes to the type that a known consumer
// expects. A consumer that expects a reference has precedence. `type_of`
// returns a reference to the type of an output.
template <typename TypeOf>
void GuessTypesOfInputs(const Node& consumer, TypeOf type_of) {
  if (IsUnknown(consumer)) return;
  for (int i = 0; i < consumer.num_inputs(); ++i) {
    const OutputTensor& input = consumer.input(i);
    if (!IsOfUnknown(input)) continue;
    DataType& type = type_of(input);
    const DataType expected = consumer.input_type(i);
    if (type == DT_INVALID || IsRefType(expected)) type = expected;
  }
}

// Returns whether a node with an id of at least `first` takes an output of an
// older unknown node, and so may have determined the output's type.
bool HaveGuessed(absl::Span<const Node* const> nodes, int first) {
  for (const Node* node : nodes.subspan(first)) {
    for (const OutputTensor& input : node->inputs()) {
      if (IsOfUnknown(input) && input.node->id() < first) return true;
    }
  }
  return false;
}

// Returns the nodes without duplicates, in the order of their first occurrence.
std::vector<const Node*> Unique(const std::vector<const Node*>& nodes) {
  if (nodes.size() < 2) return nodes;
  std::vector<const Node*> result;
  FlatHashSet<const Node*> seen;
  for (const Node* node : nodes) {
    if (seen.insert(node).second) result.push_back(node);
  }
  return result;
}

}  // namespace

std::string TensorName(const OutputTensor& output) {
  if (output.node == nullptr) return "<none>";
  return absl::StrCat(output.node->name(), ":", output.index);
}

std::pair<int, int> Node::InputRange(int arg) const {
  return Range(op_->inputs, *attrs_, arg);
}

std::pair<int, int> Node::OutputRange(int arg) const {
  return Range(op_->outputs, *attrs_, arg);
}

Graph::Graph(std::shared_ptr<const OpRegistry> registry,
             std::shared_ptr<const FunctionLibrary> functions)
    : registry_(std::move(registry)),
      functions_(functions != nullptr
                     ? std::move(functions)
                     : std::make_shared<const FunctionLibrary>()) {}

Graph::~Graph() = default;

absl::Status Graph::AddFunctions(
    absl::Span<const FunctionPtr> functions,
    const std::map<std::string, std::string, std::less<>>& gradients) {
  const GraphWriter::Turn turn(writer_);
  if (!turn) return writer_.error();
  for (const FunctionPtr& function : functions) {
    if (registry_->Find(function->name()) == nullptr) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Cannot add function '", function->name(),
                     "' because an op with the same name already exists."));
  }
  ASSIGN_OR_RETURN(functions_, functions_->With(functions, gradients));
  return absl::OkStatus();
}

void Graph::RestoreFunctions(std::shared_ptr<const FunctionLibrary> functions) {
  const GraphWriter::Turn turn(writer_);
  if (!turn) return;
  functions_ = std::move(functions);
}

const OpDef* Graph::FindOp(absl::string_view name) const {
  if (const OpDef* op = registry_->Find(name)) return op;
  const FunctionDef* function = functions_->Find(name);
  return function == nullptr ? nullptr : &function->signature;
}

absl::StatusOr<NodeSignature> Graph::Resolve(const NodeSpec& spec) const {
  RETURN_IF_ERROR(CheckName(*this, spec.name));
  const OpDef* op = FindOp(spec.op);
  if (op == nullptr) {
    return absl::NotFoundError(absl::StrCat("Op type not registered '", spec.op,
                                            "' for node '", spec.name, "'"));
  }
  if (absl::Status status = CheckEdges(*this, *op, spec); !status.ok()) {
    return Annotate(status, ErrorPrefix(spec));
  }
  absl::StatusOr<NodeSignature> signature = ResolveSignature(*op, spec);
  if (!signature.ok()) return Annotate(signature.status(), ErrorPrefix(spec));
  return signature;
}

absl::StatusOr<Node*> Graph::AddNode(NodeSpec spec) {
  const GraphWriter::Turn turn(writer_);
  if (!turn) return writer_.error();
  for (const OutputTensor& input : spec.inputs) {
    if (!IsNewOutput(*this, input)) continue;
    Node& unknown = *nodes_[input.node->id()];
    // Resize the types last, because their number is the number of outputs.
    unknown.output_shapes_.resize(input.index + 1);
    unknown.output_types_.resize(input.index + 1, DT_INVALID);
  }
  ASSIGN_OR_RETURN(OpParts parts, PartsOf(*this, spec));
  auto node = std::unique_ptr<Node>(new Node);
  node->id_ = num_nodes();
  node->name_ = std::move(spec.name);
  node->op_ = parts.op;
  node->attrs_ = std::move(parts.attrs);
  node->requested_device_ = std::move(spec.device);
  node->inputs_ = std::move(spec.inputs);
  node->control_inputs_ = Unique(spec.control_inputs);
  node->input_types_ = std::move(parts.input_types);
  node->output_types_ = std::move(parts.output_types);
  node->output_shapes_ = std::move(parts.shapes);
  Node* result = node.get();
  // Reserve memory first, because this may throw. Afterwards the node is added
  // to all containers, and before an exception to none.
  ReserveOne(view_);
  ReserveOne(nodes_);
  ReserveInTable(by_name_);
  by_name_.emplace(result->name_, result);
  view_.push_back(result);
  nodes_.push_back(std::move(node));
  GuessTypesOfInputs(*result, [this](const OutputTensor& from) -> DataType& {
    return nodes_[from.node->id()]->output_types_[from.index];
  });
  return result;
}

absl::Status Graph::SetBackEdge(const Node* node, int index,
                                OutputTensor from) {
  const GraphWriter::Turn turn(writer_);
  if (!turn) return writer_.error();
  if (node == nullptr || from.node == nullptr) {
    return absl::InvalidArgumentError("a node of the back edge is null");
  }
  const std::string prefix = absl::StrCat("Back edge of node '", node->name(),
                                          "' (op: '", node->type(), "')");
  RETURN_IF_ERROR(Annotate(CheckOutputTensor(*this, {node, 0}), prefix));
  RETURN_IF_ERROR(Annotate(CheckOutputTensor(*this, from), prefix));
  if (!IsMerge(node->op()) || index < 0 || index >= node->num_inputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat(prefix, ": only an input of a Merge can be a back edge"));
  }
  Node& target = *nodes_[node->id()];
  if (target.inputs_[index].node != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(prefix, ": input ", index, " is set already"));
  }
  const DataType given = from.node->output_type(from.index);
  const DataType expected = target.input_types_[index];
  if (given != expected && RemoveRefType(given) != expected &&
      !IsUnknown(*node) && !IsOfUnknown(from)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Input ", index, " of node ", node->name(), " was passed ",
        DataTypeName(given), " from ", TensorName(from),
        " incompatible with expected ", DataTypeName(expected), "."));
  }
  target.inputs_[index] = from;
  return absl::OkStatus();
}

absl::Status Graph::RefineShape(OutputTensor output,
                                const PartialShape& shape) {
  const GraphWriter::Turn turn(writer_);
  if (!turn) return writer_.error();
  if (output.node == nullptr) {
    return absl::InvalidArgumentError(
        "the tensor to set the shape of has no node");
  }
  RETURN_IF_ERROR(CheckOutputTensor(*this, output));
  PartialShape& known = nodes_[output.node->id()]->output_shapes_[output.index];
  absl::StatusOr<PartialShape> merged = known.MergeWith(shape);
  if (!merged.ok()) {
    return Annotate(merged.status(),
                    absl::StrCat("Shape of '", TensorName(output), "'"));
  }
  known = *std::move(merged);
  return absl::OkStatus();
}

void Graph::TruncateTo(int num_nodes) {
  const GraphWriter::Turn turn(writer_);
  if (!turn) return;
  if (num_nodes >= static_cast<int>(nodes_.size())) return;
  // Undo back edges from removed nodes. Only a back edge points from a newer
  // node to an older one.
  for (int id = 0; id < num_nodes; ++id) {
    if (!IsMerge(*nodes_[id]->op_)) continue;
    for (OutputTensor& input : nodes_[id]->inputs_) {
      if (input.node != nullptr && input.node->id() >= num_nodes) {
        input = OutputTensor();
      }
    }
  }
  const bool have_guessed = HaveGuessed(nodes(), num_nodes);
  while (static_cast<int>(nodes_.size()) > num_nodes) {
    by_name_.erase(nodes_.back()->name_);
    view_.pop_back();
    nodes_.pop_back();
  }
  if (!have_guessed) return;
  for (const auto& node : nodes_) {
    if (!HasGuessedOutputs(*node)) continue;
    std::fill(node->output_types_.begin(), node->output_types_.end(),
              DT_INVALID);
  }
  for (const Node* node : view_) {
    GuessTypesOfInputs(*node, [this](const OutputTensor& from) -> DataType& {
      return nodes_[from.node->id()]->output_types_[from.index];
    });
  }
}

void Graph::set_assigned_device(const Node* node, std::string device) {
  const GraphWriter::Turn turn(writer_);
  if (!turn) return;
  nodes_[node->id()]->assigned_device_ = std::move(device);
}

void Graph::set_requested_device(const Node* node, std::string device) {
  const GraphWriter::Turn turn(writer_);
  if (!turn) return;
  nodes_[node->id()]->requested_device_ = std::move(device);
}

const Node* Graph::FindNode(absl::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

absl::StatusOr<OutputTensor> Graph::FindOutputTensor(
    absl::string_view tensor_name) const {
  absl::string_view name = tensor_name;
  int index = 0;
  const size_t colon = tensor_name.rfind(':');
  if (colon != absl::string_view::npos) {
    name = tensor_name.substr(0, colon);
    if (!absl::SimpleAtoi(tensor_name.substr(colon + 1), &index) || index < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Tensor name '", tensor_name, "' is not of the form 'node:index'"));
    }
  }
  const Node* node = FindNode(name);
  if (node == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "Tensor '", tensor_name, "': node '", name, "' is not in the graph"));
  }
  if (index >= node->num_outputs() && HasGuessedOutputs(*node)) {
    return RefuseUnknown(*this, {&node, 1});
  }
  if (index >= node->num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Tensor '", tensor_name, "': node '", name, "' (op: '", node->type(),
        "') has only ", node->num_outputs(), " outputs"));
  }
  return OutputTensor{node, index};
}

std::optional<Tensor> Graph::ConstantValue(const OutputTensor& output) const {
  return ConstantEvaluator().Value(output);
}

std::optional<PartialShape> Graph::ConstantValueAsShape(
    const OutputTensor& output) const {
  return ConstantEvaluator().ValueAsShape(output);
}

std::optional<int64_t> Graph::ConstantScalar(const OutputTensor& output) const {
  return ConstantEvaluator().Scalar(output);
}

}  // namespace weft
