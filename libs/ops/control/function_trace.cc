#include "libs/ops/control/function_trace.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/import/function_proto.h"

namespace weft::ops {
namespace {

// The outermost graph, outside of all functions.
Scope Outermost(Scope scope) {
  while (const auto outer = scope.state().outer.lock()) scope = outer->scope();
  return scope;
}

bool IsValidFunctionName(absl::string_view name) {
  return !name.empty() && (absl::ascii_isalnum(name[0]) || name[0] == '_') &&
         absl::c_all_of(name, [](char c) {
           return absl::ascii_isalnum(c) || absl::StrContains("_.-/", c);
         });
}

// A name that is used by no function, including those being built, and by no
// op.
std::string ReserveName(const Scope& scope, absl::string_view wanted) {
  const Scope at = Outermost(scope);
  std::string name(wanted);
  for (int i = 1; at.graph().FindOp(name) != nullptr ||
                  !at.state().function_names.insert(name).second;
       ++i) {
    name = absl::StrCat(wanted, "_", i);
  }
  return name;
}

// Returns whether a stateful op may be skipped if its results are unused:
// handles, reads, random numbers.
bool IsIdle(absl::string_view op) {
  constexpr absl::string_view kIdle[] = {
      "VarHandleOp",      "ReadVariableOp",   "VariableShape",
      "ResourceGather",   "ResourceGatherNd", "VarIsInitializedOp",
      "TruncatedNormal",  "Multinomial",      "ParameterizedTruncatedNormal",
      "LookupTableFindV2"};
  return absl::c_linear_search(kIdle, op) || absl::StartsWith(op, "Random");
}

bool FunctionHasEffects(const Graph& graph, const std::string& name) {
  const FunctionDef* function = graph.functions().Find(name);
  if (function == nullptr) return true;  // the call reports the error
  if (!function->control_results.empty()) return true;
  return absl::c_any_of(function->nodes, [&](const FunctionNode& node) {
    const OpDef* op = graph.FindOp(node.op);
    return op == nullptr || (op->is_stateful && !IsIdle(node.op));
  });
}

bool HasEffects(const Graph& graph, const Node& node) {
  if (!node.op().is_stateful || IsIdle(node.type())) return false;
  std::vector<std::string> functions;
  for (const auto& [name, value] : node.attrs()) {
    AddFunctionNames(value, functions);
  }
  return functions.empty() ||
         absl::c_any_of(functions, [&](const std::string& function) {
           return FunctionHasEffects(graph, function);
         });
}

}  // namespace

FunctionTrace::FunctionTrace(const Scope& scope, std::string name,
                             std::vector<FunctionArg> args)
    : outer_(scope),
      name_(std::move(name)),
      args_(std::move(args)),
      inner_(Scope::Root(scope.graph().registry())
                 .WithVariableScope(scope.variable_scope())) {
  inner_.graph().RestoreFunctions(scope.graph().shared_functions());
  inner_.state().seed = scope.state().seed;
  // Variables created in a function can be found outside, and the reverse.
  VariableStore::Of(scope);
  inner_.state().variables = scope.state().variables;
}

std::shared_ptr<FunctionTrace> FunctionTrace::Run(
    const Scope& scope, absl::string_view name,
    const std::vector<FunctionArg>& args, const FunctionBody& body) {
  if (!scope.ok()) return nullptr;
  if (!IsValidFunctionName(name)) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("'", name, "' is not a valid name of a function")));
    return nullptr;
  }
  std::shared_ptr<FunctionTrace> trace(
      new FunctionTrace(scope, ReserveName(scope, name), args));
  trace->inner_.state().outer = trace->weak_from_this();
  trace->AddArgs();
  trace->TakeResults(body(trace->inner_, trace->arg_outputs_));
  absl::Status status = trace->inner_.status();
  if (status.ok() && scope.ok()) return trace;
  scope.UpdateStatus(
      Annotate(status, absl::StrCat("Function '", trace->name_, "'")));
  return nullptr;
}

void FunctionTrace::AddArgs() {
  for (const FunctionArg& arg : args_) arg_outputs_.push_back(AddArg(arg));
}

Output FunctionTrace::AddArg(const FunctionArg& arg) {
  return inner_.WithName("arg").AddOutput(
      "Placeholder", {},
      {{"dtype", RemoveRefType(arg.dtype)}, {"shape", arg.shape}});
}

void FunctionTrace::TakeResults(std::vector<Output> results) {
  for (size_t i = 0; inner_.ok() && i < results.size(); ++i) {
    if (!results[i]) {
      inner_.UpdateStatus(absl::InvalidArgumentError(
          absl::StrCat("result ", i, " is missing")));
      return;
    }
    absl::StatusOr<Output> inside = inner_.Inside(results[i]);
    if (!inside.ok()) return inner_.UpdateStatus(inside.status());
    results_.push_back(*inside);
  }
}

absl::StatusOr<Output> FunctionTrace::CaptureVariable(
    const Variable& variable) {
  ASSIGN_OR_RETURN(const Output handle, Capture(variable.handle()));
  const Output value =
      inner_.SubScope(absl::StrCat(variable.name(), "/Read"))
          .AddOutput("ReadVariableOp", {handle}, {{"dtype", variable.dtype()}});
  RETURN_IF_ERROR(inner_.status());
  RETURN_IF_ERROR(
      inner_.graph().RefineShape(value.output_tensor(), variable.shape()));
  return value;
}

absl::StatusOr<Output> FunctionTrace::Capture(const Output& value) {
  const auto it = inside_.find(value.output_tensor());
  if (it != inside_.end()) return it->second;
  const Variable variable = FindVariableRead(outer_, value);
  if (variable && variable.is_resource()) {
    ASSIGN_OR_RETURN(const Output read, CaptureVariable(variable));
    inside_[value.output_tensor()] = read;
    return read;
  }
  ASSIGN_OR_RETURN(const Output outside, outer_.Inside(value));
  Output& argument = inside_[outside.output_tensor()];
  if (!argument) {
    argument = AddArg({outside.dtype(), outside.shape()});
    RETURN_IF_ERROR(inner_.status());
    captured_.emplace_back(outside, argument);
  }
  const Output result = argument;
  inside_[value.output_tensor()] = result;
  return result;
}

absl::Status FunctionTrace::CaptureControl(const Node* node) {
  if (!absl::c_linear_search(captured_controls_, node)) {
    captured_controls_.push_back(node);
  }
  return absl::OkStatus();
}

std::vector<Output> FunctionTrace::captured() const {
  std::vector<Output> result;
  for (const auto& [outside, inside] : captured_) result.push_back(outside);
  return result;
}

absl::Status FunctionTrace::SetCaptured(const std::vector<Output>& values) {
  std::vector<std::pair<Output, Output>> ordered;
  for (const Output& value : values) {
    ASSIGN_OR_RETURN(const Output inside, Capture(value));
    ordered.emplace_back(value, inside);
  }
  captured_ = std::move(ordered);
  return absl::OkStatus();
}

void FunctionTrace::ReturnCaptured() {
  for (const auto& [outside, inside] : captured_) results_.push_back(inside);
}

std::vector<const Node*> FunctionTrace::Effects() const {
  std::vector<const Node*> effects;
  for (const Node* node : inner_.graph().nodes()) {
    if (HasEffects(inner_.graph(), *node)) effects.push_back(node);
  }
  return effects;
}

absl::StatusOr<Function::Made> FunctionTrace::Make() {
  FunctionEnds ends;
  for (const Output& arg : arg_outputs_) {
    ends.args.push_back(arg.output_tensor());
  }
  for (const auto& [outside, inside] : captured_) {
    ends.args.push_back(inside.output_tensor());
  }
  Function::Made made{.name = name_, .args = args_, .captured = captured()};
  for (const Output& result : results_) {
    ends.results.push_back(result.output_tensor());
    made.results.emplace_back(RemoveRefType(result.dtype()), result.shape());
  }
  ends.control_results = Effects();
  made.captured_controls = captured_controls_;
  ASSIGN_OR_RETURN(made.definition,
                   FunctionFromGraph(name_, inner_.graph(), ends));
  made.is_stateful = made.definition->signature.is_stateful;
  for (Scope at = outer_;;) {
    RETURN_IF_ERROR(at.graph().AddFunctions({made.definition}));
    const auto further = at.state().outer.lock();
    if (further == nullptr) break;
    at = further->scope();
  }
  made.library = outer_.graph().shared_functions();
  return made;
}

std::shared_ptr<const Function::Made> FunctionTrace::Finish() {
  absl::StatusOr<Function::Made> made = Make();
  if (made.ok())
    return std::make_shared<const Function::Made>(*std::move(made));
  outer_.UpdateStatus(
      Annotate(made.status(), absl::StrCat("Function '", name_, "'")));
  return nullptr;
}

std::vector<Output> Union(
    const std::vector<std::shared_ptr<FunctionTrace>>& traces) {
  std::vector<Output> all;
  for (const auto& trace : traces) {
    for (const Output& value : trace->captured()) {
      if (!absl::c_linear_search(all, value)) all.push_back(value);
    }
  }
  return all;
}

}  // namespace weft::ops
