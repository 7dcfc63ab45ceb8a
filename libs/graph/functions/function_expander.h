// FunctionExpander adds nodes to a graph, and replaces each node that calls
// functions by the functions' contents: the body of a call, Switch and Merge
// for an If or Case, a frame for a While. As a result, placement, partitioning
// and execution do not have to handle functions, and the parts of a call run in
// parallel and on any device.
//
// It corresponds to TensorFlow's lowering of functional ops: nodes of a body
// are named "call/inner"; a node with the call's name stays. It has the outputs
// of the call, so that programs can still feed, fetch and wait for the call.
// The side effects of a call happen before that node ends, whichever results
// are needed.
//
// A recursive call is not expanded. A PartitionedCall stays in its place and
// runs the function at run time.
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

// Returns the function that a SymbolicGradient of `function` calls. The
// returned function takes the arguments of `function` and the gradients of its
// results, and returns the gradients of the arguments. `name` is the name of
// the returned function. `graph` has the functions that it may call.
using GradientFunctionFn = std::function<absl::StatusOr<FunctionPtr>(
    const std::string& name, const FunctionDef& function, const AttrMap& attrs,
    const Graph& graph)>;

// The attr that marks a node which replaced an expanded call, with the op of
// the call as its value. Such a node only forwards its inputs.
inline constexpr absl::string_view kCallAttr = "_call";

struct ExpanderOptions {
  // The maximum number of nodes that all calls of one import may add.
  int max_nodes = 1 << 18;
  // The maximum size of the constants in the added nodes. A constant counts
  // once for each call of its function: calls share it in memory, but not in
  // messages to tasks.
  int64_t max_constant_bytes = int64_t{2} << 30;
  // The maximum size of everything else in the added nodes: names, inputs,
  // outputs, other attrs.
  int64_t max_bytes = int64_t{1} << 30;
  // The maximum nesting of calls; deeper calls are run at run time.
  int max_depth = 64;
  // Makes the gradient functions for SymbolicGradient. If null, a
  // SymbolicGradient is UNIMPLEMENTED unless the library has a gradient of its
  // function.
  GradientFunctionFn gradient;
};

class FunctionExpander : public NodeAdder {
 public:
  // `graph` must outlive this object.
  FunctionExpander(Graph& graph, ExpanderOptions options)
      : graph_(graph), options_(std::move(options)) {}

  // Announces the name of a node that will be added later, so that no node of a
  // function's body takes this name.
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

  // Returns the size of the nodes that this import added for functions, without
  // their constants, which are shared.
  int64_t num_bytes() const { return num_bytes_; }

  // Must be called after Graph::TruncateTo, or when an import has ended.
  void EndImport();

 private:
  // A functional node whose inputs exist and whose control inputs are applied.
  struct Site {
    std::string name;
    std::string device;
    AttrMap attrs;                   // with defaults filled in
    std::vector<OutputTensor> args;  // all inputs
    DataTypeVector output_types;     // as declared by the node
    // The control inputs that nodes of the function get if they have no other
    // inputs. If empty, they get none.
    std::vector<const Node*> gate;
    // The control inputs that nodes of the function with side effects get. If
    // empty, they get none.
    std::vector<const Node*> effects_gate;
    bool is_in_control_flow = false;
    bool has_effects = false;
  };
  // Begin is the condition under which the nodes of a function start.
  struct Begin {
    std::vector<const Node*> gate;          // for nodes without inputs
    std::vector<const Node*> effects_gate;  // for nodes with effects
    // Args of the function that exist even if the function does not begin. A
    // node with only such inputs therefore also gets `gate` as control inputs.
    FlatHashSet<OutputTensor> always_there = {};
  };
  // A function that is being expanded, and the name of the call.
  struct Frame {
    std::string function;
    std::string call;
  };

  // Return RESOURCE_EXHAUSTED if the import exceeds its limits, after adding
  // the size of a node or a number of bytes.
  absl::Status Count(const NodeSpec& spec);
  absl::Status CountBytes(int64_t bytes);
  // Adds a node of a function's body.
  absl::StatusOr<const Node*> AddInner(NodeSpec spec);
  absl::StatusOr<const Node*> AddAny(NodeSpec spec);
  absl::StatusOr<Site> EnterSite(NodeSpec spec);
  // Makes the arguments and the gate of the call wait for `waits`.
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

  // Adds the body of a function, or, for a recursive or too deeply nested call,
  // a node that calls the function at run time.
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
  // Returns whether a node with that op and attrs reads or changes state.
  bool HasEffects(absl::string_view op, const AttrMap& attrs);
  bool FunctionHasEffects(const std::string& function);
  // Visits the functions that `function` may call, and returns true at the
  // first one that has a side effect. If the result is false, `reached` has all
  // functions visited.
  bool ReachesEffects(const std::string& function,
                      std::vector<std::string>& reached) const;
  // Returns whether the node would run even if the function around it does not
  // begin.
  bool RunsRegardless(const NodeSpec& spec, const Begin& begin) const;
  // Returns the condition for a branch or a loop body that begins when `node`
  // runs.
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
    const Node* merge = nullptr;  // null: a loop invariant
    OutputTensor in_body;
    OutputTensor exit;
  };
  absl::StatusOr<std::vector<LoopVariable>> EnterLoop(
      const Site& site, const std::vector<bool>& is_invariant);
  // Adds the NextIterations of a loop. `pivot` is a node that runs in each
  // iteration in which the body runs.
  absl::Status CloseLoop(const Site& site, std::vector<LoopVariable>& loop,
                         const FunctionBody& turn, const Node* pivot);

  struct Made {
    std::string op;
    std::vector<OutputTensor> inputs;
    AttrMap attrs = {};
    std::vector<const Node*> controls = {};
  };
  // Adds a helper node of the expansion, which is named "SITE/name".
  absl::StatusOr<const Node*> Make(const Site& site, const std::string& name,
                                   Made made);
  absl::StatusOr<OutputTensor> MakePredicate(const Site& site,
                                             const std::string& name,
                                             const OutputTensor& value);

  std::string UniqueName(const std::string& name) const;
  // Flow states whether a node depends on a branch or a loop, as far as earlier
  // nodes show. It is kInvariant if the node depends only on loop invariants.
  enum class Flow : uint8_t { kNone, kInvariant, kIn };
  Flow FlowOf(const Node* node);
  void SetInControlFlow(const Node* node, bool is_in);
  static OutputTensor Value(const Node* node) { return {node, 0}; }

  Graph& graph_;
  const ExpanderOptions options_;
  FlatHashSet<std::string> expected_;
  // A resource bypasses the node that stays for the call: consumers take it
  // from its source.
  struct Redirect {
    OutputTensor to;
    int from_id;
  };
  FlatHashMap<OutputTensor, Redirect> redirects_;
  // By node id. Has entries only for the nodes visited so far.
  std::vector<Flow> flow_;
  std::vector<Frame> frames_;
  // By function, for functions that FunctionHasEffects was called with or
  // visited.
  FlatHashMap<std::string, bool> has_effects_;
  int num_expanded_ = 0;  // in this import
  int64_t constant_bytes_ = 0;
  int64_t num_bytes_ = 0;  // of everything but constants
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_EXPANDER_H_
