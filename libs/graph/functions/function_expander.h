// FunctionExpander adds nodes to a graph, and replaces each node that calls
// functions by the functions' contents: the body of a call, Switch and Merge
// for an If or Case, a frame for a While. So placement, partitioning and
// execution do not know functions, and the parts of a call run in parallel and
// on any device.
//
// It corresponds to TensorFlow's lowering of functional ops: nodes of a body
// are named "call/inner"; a node of the call's name stays, with its outputs, so
// that they can be fed, fetched and waited for as before. The side effects of a
// call happen whichever of its results are needed, before that node ends.
//
// A function that is called again inside itself is not expanded: there a
// PartitionedCall stays, which runs it at run time.
//
// Not synchronized: it is used by the writer of the graph.
#ifndef WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_EXPANDER_H_
#define WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_EXPANDER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/base/hash_tables.h"
#include "libs/graph/function_library.h"
#include "libs/graph/functions/function_body.h"
#include "libs/graph/graph.h"
#include "libs/graph/node_adder.h"

namespace weft {

// Returns the function that SymbolicGradient of `function` calls: it takes its
// arguments and the gradients of its results and returns those of its
// arguments. `name` is its name; `graph` has the functions that it may call.
using GradientFunctionFn = std::function<absl::StatusOr<FunctionPtr>(
    const std::string& name, const FunctionDef& function, const AttrMap& attrs,
    const Graph& graph)>;

// An attr of the node that replaces a call: the call's op. Such a node only
// forwards its inputs.
inline constexpr absl::string_view kCallAttr = "_call";

struct ExpanderOptions {
  // The limit of all calls of one import, in nodes.
  int max_nodes = 1 << 18;
  // The limit of the constants in them, each counted as often as its function
  // is called: in memory they are shared, in messages to tasks they are not.
  int64_t max_constant_bytes = int64_t{2} << 30;
  // The limit of everything else in them: names, inputs, outputs, other attrs.
  int64_t max_bytes = int64_t{1} << 30;
  // The maximum nesting of calls; deeper calls are run at run time.
  int max_depth = 64;
  // Null: SymbolicGradient is UNIMPLEMENTED except for functions with a
  // gradient in the library.
  GradientFunctionFn gradient;
};

class FunctionExpander : public NodeAdder {
 public:
  // `graph` must outlive it.
  FunctionExpander(Graph& graph, ExpanderOptions options)
      : graph_(graph), options_(std::move(options)) {}

  // The names of nodes to come: names of bodies avoid them.
  void Expect(absl::string_view name) override {
    expected_.insert(std::string(name));
  }

  // Adds the expansion of `spec`, and returns the node with the name of the
  // spec. Errors name the functions and nodes on the path, outermost first:
  // INVALID_ARGUMENT if the call and its functions do not match; NOT_FOUND for
  // a missing function or op; RESOURCE_EXHAUSTED beyond the limits. Nodes added
  // before an error stay; the caller must truncate the graph.
  absl::StatusOr<const Node*> Add(NodeSpec spec) override;

  // Adds the body of a function alone, under names "prefix/inner". Characters
  // that are invalid in node names become "_" in the prefix.
  absl::StatusOr<FunctionBody> AddFunction(const std::string& prefix,
                                           const NameAttrList& function,
                                           std::vector<OutputTensor> args);

  // The size of the nodes of functions that this import has added, except
  // constants, which are shared.
  int64_t num_bytes() const { return num_bytes_; }

  // Must be called after Graph::TruncateTo, or when an import has ended.
  void EndImport();

 private:
  // A functional node whose inputs exist and whose control inputs are applied.
  struct Site {
    std::string name;
    std::string device;
    AttrMap attrs;                   // complete
    std::vector<OutputTensor> args;  // all inputs
    DataTypeVector output_types;     // as declared by the node
    // The control inputs of a node without inputs; empty: none.
    std::vector<const Node*> gate;
    // The control inputs of nodes with side effects; empty: none.
    std::vector<const Node*> effects_gate;
    bool is_in_control_flow = false;
    bool has_effects = false;
  };
  // Determines when the contents of a function begin.
  struct Begin {
    std::vector<const Node*> gate;          // of nodes without inputs
    std::vector<const Node*> effects_gate;  // of nodes with effects
    // Args that exist whether it begins or not, so that a node with only such
    // inputs also gets `gate` as control inputs.
    FlatHashSet<OutputTensor> always_there = {};
  };
  // A function being expanded, and its position.
  struct Frame {
    std::string function;
    std::string call;
  };

  // Returns RESOURCE_EXHAUSTED if the import exceeds its limits, with this
  // node, or with that many bytes.
  absl::Status Count(const NodeSpec& spec);
  absl::Status CountBytes(int64_t bytes);
  // Adds a node inside a function.
  absl::StatusOr<const Node*> AddInner(NodeSpec spec);
  absl::StatusOr<const Node*> AddAny(NodeSpec spec);
  absl::StatusOr<Site> EnterSite(NodeSpec spec);
  // Makes the arguments, and the gate, wait for `waits`.
  absl::Status GateSite(Site& site, std::vector<const Node*> waits);
  // Returns INVALID_ARGUMENT unless the results match the node's declared
  // outputs.
  static absl::Status CheckResults(const Site& site, const FunctionBody& body);
  absl::StatusOr<const Node*> LeaveSite(const std::string& op, const Site& site,
                                        FunctionBody body);

  absl::StatusOr<FunctionBody> ExpandCall(const std::string& op,
                                          const Site& site);
  absl::StatusOr<FunctionBody> ExpandGradient(const Site& site);
  absl::StatusOr<FunctionBody> ExpandIf(const Site& site);
  absl::StatusOr<FunctionBody> ExpandCase(const Site& site);
  absl::StatusOr<FunctionBody> ExpandWhile(const Site& site);

  // The body of a function, or a node that calls it at run time.
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
  // Visits the functions that it may call, until one has a side effect. False:
  // `reached` are all of them.
  bool ReachesEffects(const std::string& function,
                      std::vector<std::string>& reached) const;
  // Whether the node would run even if its surrounding function does not begin.
  bool RunsRegardless(const NodeSpec& spec, const Begin& begin) const;
  // When a branch or a loop begins.
  static Begin BeginAt(const Node* node, const Site& site);
  bool IsBeingExpanded(absl::string_view function) const;
  std::string Chain() const;

  // The arguments and results of a branch.
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
  // A node "SITE/name" for the expansion itself.
  absl::StatusOr<const Node*> Make(const Site& site, const std::string& name,
                                   Made made);
  absl::StatusOr<OutputTensor> MakePredicate(const Site& site,
                                             const std::string& name,
                                             const OutputTensor& value);

  std::string UniqueName(const std::string& name) const;
  // Whether a node depends on a branch or a loop, as far as earlier nodes show;
  // and if so whether only on loop invariants.
  enum class Flow : uint8_t { kNone, kInvariant, kIn };
  Flow FlowOf(const Node* node);
  void SetInControlFlow(const Node* node, bool is_in);
  static OutputTensor Value(const Node* node) { return {node, 0}; }

  Graph& graph_;
  const ExpanderOptions options_;
  FlatHashSet<std::string> expected_;
  // Resources bypass the node of the call: they come from their source.
  struct Redirect {
    OutputTensor to;
    int from_id;
  };
  FlatHashMap<OutputTensor, Redirect> redirects_;
  // By node id, of the first nodes.
  std::vector<Flow> flow_;
  std::vector<Frame> frames_;
  // By function, of those that were queried.
  FlatHashMap<std::string, bool> has_effects_;
  int num_expanded_ = 0;  // in this import
  int64_t constant_bytes_ = 0;
  int64_t num_bytes_ = 0;  // of all else
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_EXPANDER_H_
