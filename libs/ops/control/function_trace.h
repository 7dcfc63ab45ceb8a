// FunctionTrace: a function while it is being built: the graph of its body and
// what that has captured. Internal to libs/ops.
//
// Several may be open at a time, and be given the same captured inputs: those
// of the branches of an If are. Threads: as the scope's.
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
  std::vector<Output> captured;  // of the graph that it was made in
  std::vector<const Node*> captured_controls;
  bool is_stateful = false;
  FunctionPtr definition;
  // What it calls is in there.
  std::shared_ptr<const FunctionLibrary> library;
};

class FunctionTrace : public OuterGraph,
                      public std::enable_shared_from_this<FunctionTrace> {
 public:
  // Runs `body`. Null after an error, which sticks to `scope`.
  static std::shared_ptr<FunctionTrace> Run(
      const Scope& scope, absl::string_view name,
      const std::vector<FunctionArg>& args, const FunctionBody& body);

  const Scope& scope() const override { return outer_; }
  absl::StatusOr<Output> Capture(const Output& value) override;
  absl::Status CaptureControl(const Node* node) override;

  // What has been captured, in order: values of the graph outside.
  std::vector<Output> captured() const;
  // The captured inputs become these, in this order; all of captured() are
  // among them.
  absl::Status SetCaptured(const std::vector<Output>& values);
  // The captured inputs as results behind the others, as a loop hands them on.
  void ReturnCaptured();

  const std::vector<Output>& results() const { return results_; }
  const std::string& name() const { return name_; }

  // The function, which is in the library of the graph outside then; null after
  // an error, which sticks to the scope.
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
  // Of outside, and the argument that stands for each.
  std::vector<std::pair<Output, Output>> captured_;
  std::vector<const Node*> captured_controls_;
  absl::flat_hash_map<OutputTensor, Output> inside_;
};

// The values of all, each once.
std::vector<Output> Union(
    const std::vector<std::shared_ptr<FunctionTrace>>& traces);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_FUNCTION_TRACE_H_
