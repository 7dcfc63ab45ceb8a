#include "libs/passes/prune.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/graph/frame_analysis.h"
#include "libs/graph/functions/function_expander.h"
#include "libs/graph/graph_copy.h"
#include "libs/graph/unknown_op.h"

namespace weft {
namespace {

bool IsPlaceholder(const Node& node) {
  return node.type() == "Placeholder" || node.type() == "PlaceholderV2";
}

// A node that stands for a call and waits only for its results: consumers of
// one result need not wait for the others.
bool HandsOn(const Node& node) {
  return (node.type() == "Identity" || node.type() == "IdentityN") &&
         node.attr<std::string>(kCallAttr) != nullptr &&
         node.control_inputs().empty() &&
         node.num_inputs() == node.num_outputs() &&
         absl::c_none_of(node.inputs(), [](const OutputTensor& input) {
           return input.node == nullptr ||
                  IsRefType(input.node->output_type(input.index));
         });
}

// The set of nodes that run: found backwards from the ends, stopping at feeds.
class Needed {
 public:
  Needed(const Graph& graph, const CallableEnds& ends)
      : fed_(ends.feeds.begin(), ends.feeds.end()),
        needed_(graph.num_nodes(), false) {
    for (const OutputTensor& fetch : ends.fetches) Want(fetch);
    for (const Node* target : ends.targets) WantControl(target);
    while (!stack_.empty()) {
      const Node* node = stack_.back();
      stack_.pop_back();
      for (const OutputTensor& input : node->inputs()) Want(input);
      for (const Node* control : node->control_inputs()) WantControl(control);
    }
  }

  bool operator[](const Node* node) const { return needed_[node->id()]; }

  bool IsFed(const OutputTensor& output) const { return fed_.contains(output); }

  // A fed placeholder never runs, not even for its control edges.
  bool IsFedPlaceholder(const Node* node) const {
    return IsPlaceholder(*node) && fed_.contains(OutputTensor{node, 0});
  }

 private:
  void Want(OutputTensor output) {
    while (!fed_.contains(output) && HandsOn(*output.node)) {
      output = output.node->input(output.index);
    }
    if (!fed_.contains(output)) Add(output.node);
  }
  void WantControl(const Node* node) {
    if (!IsFedPlaceholder(node)) Add(node);
  }
  void Add(const Node* node) {
    if (needed_[node->id()]) return;
    needed_[node->id()] = true;
    stack_.push_back(node);
  }

  const FlatHashSet<OutputTensor> fed_;
  std::vector<bool> needed_;
  std::vector<const Node*> stack_;
};

// Returns the functions that the nodes may call.
std::shared_ptr<const FunctionLibrary> FunctionsOf(const Graph& graph,
                                                   const Needed& needed) {
  if (graph.functions().empty()) return graph.shared_functions();
  std::vector<std::string> names;
  for (const Node* node : graph.nodes()) {
    if (!needed[node]) continue;
    names.push_back(node->type());
    for (const auto& [name, value] : node->attrs()) {
      AddFunctionNames(value, names);
    }
  }
  return graph.functions().ReachableFrom(names);
}

// The node of a feed or fetch.
struct End {
  absl::string_view op;
  int index = 0;
  OutputTensor of;
  DataType type = DT_INVALID;
};

absl::StatusOr<Node*> AddEnd(Graph& graph, const End& end, AttrMap attrs,
                             const std::string& device,
                             std::vector<OutputTensor> inputs = {},
                             std::vector<const Node*> controls = {}) {
  attrs["T"] = end.type;
  ASSIGN_OR_RETURN(
      Node * node,
      graph.AddNode({.name = absl::StrCat(end.op, "_", end.of.node->name(), "_",
                                          end.of.index, "_", end.index),
                     .op = std::string(end.op),
                     .inputs = std::move(inputs),
                     .control_inputs = std::move(controls),
                     .attrs = std::move(attrs)}));
  graph.set_assigned_device(node, device);
  return node;
}

// Returns the attrs of an end that is an edge to the client of a partial run.
AttrMap AttrsOfEdge(uint64_t edge, const OutputTensor& of,
                    const std::string& device) {
  return {{"edge", static_cast<int64_t>(edge)},
          {"tensor_name", absl::StrCat(of.node->name(), ":", of.index)},
          {"send_device", device},
          {"recv_device", device}};
}

// Consumers of a forwarded value take it from its source instead.
void LeadAround(const Node& node, const Needed& needed, GraphCopier& copier) {
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (needed.IsFed({&node, i})) continue;
    const OutputTensor from = copier.Lookup(node.input(i));
    if (from.node != nullptr) copier.Replace({&node, i}, from);
  }
}

DataType ValueType(const OutputTensor& output) {
  return RemoveRefType(output.node->output_type(output.index));
}

absl::Status AddFeeds(const CallableEnds& ends, const Needed& needed,
                      Graph& pruned, GraphCopier& copier) {
  const std::string& client = ends.client_device;
  for (int i = 0; i < static_cast<int>(ends.feeds.size()); ++i) {
    const OutputTensor& feed = ends.feeds[i];
    Node* arg = nullptr;
    if (client.empty()) {
      ASSIGN_OR_RETURN(arg,
                       AddEnd(pruned, {"_Arg", i, feed, ValueType(feed)},
                              {{"index", i}}, feed.node->assigned_device()));
    } else {
      ASSIGN_OR_RETURN(arg,
                       AddEnd(pruned, {"_Recv", i, feed, ValueType(feed)},
                              AttrsOfEdge(FeedEdge(i), feed, client), client));
    }
    copier.Replace(feed, {arg, 0});
    if (needed.IsFedPlaceholder(feed.node)) {
      copier.ReplaceControl(feed.node, arg);
    }
  }
  return absl::OkStatus();
}

// Returns whether it, or a consumer of its outputs, may not run in a step.
bool MayNotRun(const Node& node) {
  static constexpr absl::string_view kOps[] = {
      "Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter"};
  return absl::c_linear_search(kOps, node.type());
}

// Returns the nodes that take the reference `ref`, or a forwarded one: those
// that may change the variable behind it.
std::vector<const Node*> TakersOfReference(const Graph& graph,
                                           const OutputTensor& ref) {
  std::vector<const Node*> takers;
  FlatHashSet<const Node*> passing = {ref.node};
  for (const Node* node : graph.nodes()) {
    if (MayNotRun(*node)) return {};
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (IsRefType(node->input_type(i)) &&
          passing.contains(node->input(i).node)) {
        takers.push_back(node);
        passing.insert(node);
        break;
      }
    }
  }
  return takers;
}

absl::Status AddFetches(const CallableEnds& ends, Graph& pruned,
                        const GraphCopier& copier) {
  const std::string& client = ends.client_device;
  for (int i = 0; i < static_cast<int>(ends.fetches.size()); ++i) {
    const OutputTensor& fetch = ends.fetches[i];
    const OutputTensor from = copier.Lookup(fetch);
    const bool is_edge = !client.empty();
    // A fetched reference becomes a value after all nodes that may change the
    // variable in this step have run. TensorFlow's fetch aliases the variable's
    // memory, and so sees the same. In a partial run this might never happen:
    // they may wait for a feed that comes later, or never.
    std::vector<const Node*> controls;
    if (!is_edge && IsRefType(from.node->output_type(from.index))) {
      controls = TakersOfReference(pruned, from);
    }
    RETURN_IF_ERROR(
        AddEnd(pruned,
               {is_edge ? "_Send" : "_Retval", i, fetch, ValueType(fetch)},
               is_edge ? AttrsOfEdge(FetchEdge(i), fetch, client)
                       : AttrMap{{"index", i}},
               is_edge ? client : fetch.node->assigned_device(), {from},
               std::move(controls))
            .status());
  }
  return absl::OkStatus();
}

bool IsFetch(const Node& node) {
  return node.type() == "_Retval" || node.type() == "_Send";
}

int64_t FetchOf(const Node& node) {
  if (node.type() == "_Retval") return *node.attr<int64_t>("index");
  return (*node.attr<int64_t>("edge") - static_cast<int64_t>(FetchEdge(0))) / 2;
}

absl::Status CheckAllKnown(const Graph& graph, const Needed& needed) {
  std::vector<const Node*> unknown;
  for (const Node* node : graph.nodes()) {
    if (needed[node] && IsUnknown(*node)) unknown.push_back(node);
  }
  return RefuseUnknown(graph, unknown);
}

// In a loop a fetch would have a value in each iteration. Malformed loops are
// refused at compile time.
absl::Status CheckFetchesAreOutsideLoops(const CallableEnds& ends,
                                         const Graph& pruned) {
  if (absl::c_none_of(pruned.nodes(),
                      [](const Node* node) { return IsEnter(*node); })) {
    return absl::OkStatus();
  }
  std::vector<bool> is_everywhere;
  for (const Node* node : pruned.nodes()) {
    is_everywhere.push_back(node->type() == "Const" &&
                            node->control_inputs().empty());
  }
  const auto analysis = AnalyzeFrames(pruned, is_everywhere);
  if (!analysis.ok()) return absl::OkStatus();
  for (const Node* node : pruned.nodes()) {
    const int frame = analysis->runs_in[node->id()];
    if (frame == 0 || !IsFetch(*node)) continue;
    const OutputTensor& fetch = ends.fetches[FetchOf(*node)];
    return absl::InvalidArgumentError(absl::StrCat(
        "Tensor ", fetch.node->name(), ":", fetch.index,
        " can't be fetched: it is inside the loop '",
        analysis->frames[frame].name,
        "' and has a value in each iteration. Fetch a value that leaves the "
        "loop (an Exit), or gather the values in a TensorArray."));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Graph>> Prune(const Graph& graph,
                                             const CallableEnds& ends) {
  const Needed needed(graph, ends);
  RETURN_IF_ERROR(CheckAllKnown(graph, needed));
  auto pruned =
      std::make_unique<Graph>(graph.registry(), FunctionsOf(graph, needed));
  pruned->set_producer(graph.producer());
  GraphCopier copier(*pruned);
  RETURN_IF_ERROR(AddFeeds(ends, needed, *pruned, copier));
  for (const Node* node : graph.nodes()) {
    if (needed[node]) {
      RETURN_IF_ERROR(copier.Copy(*node).status());
    } else if (HandsOn(*node)) {
      LeadAround(*node, needed, copier);
    }
  }
  RETURN_IF_ERROR(copier.Finish());
  RETURN_IF_ERROR(AddFetches(ends, *pruned, copier));
  RETURN_IF_ERROR(CheckFetchesAreOutsideLoops(ends, *pruned));
  return pruned;
}

}  // namespace weft
