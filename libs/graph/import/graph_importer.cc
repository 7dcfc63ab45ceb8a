#include "libs/graph/import/graph_importer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "libs/base/exceptions.h"
#include "libs/base/logging.h"
#include "libs/base/shorten.h"
#include "libs/base/status.h"
#include "libs/graph/import/attr_value_proto.h"
#include "libs/graph/import/function_proto.h"
#include "libs/graph/import/graph_proto.h"
#include "libs/graph/node_adder.h"
#include "libs/graph/producers_first.h"
#include "libs/graph/unknown_op.h"
#include "libs/graph/version_rules.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/tensor_proto.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

constexpr absl::string_view kColocation = "loc:@";
// The maximum number of outputs of all nodes of one import. Each output takes
// about 64 bytes.
constexpr int64_t kMaxOutputs = 1 << 24;
constexpr size_t kMaxListing = 2000;  // bytes of an error text

bool IsMerge(absl::string_view op) { return op == "Merge" || op == "RefMerge"; }
bool IsNextIteration(absl::string_view op) {
  return op == "NextIteration" || op == "RefNextIteration";
}

absl::Status Refuse(const tf::NodeDef& node, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("Node '", node.name(), "': ", why));
}

// An estimate of how many copies of a repeated object, such as a string, exist
// at once. Each message that contains the tensor has its own copies, and client
// and master hold several messages while they pass the graph on.
constexpr double kCopiesOfObjects = 8;

// Returns how many bytes a tensor takes in addition to its message if the last
// value of the tensor is repeated. The repeated values inside a variant repeat
// with the variant.
double RepeatedBytes(const tf::TensorProto& tensor) {
  const double repeats = NumRepeats(tensor);
  const bool has_objects =
      DataTypeSize(static_cast<DataType>(tensor.dtype())) == 0;
  double bytes = repeats * static_cast<double>(BytesOfRepeatedElement(tensor)) *
                 (has_objects ? kCopiesOfObjects : 1);
  const int num_variants = tensor.variant_val_size();
  for (int i = 0; i < num_variants; ++i) {
    const double copies = i == num_variants - 1 ? 1 + repeats : 1;
    for (const auto& inner : tensor.variant_val(i).tensors()) {
      bytes += copies * RepeatedBytes(inner);
    }
  }
  return bytes;
}

double RepeatedBytes(const tf::AttrValue& value) {
  double bytes = value.has_tensor() ? RepeatedBytes(value.tensor()) : 0;
  for (const auto& tensor : value.list().tensor()) {
    bytes += RepeatedBytes(tensor);
  }
  for (const auto& [name, inner] : value.func().attr()) {
    bytes += RepeatedBytes(inner);
  }
  for (const auto& function : value.list().func()) {
    for (const auto& [name, inner] : function.attr()) {
      bytes += RepeatedBytes(inner);
    }
  }
  return bytes;
}

double RepeatedBytes(const tf::NodeDef& node) {
  double bytes = 0;
  for (const auto& [name, value] : node.attr()) bytes += RepeatedBytes(value);
  return bytes;
}

double RepeatedBytes(const tf::FunctionDef& function) {
  double bytes = 0;
  for (const tf::NodeDef& node : function.node_def()) {
    bytes += RepeatedBytes(node);
  }
  for (const auto& [name, value] : function.attr()) {
    bytes += RepeatedBytes(value);
  }
  for (const auto& attr : function.signature().attr()) {
    bytes += RepeatedBytes(attr.default_value());
  }
  return bytes;
}

// Formats names and their nodes as "'Foo' (node 'a'), 'Bar' (node 'b' and 2
// more)".
std::string Listing(const std::map<std::string, std::vector<std::string>>& by) {
  return absl::StrJoin(by, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, " (node '", entry.second[0], "'");
    if (entry.second.size() > 1) {
      absl::StrAppend(out, " and ", entry.second.size() - 1, " more");
    }
    absl::StrAppend(out, ")");
  });
}

// Returns how many outputs the graph's unknown nodes get when a node with these
// inputs is added.
int64_t NumNewOutputs(absl::Span<const OutputTensor> inputs) {
  int64_t count = 0;
  for (const OutputTensor& input : inputs) {
    if (!IsOfUnknown(input)) continue;
    const int end = std::min(input.index, kMaxUnknownOutputs - 1) + 1;
    count += std::max(end - input.node->num_outputs(), 0);
  }
  return count;
}

// Returns an error above the limit of outputs. It is needed because a few bytes
// ("num" of an Unpack) may request a million outputs.
absl::Status CheckNumOutputs(int64_t count, absl::string_view node) {
  if (count <= kMaxOutputs) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("Node '", node, "': the graph's nodes have more than ",
                   kMaxOutputs, " outputs"));
}

}  // namespace

bool IsNeutralAttr(const tf::AttrValue& value) {
  switch (value.value_case()) {
    case tf::AttrValue::kS:
      return value.s().empty();
    case tf::AttrValue::kI:
      return value.i() == 0;
    case tf::AttrValue::kF:
      return value.f() == 0;
    case tf::AttrValue::kB:
      return !value.b();
    case tf::AttrValue::kType:
      return value.type() == tf::DT_INVALID;
    case tf::AttrValue::kList:
      return value.list().ByteSizeLong() == 0;
    case tf::AttrValue::kShape:
      return value.shape().unknown_rank();
    case tf::AttrValue::VALUE_NOT_SET:
      return true;
    default:
      return false;
  }
}

GraphImporter::GraphImporter(const tf::GraphDef& def,
                             const ImportOptions& options, Graph& graph)
    : def_(def), options_(options), graph_(graph) {}

absl::Status GraphImporter::Run() {
  // The lock covers the whole import, so that undoing a failed import cannot
  // remove nodes that other threads added.
  const GraphWriter::Turn turn(graph_.writer());
  if (!turn) return graph_.writer().error();
  RETURN_IF_ERROR(CheckVersions());
  RETURN_IF_ERROR(IndexNames());
  RETURN_IF_ERROR(CheckConstants());
  const std::shared_ptr<const FunctionLibrary> functions =
      graph_.shared_functions();
  const int num_nodes = graph_.num_nodes();
  const int producer = graph_.producer();
  SetProducer();  // needed to add the bodies of functions
  const absl::Status status = CatchExceptions([&] { return AddToGraph(); });
  if (!status.ok()) {
    graph_.TruncateTo(num_nodes);
    graph_.RestoreFunctions(functions);
    graph_.set_producer(producer);
    return status;
  }
  // The import has succeeded even if there is no memory for a warning, so the
  // exception is caught.
  CatchExceptions([&] {
    WarnOfIgnoredAttrs();
    return absl::OkStatus();
  }).IgnoreError();
  return absl::OkStatus();
}

void GraphImporter::SetProducer() {
  // A graph imported from several GraphDefs has the version of the oldest. A
  // GraphDef without a version counts as version 1, because 0 means a graph
  // that was built in this program.
  const int producer = std::max(def_.versions().producer(), 1);
  const bool is_first = graph_.num_nodes() == 0 || graph_.producer() == 0;
  graph_.set_producer(is_first ? producer
                               : std::min(graph_.producer(), producer));
}

void GraphImporter::WarnOfIgnoredAttrs() const {
  std::map<std::string, std::vector<std::string>> ignored;
  const auto collect = [&](const tf::NodeDef& node) {
    const OpDef* op = graph_.registry()->Find(node.op());
    if (op == nullptr) return;
    for (const auto& [name, value] : node.attr()) {
      if (absl::StartsWith(name, "_") || op->FindAttr(name) != nullptr ||
          IsNeutralAttr(value)) {
        continue;
      }
      ignored[absl::StrCat("'", name, "' of op '", node.op(), "'")].push_back(
          node.name());
    }
  };
  for (const tf::NodeDef& node : def_.node()) collect(node);
  for (const tf::FunctionDef& function : def_.library().function()) {
    for (const tf::NodeDef& node : function.node_def()) collect(node);
  }
  if (ignored.empty()) return;
  const std::unique_ptr<Logger> console =
      options_.logger == nullptr ? NewConsoleLogger("import") : nullptr;
  Logger& logger = console == nullptr ? *options_.logger : *console;
  logger.Warning(ShortenText(
      absl::StrCat("The program that wrote the GraphDef is newer than this "
                   "one. Ignored attrs: ",
                   Listing(ignored)),
      kMaxListing));
}

absl::Status GraphImporter::AddToGraph() {
  if (def_.has_library()) {
    RETURN_IF_ERROR(ImportFunctions(def_.library(), graph_));
  }
  RETURN_IF_ERROR(IndexInputMap());
  RETURN_IF_ERROR(ResolveInputs());
  RETURN_IF_ERROR(CheckInputMap());
  RETURN_IF_ERROR(Order());
  return AddAll();
}

absl::Status GraphImporter::CheckVersions() const {
  const auto& versions = def_.versions();
  const auto& bad = versions.bad_consumers();
  if (versions.producer() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("GraphDef producer version ", versions.producer(),
                     " below min producer 0; regenerate the graph"));
  }
  if (versions.min_consumer() > kGraphDefVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("GraphDef min consumer version ", versions.min_consumer(),
                     " above current version ", kGraphDefVersion));
  }
  if (std::find(bad.begin(), bad.end(), kGraphDefVersion) != bad.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "GraphDef disallows consumer version ", kGraphDefVersion,
        ", which is ours; regenerate the graph with another TensorFlow"));
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::IndexNames() {
  for (int i = 0; i < def_.node_size(); ++i) {
    const tf::NodeDef& node = def_.node(i);
    if (!index_of_.emplace(node.name(), i).second ||
        graph_.FindNode(Prefixed(node.name())) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("Node '", Prefixed(node.name()), "' is not unique"));
    }
  }
  return absl::OkStatus();
}

// Checks the memory for repeated values of constants. All tensors together get
// the same limit as each tensor (tensor_proto.h).
absl::Status GraphImporter::CheckConstants() const {
  double bytes = 0;
  const auto check = [&bytes](absl::string_view what, absl::string_view name) {
    if (bytes <= static_cast<double>(kMaxRepeatedTensorBytes)) {
      return absl::OkStatus();
    }
    return absl::ResourceExhaustedError(absl::StrCat(
        what, " '", name, "': the graph's constants of repeated values ",
        "take more than ", kMaxRepeatedTensorBytes,
        " bytes; use Fill instead"));
  };
  for (const tf::NodeDef& node : def_.node()) {
    bytes += RepeatedBytes(node);
    RETURN_IF_ERROR(check("Node", node.name()));
  }
  for (const tf::FunctionDef& function : def_.library().function()) {
    bytes += RepeatedBytes(function);
    RETURN_IF_ERROR(check("Function", function.signature().name()));
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::IndexInputMap() {
  for (const auto& [name, by] : options_.input_map) {
    absl::string_view node = name;
    int output = 0;
    const size_t colon = name.rfind(':');
    if (colon != std::string::npos) {
      node = node.substr(0, colon);
      if (!absl::SimpleAtoi(name.substr(colon + 1), &output) || output < 0) {
        node = "";
      }
    }
    if (node.empty() || by.node == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input_map: '", name,
          "' is not the name of a tensor, or its replacement is null"));
    }
    replacements_[{std::string(node), output}] = {by};
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::CheckInputMap() const {
  std::vector<std::string> unknown;
  for (const auto& [name, replacement] : replacements_) {
    if (replacement.is_used || index_of_.contains(name.first)) continue;
    unknown.push_back(absl::StrCat(name.first, ":", name.second));
  }
  if (unknown.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Attempted to map inputs that were not found in graph_def: ",
                   absl::StrJoin(unknown, ", ")));
}

absl::Status GraphImporter::ResolveInputs() {
  inputs_.resize(def_.node_size());
  num_used_.resize(def_.node_size());
  for (int i = 0; i < def_.node_size(); ++i) {
    const tf::NodeDef& node = def_.node(i);
    for (const std::string& text : node.input()) {
      ASSIGN_OR_RETURN(const Input input, Resolve(node, text));
      if (!input.is_control && !inputs_[i].empty() &&
          inputs_[i].back().is_control) {
        return Refuse(node,
                      "Control dependencies must come after regular "
                      "dependencies");
      }
      if (input.index >= 0 && !input.is_control) CountOutput(input);
      inputs_[i].push_back(input);
    }
  }
  return absl::OkStatus();
}

void GraphImporter::CountOutput(const Input& input) {
  int& used = num_used_[input.index];
  const int count = std::min(input.output, kMaxUnknownOutputs - 1) + 1;
  used = std::max(used, count);
}

void GraphImporter::MarkIfUnknown(int index, NodeSpec& spec) const {
  TakeUnknownMark(spec);  // a GraphDef must not contain the mark
  const OpDef* op = graph_.FindOp(spec.op);
  if (op == nullptr ||
      !CheckReferences(*op, spec.name, spec.attrs, spec.inputs).ok()) {
    MarkUnknown(num_used_[index], spec);
  } else if (!UndefinedFunctions(graph_.functions(), spec.attrs).empty()) {
    MarkNotRunnable(spec);
  }
}

absl::StatusOr<GraphImporter::Input> GraphImporter::Resolve(
    const tf::NodeDef& consumer, absl::string_view text) {
  Input input;
  absl::string_view name = text;
  input.is_control = absl::ConsumePrefix(&name, "^");
  const size_t colon = name.rfind(':');
  if (colon != absl::string_view::npos) {
    const absl::string_view number = name.substr(colon + 1);
    if (input.is_control || !absl::SimpleAtoi(number, &input.output) ||
        input.output < 0) {
      return Refuse(consumer, absl::StrCat("Malformed input '", text, "'"));
    }
    name = name.substr(0, colon);
  }
  if (!replacements_.empty() && !input.is_control) {
    const auto mapped = replacements_.find({std::string(name), input.output});
    if (mapped != replacements_.end()) {
      mapped->second.is_used = true;
      input.existing = mapped->second.by.node;
      input.output = mapped->second.by.index;
      return input;
    }
  }
  const auto it = index_of_.find(name);
  if (it != index_of_.end()) {
    input.index = it->second;
    input.is_back_edge = !input.is_control && IsMerge(consumer.op()) &&
                         IsNextIteration(def_.node(it->second).op());
    return input;
  }
  input.existing = graph_.FindNode(name);
  if (input.existing != nullptr) return input;
  return Refuse(consumer, absl::StrCat("Unknown input node '", text, "'"));
}

// Orders the nodes with producers first. Among nodes that are ready, the order
// of the GraphDef is kept, so a sorted graph keeps its order.
absl::Status GraphImporter::Order() {
  const int num_nodes = def_.node_size();
  ProducersFirst nodes(num_nodes);
  for (int i = 0; i < num_nodes; ++i) {
    for (const Input& input : inputs_[i]) {
      if (input.index < 0 || input.is_back_edge) continue;
      nodes.AddEdge(input.index, i);
    }
  }
  order_ = nodes.Order();
  if (static_cast<int>(order_.size()) == num_nodes) return absl::OkStatus();
  return CycleError(nodes.waiting());
}

// Returns an error that names the nodes of a cycle. Follows inputs among the
// waiting nodes until a node repeats.
absl::Status GraphImporter::CycleError(const std::vector<int>& waiting) const {
  const auto first = std::find_if(waiting.begin(), waiting.end(),
                                  [](int count) { return count > 0; });
  std::vector<int> path = {static_cast<int>(first - waiting.begin())};
  std::vector<bool> seen(waiting.size());
  while (!seen[path.back()]) {
    seen[path.back()] = true;
    for (const Input& input : inputs_[path.back()]) {
      if (input.index < 0 || input.is_back_edge || waiting[input.index] == 0) {
        continue;
      }
      path.push_back(input.index);
      break;
    }
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), path.back()));
  std::reverse(path.begin(), path.end());
  constexpr size_t kMaxNamed = 20;
  if (path.size() > kMaxNamed) path.resize(kMaxNamed);
  return absl::InvalidArgumentError(absl::StrCat(
      "The GraphDef has a cycle that is not a loop: ",
      absl::StrJoin(path, " -> ",
                    [this](std::string* out, int node) {
                      absl::StrAppend(out, "'", def_.node(node).name(), "'");
                    }),
      "; only an edge from NextIteration to Merge may lead back"));
}

absl::Status GraphImporter::AddAll() {
  added_.resize(def_.node_size());
  if (options_.adder != nullptr) {
    for (const tf::NodeDef& node : def_.node()) {
      options_.adder->Expect(Prefixed(node.name()));
    }
  }
  for (const int index : order_) RETURN_IF_ERROR(AddOne(index));
  for (const BackEdge& edge : back_edges_) {
    RETURN_IF_ERROR(
        graph_.SetBackEdge(added_[edge.consumer], edge.input,
                           OutputTensor{NodeOf(edge.from), edge.from.output}));
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::AddOne(int index) {
  const tf::NodeDef& def = def_.node(index);
  if (def.op().empty()) return Refuse(def, "the node has no op");
  NodeSpec spec;
  spec.name = Prefixed(def.name());
  spec.op = def.op();
  spec.device = def.device();
  ASSIGN_OR_RETURN(spec.attrs, Attrs(def));
  for (const Input& input : inputs_[index]) {
    if (input.is_control) {
      spec.control_inputs.push_back(NodeOf(input));
    } else if (input.is_back_edge) {
      back_edges_.push_back(
          {index, static_cast<int>(spec.inputs.size()), input});
      spec.inputs.push_back(OutputTensor());
    } else {
      spec.inputs.push_back(OutputTensor{NodeOf(input), input.output});
    }
  }
  RETURN_IF_ERROR(ApplyVersionRules(def_.versions().producer(), spec));
  MarkIfUnknown(index, spec);
  num_outputs_ += NumNewOutputs(spec.inputs);
  RETURN_IF_ERROR(CheckNumOutputs(num_outputs_, spec.name));
  if (options_.adder != nullptr) {
    ASSIGN_OR_RETURN(added_[index], options_.adder->Add(std::move(spec)));
  } else {
    ASSIGN_OR_RETURN(added_[index], graph_.AddNode(std::move(spec)));
  }
  num_outputs_ += added_[index]->num_outputs();
  return CheckNumOutputs(num_outputs_, Prefixed(def.name()));
}

absl::StatusOr<AttrMap> GraphImporter::Attrs(const tf::NodeDef& def) const {
  const OpDef* op = graph_.FindOp(def.op());
  AttrMap attrs;
  for (const auto& [name, proto] : def.attr()) {
    const AttrDef* attr = op == nullptr ? nullptr : op->FindAttr(name);
    if (op != nullptr && attr == nullptr && !absl::StartsWith(name, "_")) {
      continue;
    }
    absl::StatusOr<AttrValue> value =
        AttrValueFromProto(proto, attr == nullptr ? "" : attr->type);
    if (!value.ok()) {
      return Annotate(value.status(), absl::StrCat("Node '", def.name(),
                                                   "': attr '", name, "'"));
    }
    if (value->IsSet()) attrs[name] = *std::move(value);
  }
  if (!options_.prefix.empty()) PrefixColocation(&attrs);
  return attrs;
}

// Adds the import's prefix to names of imported nodes in attr _class, so that
// nodes stay colocated with these nodes.
void GraphImporter::PrefixColocation(AttrMap* attrs) const {
  const auto it = attrs->find("_class");
  if (it == attrs->end()) return;
  const auto* classes = it->second.Get<std::vector<std::string>>();
  if (classes == nullptr) return;
  std::vector<std::string> renamed = *classes;
  for (std::string& text : renamed) {
    absl::string_view name = text;
    if (absl::ConsumePrefix(&name, kColocation) && index_of_.contains(name)) {
      text = absl::StrCat(kColocation, Prefixed(name));
    }
  }
  it->second = std::move(renamed);
}

const Node* GraphImporter::NodeOf(const Input& input) const {
  return input.index < 0 ? input.existing : added_[input.index];
}

std::string GraphImporter::Prefixed(absl::string_view name) const {
  if (options_.prefix.empty()) return std::string(name);
  return absl::StrCat(options_.prefix, "/", name);
}

}  // namespace weft
