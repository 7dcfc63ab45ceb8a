#include "libs/ops/control/function.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/adapt_value.h"
#include "libs/ops/control/function_trace.h"
#include "libs/ops/known_shape.h"

namespace weft::ops {
namespace {

using Values = std::vector<Output>;
using Traces = std::vector<std::shared_ptr<FunctionTrace>>;

DataTypeVector TypesOf(const std::vector<FunctionArg>& args) {
  DataTypeVector types;
  for (const FunctionArg& arg : args) types.push_back(arg.dtype);
  return types;
}

DataTypeVector TypesOf(const Values& values) {
  DataTypeVector types;
  for (const Output& value : values) {
    types.push_back(RemoveRefType(value.dtype()));
  }
  return types;
}

std::vector<Operation> Operations(const std::vector<const Node*>& nodes) {
  return {nodes.begin(), nodes.end()};
}

// The outputs of a call, with shapes that the node does not know.
Values ResultsOf(const Scope& scope, const Node* node,
                 const std::vector<FunctionArg>& results) {
  Values values;
  for (size_t i = 0; node != nullptr && i < results.size(); ++i) {
    const Output value(node, static_cast<int>(i));
    scope.UpdateStatus(
        scope.graph().RefineShape(value.output_tensor(), results[i].shape));
    values.push_back(value);
  }
  return values;
}

// The type and shape of `given`, before it becomes a value of the graph.
struct GivenValue {
  Input input;
  DataType dtype;
  PartialShape shape;
};

absl::StatusOr<GivenValue> Look(const Input& given, absl::string_view what) {
  if (given.value()) {
    return GivenValue{*given.value(), given.value()->dtype(),
                      given.value()->shape()};
  }
  const Output& value = given.output();
  if (value)
    return GivenValue{value, RemoveRefType(value.dtype()), value.shape()};
  return absl::InvalidArgumentError(absl::StrCat(what, " is missing"));
}

absl::StatusOr<Input> CallArgument(const FunctionArg& arg, const Input& given,
                                   size_t i) {
  Input input = given;
  if (given.value() && given.adapts()) {
    ASSIGN_OR_RETURN(input, AdaptValue(*given.value(), arg.dtype));
  }
  ASSIGN_OR_RETURN(GivenValue value, Look(input, absl::StrCat("argument ", i)));
  if (value.dtype == arg.dtype && value.shape.IsCompatibleWith(arg.shape)) {
    return std::move(value.input);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "argument ", i, " is ", DataTypeName(arg.dtype), " of shape ",
      arg.shape.ToString(), ", but got ", DataTypeName(value.dtype),
      " of shape ", value.shape.ToString()));
}

absl::StatusOr<InputList> CallArguments(const Function::Made& made,
                                        const InputList& given) {
  if (given.size() != made.args.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "takes ", made.args.size(), " arguments, but got ", given.size()));
  }
  InputList all;
  for (size_t i = 0; i < given.size(); ++i) {
    ASSIGN_OR_RETURN(Input input, CallArgument(made.args[i], given[i], i));
    all.push_back(std::move(input));
  }
  all.insert(all.end(), made.captured.begin(), made.captured.end());
  return all;
}

// Registers the function in the graph of a scope that does not know it yet:
// that of another function that is still being built.
absl::Status Bring(const Function::Made& made, const Scope& scope) {
  if (scope.graph().functions().Find(made.name) != nullptr) {
    return absl::OkStatus();
  }
  return scope.graph().AddFunctions(
      made.library->ReachableFrom({made.name})->functions());
}

const Node* AddCall(const Scope& scope, const Function::Made* made,
                    const InputList& args) {
  if (made == nullptr || !scope.ok()) return nullptr;
  const char* op =
      made->is_stateful ? "StatefulPartitionedCall" : "PartitionedCall";
  absl::StatusOr<InputList> inputs = CallArguments(*made, args);
  absl::Status status = inputs.status();
  if (status.ok()) status = Bring(*made, scope);
  if (!status.ok()) {
    scope.UpdateStatus(
        Annotate(status, absl::StrCat("Function '", made->name, "'")));
    return nullptr;
  }
  DataTypeVector in = TypesOf(made->args);
  for (const DataType type : TypesOf(made->captured)) in.push_back(type);
  return scope.WithControlDependencies(Operations(made->captured_controls))
      .AddNode(op, *inputs,
               {{"Tin", in},
                {"Tout", TypesOf(made->results)},
                {"f", NameAttrList{made->name, nullptr}}});
}

}  // namespace

Function::Function(const Scope& scope, absl::string_view name,
                   const std::vector<FunctionArg>& args,
                   const FunctionBody& body) {
  const auto trace = FunctionTrace::Run(scope, name, args, body);
  if (trace != nullptr) made_ = trace->Finish();
}

const std::string& Function::name() const { return made_->name; }

NameAttrList Function::attr() const {
  return {made_ ? made_->name : std::string(), nullptr};
}

const std::vector<FunctionArg>& Function::args() const { return made_->args; }

const std::vector<FunctionArg>& Function::results() const {
  return made_->results;
}

DataTypeVector Function::result_types() const {
  return TypesOf(made_->results);
}

std::vector<Output> Function::captured_inputs() const {
  return made_ ? made_->captured : Values();
}

std::vector<Operation> Function::captured_controls() const {
  return made_ ? Operations(made_->captured_controls)
               : std::vector<Operation>();
}

bool Function::is_stateful() const { return made_->is_stateful; }

std::vector<Output> Function::operator()(const Scope& scope,
                                         const InputList& args) const {
  const Node* node = AddCall(scope, made_.get(), args);
  if (node != nullptr) return ResultsOf(scope, node, made_->results);
  return Values(made_ == nullptr ? 0 : made_->results.size());
}

Operation Function::Call(const Scope& scope, const InputList& args) const {
  return AddCall(scope, made_.get(), args);
}

namespace {

// Builds ops with several functions: If and Case.
class BranchesBuilder {
 public:
  BranchesBuilder(const Scope& scope, const std::string& default_name)
      : scope_(scope.own_name().empty() ? scope.WithName(default_name)
                                        : scope) {}

  bool Trace(const std::string& suffix,
             const std::function<Values(const Scope&)>& branch) {
    traces_.push_back(FunctionTrace::Run(
        scope_.WithName(""), absl::StrCat(scope_.own_name(), "_", suffix), {},
        [&](const Scope& s, const Values&) { return branch(s); }));
    return traces_.back() != nullptr;
  }

  // The functions, with the same arguments; empty after an error.
  std::vector<NameAttrList> Finish() {
    absl::Status status = CheckResults();
    captured_ = Union(traces_);
    for (const auto& trace : traces_) {
      if (status.ok()) status = trace->SetCaptured(captured_);
    }
    scope_.UpdateStatus(Annotate(status, scope_.own_name()));
    std::vector<NameAttrList> functions;
    for (const auto& trace : traces_) {
      if (scope_.ok()) made_.push_back(trace->Finish());
      if (scope_.ok()) functions.push_back({trace->name(), nullptr});
    }
    return functions;
  }

  Values Add(const std::string& op, const Input& selector, AttrMap attrs) {
    if (!scope_.ok()) return {};
    const std::vector<FunctionArg> results = Results();
    InputList inputs = {selector};
    inputs.insert(inputs.end(), captured_.begin(), captured_.end());
    attrs["Tin"] = TypesOf(captured_);
    attrs["Tout"] = TypesOf(results);
    std::vector<PartialShape> shapes;
    for (const FunctionArg& result : results) shapes.push_back(result.shape);
    attrs["output_shapes"] = std::move(shapes);
    const Node* node =
        AfterAll().AddNode(is_stateful() ? op : absl::StrCat("Stateless", op),
                           inputs, std::move(attrs));
    return ResultsOf(scope_, node, results);
  }

 private:
  absl::Status CheckResults() const {
    const Values& first = traces_[0]->results();
    for (const auto& trace : traces_) {
      if (TypesOf(trace->results()) == TypesOf(first)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "functions '", traces_[0]->name(), "' and '", trace->name(),
          "' must return results of the same number and types"));
    }
    return absl::OkStatus();
  }

  std::vector<FunctionArg> Results() const {
    std::vector<FunctionArg> results = made_[0]->results;
    for (const auto& made : made_) {
      for (size_t i = 0; i < results.size(); ++i) {
        results[i].shape =
            CommonShape(results[i].shape, made->results[i].shape);
      }
    }
    return results;
  }

  bool is_stateful() const {
    return absl::c_any_of(made_,
                          [](const auto& made) { return made->is_stateful; });
  }

  Scope AfterAll() const {
    Scope scope = scope_;
    for (const auto& made : made_) {
      scope =
          scope.WithControlDependencies(Operations(made->captured_controls));
    }
    return scope;
  }

  const Scope scope_;
  Traces traces_;
  Values captured_;
  std::vector<std::shared_ptr<const Function::Made>> made_;
};

}  // namespace

std::vector<Output> If(
    const Scope& scope, const Input& cond,
    const std::function<std::vector<Output>(const Scope&)>& then_branch,
    const std::function<std::vector<Output>(const Scope&)>& else_branch) {
  BranchesBuilder builder(scope, "cond");
  if (!builder.Trace("true", then_branch) ||
      !builder.Trace("false", else_branch)) {
    return {};
  }
  const std::vector<NameAttrList> functions = builder.Finish();
  if (functions.size() != 2) return {};
  return builder.Add(
      "If", cond,
      {{"then_branch", functions[0]}, {"else_branch", functions[1]}});
}

std::vector<Output> SwitchCase(
    const Scope& scope, const Input& branch_index,
    const std::vector<std::function<std::vector<Output>(const Scope&)>>&
        branches) {
  if (branches.empty()) {
    scope.UpdateStatus(
        absl::InvalidArgumentError("SwitchCase: branches must not be empty"));
    return {};
  }
  BranchesBuilder builder(scope, "switch_case");
  for (size_t i = 0; i < branches.size(); ++i) {
    if (!builder.Trace(absl::StrCat("branch", i), branches[i])) return {};
  }
  const std::vector<NameAttrList> functions = builder.Finish();
  if (functions.size() != branches.size()) return {};
  return builder.Add("Case", branch_index, {{"branches", functions}});
}

namespace {

class FunctionalLoop {
 public:
  FunctionalLoop(const Scope& scope, const WhileOptions& options)
      : scope_(scope.own_name().empty() ? scope.WithName("while") : scope),
        options_(options) {}

  Values Build(const InputList& loop_vars,
               const std::function<Output(const Scope&, const Values&)>& cond,
               const FunctionBody& body) {
    if (!scope_.ok() || !Check(Begin(loop_vars))) return {};
    if (!Trace("cond", [&](const Scope& s,
                           const Values& v) { return Values{cond(s, v)}; }) ||
        !Trace("body", body) || !Check(CheckResults()) ||
        !Check(ShareCaptured())) {
      return {};
    }
    const auto cond_made = traces_[0]->Finish();
    const auto body_made = traces_[1]->Finish();
    if (!scope_.ok()) return {};
    return Add(*cond_made, *body_made);
  }

 private:
  bool Check(absl::Status status) const {
    scope_.UpdateStatus(
        Annotate(status, absl::StrCat("While '", scope_.own_name(), "'")));
    return scope_.ok();
  }

  absl::Status Begin(const InputList& loop_vars) {
    const auto& invariants = options_.shape_invariants;
    if (!invariants.empty() && invariants.size() != loop_vars.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there are ", invariants.size(), " shape_invariants for ",
          loop_vars.size(), " loop variables"));
    }
    for (size_t i = 0; i < loop_vars.size(); ++i) {
      ASSIGN_OR_RETURN(const GivenValue value,
                       Look(loop_vars[i], absl::StrCat("loop variable ", i)));
      vars_.emplace_back(value.dtype,
                         invariants.empty() ? value.shape : invariants[i]);
      if (!KeepsInvariant(value.shape, vars_[i].shape)) {
        return WrongShape(i, value.shape, "begins with");
      }
      begin_.push_back(value.input);
    }
    return absl::OkStatus();
  }

  bool Trace(const std::string& suffix, const FunctionBody& body) {
    traces_.push_back(FunctionTrace::Run(
        scope_.WithName(""), absl::StrCat(scope_.own_name(), "_", suffix),
        vars_, body));
    return traces_.back() != nullptr;
  }

  absl::Status WrongShape(size_t i, const PartialShape& shape,
                          absl::string_view verb) const {
    return absl::InvalidArgumentError(
        absl::StrCat("loop variable ", i, " ", verb, " shape ",
                     shape.ToString(), ", which does not match its invariant ",
                     vars_[i].shape.ToString(), ": set shape_invariants"));
  }

  absl::Status CheckResults() const {
    const Output& goes_on = traces_[0]->results()[0];
    if (RemoveRefType(goes_on.dtype()) != DT_BOOL ||
        !goes_on.shape().IsCompatibleWith(TensorShape())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cond must return a bool scalar, not ", DataTypeName(goes_on.dtype()),
          " of shape ", goes_on.shape().ToString()));
    }
    const Values& next = traces_[1]->results();
    if (TypesOf(next) != TypesOf(vars_)) {
      return absl::InvalidArgumentError(
          absl::StrCat("body must give the next ", vars_.size(),
                       " loop variables, of the types that they begin with"));
    }
    for (size_t i = 0; i < next.size(); ++i) {
      if (!KeepsInvariant(next[i].shape(), vars_[i].shape)) {
        return WrongShape(i, next[i].shape(), "becomes of");
      }
    }
    return absl::OkStatus();
  }

  // Outer values that both functions use are the same in all iterations.
  absl::Status ShareCaptured() {
    captured_ = Union(traces_);
    for (const auto& trace : traces_) {
      RETURN_IF_ERROR(trace->SetCaptured(captured_));
    }
    traces_[1]->ReturnCaptured();
    return absl::OkStatus();
  }

  Values Add(const Function::Made& cond, const Function::Made& body) const {
    InputList inputs = begin_;
    DataTypeVector types = TypesOf(vars_);
    std::vector<PartialShape> shapes;
    for (const FunctionArg& var : vars_) shapes.push_back(var.shape);
    for (const Output& value : captured_) {
      inputs.emplace_back(value);
      types.push_back(RemoveRefType(value.dtype()));
      shapes.push_back(value.shape());
    }
    const bool is_stateful = cond.is_stateful || body.is_stateful;
    const Node* node =
        scope_.WithControlDependencies(Operations(cond.captured_controls))
            .WithControlDependencies(Operations(body.captured_controls))
            .AddNode(is_stateful ? "While" : "StatelessWhile", inputs,
                     {{"T", types},
                      {"cond", NameAttrList{cond.name, nullptr}},
                      {"body", NameAttrList{body.name, nullptr}},
                      {"output_shapes", shapes},
                      {"parallel_iterations", options_.parallel_iterations}});
    return ResultsOf(scope_, node, vars_);
  }

  const Scope scope_;
  const WhileOptions& options_;
  InputList begin_;
  std::vector<FunctionArg> vars_;
  Traces traces_;
  Values captured_;
};

}  // namespace

std::vector<Output> While(
    const Scope& scope, const InputList& loop_vars,
    const std::function<Output(const Scope&, const std::vector<Output>&)>& cond,
    const FunctionBody& body, const WhileOptions& options) {
  Values last = FunctionalLoop(scope, options).Build(loop_vars, cond, body);
  last.resize(loop_vars.size());
  return last;
}

}  // namespace weft::ops
