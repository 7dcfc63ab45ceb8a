#include "libs/executor/local_functions.h"

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/async/cancellation_link.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "libs/executor/call_tree.h"
#include "libs/graph/functions/function_body.h"
#include "libs/graph/functions/function_expander.h"
#include "libs/graph/graph_copy.h"
#include "libs/graph/unknown_op.h"

namespace weft {
namespace {

// The maximum number of nodes of a body with everything that it calls. It is
// limited because a step waits while the body is compiled.
constexpr int kMaxNodes = 1 << 16;

const AttrMap& AttrsOf(const NameAttrList& function) {
  static const auto& empty = *new AttrMap;
  return function.attrs == nullptr ? empty : *function.attrs;
}

// Formats "f > g > f"; long chains are shortened in the middle.
std::string Chain(const FunctionFrame* frame) {
  constexpr size_t kShown = 4;
  std::vector<std::string> names;
  for (; frame != nullptr; frame = frame->caller) {
    names.push_back(*frame->function);
  }
  std::reverse(names.begin(), names.end());
  if (names.size() > 2 * kShown) {
    names.erase(names.begin() + kShown, names.end() - kShown);
    names.insert(names.begin() + kShown, "...");
  }
  return absl::StrJoin(names, " > ");
}

// Adds the name of the function to an error. The error of a deeply nested call
// would name each of the calls around it, so only the innermost calls, which
// come first, are named.
absl::Status Named(const absl::Status& status, const std::string& function) {
  constexpr size_t kMaxText = 2000;
  const std::string name = absl::StrCat("Function '", function, "'");
  if (status.message().size() <= kMaxText) {
    return absl::StrContains(status.message(), name) ? status
                                                     : Annotate(status, name);
  }
  absl::Status shorter(status.code(),
                       absl::StrCat(status.message().substr(0, kMaxText), "…"));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    shorter.SetPayload(url, payload);
  });
  return shorter;
}

// Copies the nodes that `roots` need into a graph of their own.
absl::StatusOr<std::unique_ptr<Graph>> CopyNeeded(
    const Graph& graph, const std::vector<const Node*>& roots) {
  std::vector<bool> needed(graph.num_nodes());
  std::vector<const Node*> waiting;
  const auto want = [&](const Node* node) {
    if (node == nullptr || needed[node->id()]) return;
    needed[node->id()] = true;
    waiting.push_back(node);
  };
  for (const Node* root : roots) want(root);
  while (!waiting.empty()) {
    const Node* node = waiting.back();
    waiting.pop_back();
    for (const OutputTensor& input : node->inputs()) want(input.node);
    for (const Node* control : node->control_inputs()) want(control);
  }
  auto result =
      std::make_unique<Graph>(graph.registry(), graph.shared_functions());
  result->set_producer(graph.producer());
  GraphCopier copier(*result);
  for (const Node* node : graph.nodes()) {
    if (needed[node->id()]) RETURN_IF_ERROR(copier.Copy(*node).status());
  }
  RETURN_IF_ERROR(copier.Finish());
  return result;
}

// Returns an error unless all nodes of the body may run on the device of the
// call, because the whole body runs there.
absl::Status CheckDevices(const Graph& body, const Device& device) {
  ASSIGN_OR_RETURN(const DeviceName here, DeviceName::Parse(device.name()));
  for (const Node* node : body.nodes()) {
    ASSIGN_OR_RETURN(const DeviceName wanted,
                     DeviceName::Parse(node->requested_device()));
    if (wanted.IsCompatibleWith(here)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "node '", node->name(), "' asks for ", node->requested_device(),
        ", but a function that is called at run time runs on ", device.name(),
        ", where its call is"));
  }
  return absl::OkStatus();
}

// Returns whether the library has all of the functions. Partitions of one
// session contain the same functions repeatedly, and to extend a library copies
// it.
bool HasAll(const FunctionLibrary& library, const FunctionLibrary& added) {
  for (const FunctionPtr& function : added.functions()) {
    const FunctionDef* known = library.Find(function->name());
    if (known == nullptr || known->serialized != function->serialized) {
      return false;
    }
  }
  for (const auto& [name, gradient] : added.gradients()) {
    if (library.FindGradient(name) != gradient) return false;
  }
  return true;
}

// Returns the additional bytes of a library with the functions of `added`: for
// each function its message, and an estimate for its parsed form.
int64_t BytesOfNew(const FunctionLibrary& library,
                   const FunctionLibrary& added) {
  constexpr int64_t kBookkeeping = 1024;
  int64_t bytes = 0;
  for (const FunctionPtr& function : added.functions()) {
    if (library.Find(function->name()) != nullptr) continue;
    bytes += kBookkeeping + static_cast<int64_t>(function->serialized.size());
  }
  for (const auto& [name, gradient] : added.gradients()) {
    if (!library.FindGradient(name).empty()) continue;
    bytes += kBookkeeping + static_cast<int64_t>(name.size() + gradient.size());
  }
  return bytes;
}

absl::StatusOr<const Node*> AddEnd(Graph& graph, absl::string_view op, int i,
                                   DataType type,
                                   std::vector<OutputTensor> inputs) {
  ASSIGN_OR_RETURN(const Node* node,
                   graph.AddNode({.name = absl::StrCat(op, "_", i),
                                  .op = std::string(op),
                                  .inputs = std::move(inputs),
                                  .attrs = {{"T", type}, {"index", i}}}));
  return node;
}

// Returns the function as a partition: _Arg and _Retval at its ends.
absl::StatusOr<std::unique_ptr<Graph>> MakeBody(const NameAttrList& function,
                                                const FunctionTypes& types,
                                                Graph& graph) {
  std::vector<OutputTensor> args;
  for (size_t i = 0; i < types.args.size(); ++i) {
    ASSIGN_OR_RETURN(const Node* arg, AddEnd(graph, "_Arg", static_cast<int>(i),
                                             types.args[i], {}));
    args.push_back({arg, 0});
  }
  FunctionExpander expander(graph, {.max_nodes = kMaxNodes});
  ASSIGN_OR_RETURN(const FunctionBody body,
                   expander.AddFunction(function.name, function, args));
  std::vector<const Node*> roots = body.control_results;
  for (size_t i = 0; i < body.results.size(); ++i) {
    ASSIGN_OR_RETURN(const Node* result,
                     AddEnd(graph, "_Retval", static_cast<int>(i),
                            types.results[i], {body.results[i]}));
    roots.push_back(result);
  }
  return CopyNeeded(graph, roots);
}

// Returns whether the node calls a function at run time, which may have state
// even if the node's op has none.
bool CallsFunction(const Node& node) {
  return std::any_of(
      node.attrs().begin(), node.attrs().end(), [](const auto& attr) {
        return attr.second.template Get<NameAttrList>() != nullptr;
      });
}

// Returns whether the kernels of the body may keep state from one call to the
// next.
bool HasState(const Graph& body) {
  return std::any_of(
      body.nodes().begin(), body.nodes().end(), [](const Node* node) {
        const bool is_internal = node->type()[0] == '_';
        return (node->op().is_stateful && !is_internal) || CallsFunction(*node);
      });
}

}  // namespace

class LocalFunctions::Runnable : public RunnableFunction {
 public:
  static absl::StatusOr<std::unique_ptr<const Runnable>> Compile(
      const NameAttrList& function, const Graph& library,
      const Options& options, FunctionRuntime* runtime) {
    const FunctionDef* def = library.functions().Find(function.name);
    if (def == nullptr) {
      return absl::NotFoundError(
          absl::StrCat("Function '", function.name, "' is not defined"));
    }
    auto result = std::make_unique<Runnable>();
    result->name_ = function.name;
    ASSIGN_OR_RETURN(result->types_, TypesOfCall(*def, AttrsOf(function)));
    Graph graph(library.registry(), library.shared_functions());
    graph.set_producer(library.producer());
    ASSIGN_OR_RETURN(std::unique_ptr<Graph> body,
                     MakeBody(function, result->types_, graph));
    RETURN_IF_ERROR(Append(CheckNoneUnknown(*body),
                           absl::StrCat("Function '", function.name, "'")));
    // The devices are checked before the rewrite, which ignores requested
    // devices.
    RETURN_IF_ERROR(CheckDevices(*body, *options.device));
    if (options.rewrite != nullptr) body = options.rewrite(std::move(body));
    result->keeps_state_ = HasState(*body);
    ASSIGN_OR_RETURN(
        result->plan_,
        Plan::Compile(*body, {.kernels = options.kernels,
                              .device = options.device,
                              .random = options.random,
                              .stateful_kernels = &result->stateful_kernels_,
                              .functions = runtime}));
    return std::unique_ptr<const Runnable>(std::move(result));
  }

  StatefulKernels& stateful_kernels() const { return stateful_kernels_; }
  bool keeps_state() const { return keeps_state_; }
  const DataTypeVector& arg_types() const override { return types_.args; }
  const DataTypeVector& result_types() const override { return types_.results; }

  void Run(const StepContext& step, std::vector<Tensor> args,
           Done done) const override {
    if (absl::Status status = Check(step, args); !status.ok()) {
      return done(std::move(status));
    }
    std::shared_ptr<CallTree> tree = TreeOf(step);
    if (absl::Status status = tree->Enter(); !status.ok()) {
      return done(Named(status, name_));
    }
    auto call = std::make_unique<Running>();
    call->tree = tree;
    call->frame = {
        .caller = step.frame,
        .function = &name_,
        .depth = step.frame == nullptr ? 1 : step.frame->depth + 1,
        .tree = tree.get(),
    };
    call->args = std::move(args);
    call->results.resize(types_.results.size());
    call->done = std::move(done);
    StepArgs step_args{.context = step,
                       .args = call->args,
                       .retvals = absl::MakeSpan(call->results)};
    step_args.context.frame = &call->frame;
    // An error of the call fails only its caller.
    step_args.context.cancellation = call->cancellation.get();
    call->with_caller.Begin(step.cancellation, call->cancellation);
    const int depth = call->frame.depth;
    tree->Run(depth, [this, step_args, call = std::move(call)]() mutable {
      StartHere(step_args, std::move(call));
    });
  }

 private:
  struct Running {
    std::shared_ptr<CallTree> tree;
    FunctionFrame frame;
    const std::shared_ptr<Cancellation> cancellation =
        std::make_shared<Cancellation>();
    CancellationLink with_caller;
    std::vector<Tensor> args;
    std::vector<Tensor> results;
    Done done;
  };

  // Returns the call tree of the enclosing calls. The first call of a step or
  // of a data set has no enclosing call and gets a new tree.
  static std::shared_ptr<CallTree> TreeOf(const StepContext& step) {
    if (step.frame != nullptr && step.frame->tree != nullptr) {
      return step.frame->tree->shared_from_this();
    }
    const int around = step.frame == nullptr ? 0 : step.frame->depth;
    return std::make_shared<CallTree>(*step.scheduler, *step.cancellation,
                                      around);
  }

  void StartHere(const StepArgs& args, std::unique_ptr<Running> call) const {
    Start(plan_, args, RunWhere::kCaller,
          [this, call = std::move(call)](const absl::Status& status) mutable {
            End(std::move(call), status);
          });
  }

  // Resources taken for the call are returned before its caller continues.
  void End(std::unique_ptr<Running> call, const absl::Status& status) const {
    Done done = std::move(call->done);
    call->with_caller.End();
    call->tree->Leave();
    if (!status.ok()) {
      call.reset();
      return Return(std::move(done), Named(status, name_));
    }
    std::vector<Tensor> results = std::move(call->results);
    call.reset();
    Return(std::move(done), std::move(results));
  }

  // Calls `done`, which runs the caller's code on a thread of the body's step.
  // Its exceptions end here. The objects that `done` still holds are destroyed
  // within the handler. So if `done` is the only owner of the `done` of a
  // caller's node, the node fails then. A caller that shares the latter among
  // calls must end the node itself (MapDefun).
  static void Return(Done done, absl::StatusOr<std::vector<Tensor>> results) {
    try {
      done(std::move(results));
    } catch (const std::exception&) {
      done = nullptr;
    }
  }

  absl::Status Check(const StepContext& step,
                     const std::vector<Tensor>& args) const {
    if (step.frame != nullptr && step.frame->depth >= kMaxDepth) {
      return absl::ResourceExhaustedError(
          absl::StrCat("Function '", name_, "' is called ", kMaxDepth,
                       " calls deep: ", Chain(step.frame),
                       ". A function that calls itself must come to an end."));
    }
    if (args.size() != types_.args.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Function '", name_, "' takes ", types_.args.size(),
                       " arguments, but ", args.size(), " were given"));
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].dtype() == types_.args[i]) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Function '", name_, "': argument ", i, " is ",
                       DataTypeName(types_.args[i]), ", but ",
                       DataTypeName(args[i].dtype()), " was given"));
    }
    return step.cancellation->status();
  }

  std::string name_;
  FunctionTypes types_;
  // Whether some kernel keeps state between calls, so that each Anew needs a
  // copy of its own.
  bool keeps_state_ = false;
  mutable StatefulKernels stateful_kernels_;  // thread-safe
  std::shared_ptr<const Plan> plan_;
};

// Compiled holds all functions that one runtime has compiled. Thread-safe.
class LocalFunctions::Compiled {
 public:
  // Returns the function compiled for calls through `runtime`, and compiles it
  // if necessary.
  absl::StatusOr<const RunnableFunction*> FindOrCompile(
      const NameAttrList& function, const LocalFunctions& session,
      FunctionRuntime* runtime) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (const auto* found = Find(function)) return found;
    }
    ASSIGN_OR_RETURN(std::unique_ptr<const Runnable> runnable,
                     Runnable::Compile(function, *session.Library(),
                                       session.options_, runtime));
    absl::MutexLock lock(&mutex_);
    if (const auto* found = Find(function)) return found;
    return functions_[function.name]
        .emplace_back(Entry{AttrsOf(function), std::move(runnable)})
        .runnable.get();
  }

  // Calls EndSession of all kernels, which live as long as this object.
  void EndSession() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<StatefulKernels*> ending;
    {
      absl::MutexLock lock(&mutex_);
      for (const auto& [name, entries] : functions_) {
        for (const Entry& entry : entries) {
          ending.push_back(&entry.runnable->stateful_kernels());
        }
      }
    }
    for (StatefulKernels* kernels : ending) kernels->EndSession();
  }

 private:
  struct Entry {
    AttrMap attrs;
    std::unique_ptr<const Runnable> runnable;
  };

  const RunnableFunction* Find(const NameAttrList& function) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto it = functions_.find(function.name);
    if (it == functions_.end()) return nullptr;
    for (const Entry& entry : it->second) {
      if (entry.attrs == AttrsOf(function)) return entry.runnable.get();
    }
    return nullptr;
  }

  absl::Mutex mutex_;
  std::map<std::string, std::vector<Entry>, std::less<>> functions_
      ABSL_GUARDED_BY(mutex_);
};

// CopyOf is the result of Anew.
class LocalFunctions::CopyOf : public SessionFunctions {
 public:
  explicit CopyOf(std::shared_ptr<LocalFunctions> session)
      : session_(std::move(session)) {}
  ~CopyOf() override { compiled_.EndSession(); }

  absl::StatusOr<const RunnableFunction*> Find(
      const NameAttrList& function) override {
    ASSIGN_OR_RETURN(const RunnableFunction* shared, session_->Find(function));
    if (!KeepsState(*shared)) return shared;
    return compiled_.FindOrCompile(function, *session_, this);
  }
  bool KeepsState(const RunnableFunction& function) const override {
    return session_->KeepsState(function);
  }
  std::shared_ptr<FunctionRuntime> Anew() override { return session_->Anew(); }
  SessionFunctions& Persistent() override { return *session_; }

 private:
  const std::shared_ptr<LocalFunctions> session_;
  Compiled compiled_;
};

LocalFunctions::LocalFunctions(const Options& options)
    : options_(options),
      compiled_(std::make_unique<Compiled>()),
      library_(std::make_shared<FunctionLibrary>()) {}

LocalFunctions::~LocalFunctions() = default;

absl::StatusOr<int64_t> LocalFunctions::Add(const Graph& graph) {
  const FunctionLibrary& functions = graph.functions();
  if (functions.empty()) return 0;
  absl::MutexLock lock(&mutex_);
  ops_ = graph.registry();
  // The functions of several graphs are as old as the oldest graph.
  if (producer_ == 0 ||
      (0 < graph.producer() && graph.producer() < producer_)) {
    producer_ = graph.producer();
  }
  if (HasAll(*library_, functions)) return 0;
  const int64_t bytes = BytesOfNew(*library_, functions);
  ASSIGN_OR_RETURN(
      library_, library_->With(functions.functions(), functions.gradients()));
  return bytes;
}

int64_t LocalFunctions::BytesToAdd(const Graph& graph) const {
  absl::MutexLock lock(&mutex_);
  return BytesOfNew(*library_, graph.functions());
}

void LocalFunctions::EndSession() {
  // The ending call may hold the last reference to this.
  const std::shared_ptr<FunctionRuntime> self = shared_from_this();
  compiled_->EndSession();
}

std::unique_ptr<const Graph> LocalFunctions::Library() const {
  absl::MutexLock lock(&mutex_);
  auto library = std::make_unique<Graph>(ops_, library_);
  library->set_producer(producer_);
  return library;
}

absl::StatusOr<const RunnableFunction*> LocalFunctions::Find(
    const NameAttrList& function) {
  return compiled_->FindOrCompile(function, *this, this);
}

bool LocalFunctions::KeepsState(const RunnableFunction& function) const {
  return static_cast<const Runnable&>(function).keeps_state();
}

std::shared_ptr<FunctionRuntime> LocalFunctions::Anew() {
  return std::make_shared<CopyOf>(
      std::static_pointer_cast<LocalFunctions>(shared_from_this()));
}

}  // namespace weft
