// FunctionTrace is a function that is being built: the graph of its body and
// its captured values. Internal to libs/ops.
//
// Several traces may be open at a time and be given the same captured inputs,
// as for the branches of an If. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_CONTROL_FUNCTION_TRACE_H_
#define WEFT_LIBS_OPS_CONTROL_FUNCTION_TRACE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "libs/ops/control/function.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::ops {

struct Function::Made {
  std::string name;
  std::vector<FunctionArg> args;
  std::vector<FunctionArg> results;
  std::vector<Output> captured;  // values of the outer graph
  std::vector<const Node*> captured_controls;
  bool is_stateful = false;
  FunctionPtr definition;
  // Contains the functions that it calls.
  std::shared_ptr<const FunctionLibrary> library;
};

class FunctionTrace : public OuterGraph,
                      public std::enable_shared_from_this<FunctionTrace> {
 public:
  // Runs `body`. Returns null after an error, which sticks to `scope`.
  static std::shared_ptr<FunctionTrace> Run(
      const Scope& scope, absl::string_view name,
      const std::vector<FunctionArg>& args, const FunctionBody& body);

  const Scope& scope() const override { return outer_; }
  absl::StatusOr<Output> Capture(const Output& value) override;
  absl::Status CaptureControl(const Node* node) override;

  // The captured values of the outer graph, in order.
  std::vector<Output> captured() const;
  // Sets the captured inputs, in this order. `values` must include all of
  // captured().
  absl::Status SetCaptured(const std::vector<Output>& values);
  // Adds the captured inputs to the results, as the body of a loop needs it.
  void ReturnCaptured();

  const std::vector<Output>& results() const { return results_; }
  const std::string& name() const { return name_; }

  // Adds the function to the library of the outer graph and returns it; null
  // after an error, which sticks to the scope.
  std::shared_ptr<const Function::Made> Finish();

 private:
  FunctionTrace(const Scope& scope, std::string name,
                std::vector<FunctionArg> args);

  void AddArgs();
  void TakeResults(std::vector<Output> results);
  Output AddArg(const FunctionArg& arg);
  absl::StatusOr<Output> CaptureVariable(const Variable& variable);
  absl::StatusOr<Function::Made> Make();
  std::vector<const Node*> Effects() const;

  const Scope outer_;
  const std::string name_;
  const std::vector<FunctionArg> args_;
  Scope inner_;
  std::vector<Output> arg_outputs_;
  std::vector<Output> results_;
  // Pairs of an outer value and its argument.
  std::vector<std::pair<Output, Output>> captured_;
  std::vector<const Node*> captured_controls_;
  absl::flat_hash_map<OutputTensor, Output> inside_;
};

// Returns the captured values of all traces, each value once.
std::vector<Output> Union(
    const std::vector<std::shared_ptr<FunctionTrace>>& traces);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_FUNCTION_TRACE_H_
