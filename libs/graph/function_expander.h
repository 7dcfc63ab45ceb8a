// FunctionExpander: adds nodes to a graph, and in the place of each that calls
// functions what the functions do: the body of a call, Switch and Merge for an
// If or Case, a frame for a While. What is placed, partitioned and run then
// knows nothing of functions, so the parts of a call run in parallel and on any
// device.
//
// As TensorFlow's lowering of functional ops: nodes of a body are named
// "call/inner"; a node of the call's name stays, with its outputs, so that they
// are fed, fetched and waited for as before. What a call does to state is done
// whichever of its results are wanted, before that node ends.
//
// A function that is called again inside itself is not expanded: there a
// PartitionedCall stays, which runs it when it comes to it.
//
// Not synchronised: it is used by who writes the graph.
#ifndef WEFT_LIBS_GRAPH_FUNCTION_EXPANDER_H_
#define WEFT_LIBS_GRAPH_FUNCTION_EXPANDER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/base/hash_tables.h"
#include "libs/graph/function_body.h"
#include "libs/graph/function_library.h"
#include "libs/graph/graph.h"
#include "libs/graph/node_adder.h"

namespace weft {

// The function that SymbolicGradient of `function` calls: it takes its
// arguments and the gradients of its results and gives those of its arguments.
// `name` is what to call it; `graph` has the functions that it may call.
using GradientFunctionFn = std::function<absl::StatusOr<FunctionPtr>(
    const std::string& name, const FunctionDef& function, const AttrMap& attrs,
    const Graph& graph)>;

// An attr of the node that stands for a call: the call's op. Such a node only
// hands its inputs on.
inline constexpr absl::string_view kCallAttr = "_call";

struct ExpanderOptions {
  // What all calls of one import may come to, in nodes.
  int max_nodes = 1 << 18;
  // What the constants in them may take, each as often as its function is
  // called: in memory they are shared, in messages to tasks they are not.
  int64_t max_constant_bytes = int64_t{2} << 30;
  // What all else of them may take: names, inputs, outputs, other attrs.
  int64_t max_bytes = int64_t{1} << 30;
  // How many calls may lie inside one another; those further in are run where
  // they are come to.
  int max_depth = 64;
  // Null: SymbolicGradient is UNIMPLEMENTED but for functions that the library
  // gives a gradient.
  GradientFunctionFn gradient;
};

class FunctionExpander : public NodeAdder {
 public:
  // `graph` outlives it.
  FunctionExpander(Graph& graph, ExpanderOptions options)
      : graph_(graph), options_(std::move(options)) {}

  // The names of nodes to come: those of bodies make way for them.
  void Expect(absl::string_view name) override {
    expected_.insert(std::string(name));
  }

  // Adds what `spec` comes to, and gives the node of its name. Errors name the
  // functions and nodes on the way, outermost first: INVALID_ARGUMENT where the
  // call and its functions do not fit; NOT_FOUND for a function or an op that
  // is not there; RESOURCE_EXHAUSTED beyond the bounds. What was added by then
  // stays, for the caller to truncate.
  absl::StatusOr<const Node*> Add(NodeSpec spec) override;

  // Adds the body of a function, under names "prefix/inner", on its own. What
  // no node's name may have in it is "_" in the prefix.
  absl::StatusOr<FunctionBody> AddFunction(const std::string& prefix,
                                           const NameAttrList& function,
                                           std::vector<OutputTensor> args);

  // What the nodes of functions take that this import has added, but for
  // constants, which their functions share.
  int64_t num_bytes() const { return num_bytes_; }

  // After Graph::TruncateTo, or when an import has ended.
  void EndImport();

 private:
  // A functional node whose inputs are there and have been waited for.
  struct Site {
    std::string name;
    std::string device;
    AttrMap attrs;                   // complete
    std::vector<OutputTensor> args;  // all inputs
    DataTypeVector output_types;     // what the node promises
    // What a node without inputs runs after; empty: nothing.
    std::vector<const Node*> gate;
    // What nodes with effects run after; empty: nothing.
    std::vector<const Node*> effects_gate;
    bool is_in_control_flow = false;
    bool has_effects = false;
  };
  // When what a function does begins.
  struct Begin {
    std::vector<const Node*> gate;          // of nodes without inputs
    std::vector<const Node*> effects_gate;  // of nodes with effects
    // Args that are there whether it begins or not, so that a node which takes
    // no others runs after `gate` as well.
    FlatHashSet<OutputTensor> always_there = {};
  };
  // A function being expanded, and where.
  struct Frame {
    std::string function;
    std::string call;
  };

  // RESOURCE_EXHAUSTED when the import comes to more than it may, with this
  // node, or with so many bytes.
  absl::Status Count(const NodeSpec& spec);
  absl::Status CountBytes(int64_t bytes);
  // Of a node inside a function.
  absl::StatusOr<const Node*> AddInner(NodeSpec spec);
  absl::StatusOr<const Node*> AddAny(NodeSpec spec);
  absl::StatusOr<Site> EnterSite(NodeSpec spec);
  // Makes the arguments wait for `waits`, and the gate.
  absl::Status GateSite(Site& site, std::vector<const Node*> waits);
  // INVALID_ARGUMENT unless the results are what the node promises.
  static absl::Status CheckResults(const Site& site, const FunctionBody& body);
  absl::StatusOr<const Node*> LeaveSite(const std::string& op, const Site& site,
                                        FunctionBody body);

  absl::StatusOr<FunctionBody> ExpandCall(const std::string& op,
                                          const Site& site);
  absl::StatusOr<FunctionBody> ExpandGradient(const Site& site);
  absl::StatusOr<FunctionBody> ExpandIf(const Site& site);
  absl::StatusOr<FunctionBody> ExpandCase(const Site& site);
  absl::StatusOr<FunctionBody> ExpandWhile(const Site& site);

  // The body of a function, or a node that calls it when it is run.
  absl::StatusOr<FunctionBody> Call(const std::string& name,
                                    const NameAttrList& function,
                                    std::vector<OutputTensor> args,
                                    const Begin& begin, const Site& site);
  absl::StatusOr<FunctionBody> CallAtRunTime(const std::string& name,
                                             const FunctionDef& function,
                                             const AttrMap& attrs,
                                             std::vector<OutputTensor> args,
                                             const Begin& begin,
                                             const Site& site);
  // Whether a node of that op and attrs reads or changes state.
  bool HasEffects(absl::string_view op, const AttrMap& attrs);
  bool FunctionHasEffects(const std::string& function);
  // Walks over what the function may call, until something has an effect.
  // False: `reached` are all of them.
  bool ReachesEffects(const std::string& function,
                      std::vector<std::string>& reached) const;
  // Whether the node would run though what it is in does not begin.
  bool RunsRegardless(const NodeSpec& spec, const Begin& begin) const;
  // When what a branch or a loop does begins.
  static Begin BeginAt(const Node* node, const Site& site);
  bool IsBeingExpanded(absl::string_view function) const;
  std::string Chain() const;

  // What a branch is given, and what it gives.
  struct Branch {
    std::string name;
    NameAttrList function;
    const Node* pivot = nullptr;
    std::vector<OutputTensor> args;
    FunctionBody body;
  };
  absl::StatusOr<FunctionBody> MergeBranches(const Site& site,
                                             std::vector<Branch>& branches);
  struct LoopVariable {
    OutputTensor initial;
    OutputTensor value;           // in the frame
    const Node* merge = nullptr;  // null: the same in all iterations
    OutputTensor in_body;
    OutputTensor exit;
  };
  absl::StatusOr<std::vector<LoopVariable>> EnterLoop(
      const Site& site, const std::vector<bool>& is_invariant);
  // `pivot` runs where the body does.
  absl::Status CloseLoop(const Site& site, std::vector<LoopVariable>& loop,
                         const FunctionBody& turn, const Node* pivot);

  struct Made {
    std::string op;
    std::vector<OutputTensor> inputs;
    AttrMap attrs = {};
    std::vector<const Node*> controls = {};
  };
  // A node "SITE/name" for the expansion's own use.
  absl::StatusOr<const Node*> Make(const Site& site, const std::string& name,
                                   Made made);
  absl::StatusOr<OutputTensor> MakePredicate(const Site& site,
                                             const std::string& name,
                                             const OutputTensor& value);

  std::string UniqueName(const std::string& name) const;
  // Whether a node runs by a branch or in a loop, so far as nodes before it
  // tell; and if so whether only by what a loop carries along unchanged.
  enum class Flow : uint8_t { kNone, kInvariant, kIn };
  Flow FlowOf(const Node* node);
  void SetInControlFlow(const Node* node, bool is_in);
  static OutputTensor Value(const Node* node) { return {node, 0}; }

  Graph& graph_;
  const ExpanderOptions options_;
  FlatHashSet<std::string> expected_;
  // Resources do not go through the node of the call, but from where they are.
  struct Redirect {
    OutputTensor to;
    int from_id;
  };
  FlatHashMap<OutputTensor, Redirect> redirects_;
  // By node id, of the first nodes.
  std::vector<Flow> flow_;
  std::vector<Frame> frames_;
  // By function, of those that were asked for.
  FlatHashMap<std::string, bool> has_effects_;
  int num_expanded_ = 0;  // in this import
  int64_t constant_bytes_ = 0;
  int64_t num_bytes_ = 0;  // of all else
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTION_EXPANDER_H_
