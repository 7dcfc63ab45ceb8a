// The methods of Dataset that use functions of the graph's library.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/data/dataset.h"
#include "libs/ops/data/dataset_maker.h"
#include "libs/ops/math/math_ops.h"

namespace weft::ops {
namespace {

// A dataset's function, and the inputs and attrs of its node.
class ElementCall {
 public:
  ElementCall(const Scope& scope, absl::string_view method,
              const std::vector<FunctionArg>& args, const FunctionBody& body)
      : function_(scope, absl::StrCat("Dataset_", method), args, body),
        scope_(scope.WithControlDependencies(function_.captured_controls())) {}

  explicit operator bool() const { return static_cast<bool>(function_); }
  const Function& function() const { return function_; }

  Dataset Add(absl::string_view op, const Output& input, const InputList& more,
              ElementSpec element, AttrMap attrs,
              absl::string_view attr = "f") const {
    InputList inputs = {input};
    AddCaptured(inputs, attrs);
    inputs.insert(inputs.end(), more.begin(), more.end());
    attrs[std::string(attr)] = function_.attr();
    return DatasetMaker::Add(scope_, op, inputs, std::move(element),
                             std::move(attrs));
  }

  void AddCaptured(InputList& inputs, AttrMap& attrs,
                   const std::string& attr = "Targuments") const {
    DataTypeVector types;
    for (const Output& captured : function_.captured_inputs()) {
      inputs.emplace_back(captured);
      types.push_back(RemoveRefType(captured.dtype()));
    }
    attrs[attr] = std::move(types);
  }

  const Scope& scope() const { return scope_; }

 private:
  const Function function_;
  const Scope scope_;
};

std::string Deterministic(const std::optional<bool>& deterministic) {
  if (!deterministic) return "default";
  return *deterministic ? "true" : "false";
}

bool IsBoolScalar(const Function& function) {
  return function.results().size() == 1 &&
         function.results()[0].dtype == DT_BOOL &&
         function.results()[0].shape.IsCompatibleWith(TensorShape());
}

// Filter and TakeWhile.
Dataset AddPredicate(const Dataset& dataset, absl::string_view method,
                     absl::string_view op,
                     const Dataset::Predicate& predicate) {
  const Scope& scope = dataset.scope();
  const ElementCall call(scope, method, ArgsOf(dataset.element()),
                         [&](const Scope& s, const std::vector<Output>& v) {
                           return std::vector<Output>{predicate(s, v)};
                         });
  if (!call) return DatasetMaker::Null(dataset, dataset.element());
  if (!IsBoolScalar(call.function())) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("Function '", call.function().name(),
                     "': the predicate of a dataset must return a bool "
                     "scalar")));
    return DatasetMaker::Null(dataset, dataset.element());
  }
  return call.Add(op, dataset, {}, dataset.element(), {}, "predicate");
}

// A function that returns a dataset, and the element of that dataset.
struct DatasetCall {
  DatasetCall(const Dataset& dataset, absl::string_view method,
              const Dataset::DatasetFunction& fn)
      : call(dataset.scope(), method, ArgsOf(dataset.element()),
             [&](const Scope& s, const std::vector<Output>& v) {
               const Dataset made = fn(s, v);
               element = made.element();
               return std::vector<Output>{made.variant()};
             }) {}

  ElementSpec element;  // declared first, because the call sets it
  const ElementCall call;
};

absl::Status CheckResult(const Function& function, DataType dtype,
                         absl::string_view what) {
  const auto& results = function.results();
  if (results.size() == 1 && results[0].dtype == dtype &&
      results[0].shape.IsCompatibleWith(TensorShape())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Function '", function.name(), "': ", what, " must give an ",
                   DataTypeName(dtype), " scalar"));
}

absl::Status CheckBuckets(const std::vector<int64_t>& boundaries,
                          const std::vector<int64_t>& batch_sizes) {
  if (batch_sizes.size() != boundaries.size() + 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "BucketBySequenceLength: len(bucket_batch_sizes) must equal "
        "len(bucket_boundaries) + 1, but there are ",
        batch_sizes.size(), " and ", boundaries.size()));
  }
  if (std::is_sorted(boundaries.begin(), boundaries.end())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "BucketBySequenceLength: bucket_boundaries must be in order");
}

}  // namespace

Dataset Dataset::Map(const ElementFunction& fn,
                     const MapOptions& options) const {
  if (!*this) return Null();
  const ElementCall call(*scope_, "map", ArgsOf(element_), fn);
  if (!call) return Null();
  ElementSpec element = SpecOf(call.function().results());
  absl::Status status = SetNames(options.names, element);
  if (status.ok() && element.empty()) {
    status = absl::InvalidArgumentError("returns no component");
  }
  if (!status.ok()) {
    scope_->UpdateStatus(Annotate(
        status, absl::StrCat("Function '", call.function().name(), "'")));
    return Null();
  }
  if (!options.num_parallel_calls) {
    return call.Add("MapDataset", variant_, {}, std::move(element),
                    {{"preserve_cardinality", true}});
  }
  return call.Add("ParallelMapDatasetV2", variant_,
                  {*options.num_parallel_calls}, std::move(element),
                  {{"preserve_cardinality", true},
                   {"deterministic", Deterministic(options.deterministic)}});
}

Dataset Dataset::FlatMap(const DatasetFunction& fn) const {
  if (!*this) return Null();
  const DatasetCall made(*this, "flat_map", fn);
  if (!made.call) return Null();
  return made.call.Add("FlatMapDataset", variant_, {}, made.element, {});
}

Dataset Dataset::Interleave(const DatasetFunction& fn,
                            const InterleaveOptions& options) const {
  if (!*this) return Null();
  const DatasetCall made(*this, "interleave", fn);
  if (!made.call) return Null();
  if (!options.num_parallel_calls) {
    return made.call.Add("InterleaveDataset", variant_,
                         {options.cycle_length, options.block_length},
                         made.element, {});
  }
  return made.call.Add(
      "ParallelInterleaveDatasetV4", variant_,
      {options.cycle_length, options.block_length, kAutotune, kAutotune,
       *options.num_parallel_calls},
      made.element, {{"deterministic", Deterministic(options.deterministic)}});
}

Dataset Dataset::Filter(const Predicate& predicate) const {
  if (!*this) return Null();
  return AddPredicate(*this, "filter", "FilterDataset", predicate);
}

Dataset Dataset::TakeWhile(const Predicate& predicate) const {
  if (!*this) return Null();
  return AddPredicate(*this, "take_while", "TakeWhileDataset", predicate);
}

Dataset Dataset::GroupByWindow(const KeyFunction& key, const GroupFunction& fn,
                               const Input& window_size) const {
  if (!*this) return Null();
  const Output size = scope_->ToOutput(window_size, "window_size");
  if (!size) return Null();
  return GroupByWindow(key, fn,
                       [&](const Scope&, const Output&) { return size; });
}

Dataset Dataset::GroupByWindow(const KeyFunction& key, const GroupFunction& fn,
                               const WindowSizeFunction& window_size) const {
  if (!*this) return Null();
  ElementSpec element;
  const FunctionArg number(DT_INT64, PartialShape::Scalar());
  const ElementCall key_call(
      *scope_, "key_func", ArgsOf(element_),
      [&](const Scope& s, const std::vector<Output>& v) {
        return std::vector<Output>{ops::Cast(s, key(s, v), DT_INT64)};
      });
  const ElementCall reduce_call(
      *scope_, "reduce_func",
      {number, FunctionArg(DT_VARIANT, PartialShape::Scalar())},
      [&](const Scope& s, const std::vector<Output>& v) {
        const Dataset made = fn(s, v[0], FromVariant(s, v[1], element_));
        element = made.element();
        return std::vector<Output>{made.variant()};
      });
  const ElementCall size_call(
      *scope_, "window_size_func", {number},
      [&](const Scope& s, const std::vector<Output>& v) {
        return std::vector<Output>{
            ops::Cast(s, window_size(s, v[0]), DT_INT64)};
      });
  if (!key_call || !reduce_call || !size_call) return Null();
  scope_->UpdateStatus(
      CheckResult(key_call.function(), DT_INT64, "the key of a group"));
  scope_->UpdateStatus(
      CheckResult(size_call.function(), DT_INT64, "the size of a window"));
  if (!scope_->ok()) return Null();
  InputList inputs = {variant_};
  AttrMap attrs;
  std::vector<Operation> controls;
  const auto add = [&](const ElementCall& call, const std::string& name) {
    call.AddCaptured(inputs, attrs,
                     absl::StrCat("T", name, "_other_arguments"));
    attrs[name] = call.function().attr();
    for (const Operation& after : call.function().captured_controls()) {
      controls.push_back(after);
    }
  };
  add(key_call, "key_func");
  add(reduce_call, "reduce_func");
  add(size_call, "window_size_func");
  return DatasetMaker::Add(scope_->WithControlDependencies(controls),
                           "GroupByWindowDataset", inputs, std::move(element),
                           std::move(attrs));
}

Dataset Dataset::BucketBySequenceLength(
    const KeyFunction& length, const std::vector<int64_t>& boundaries,
    const std::vector<int64_t>& batch_sizes,
    const PaddedBatchOptions& options) const {
  if (!*this) return Null();
  scope_->UpdateStatus(CheckBuckets(boundaries, batch_sizes));
  if (!scope_->ok()) return Null();
  const auto size_of = [&](const Scope& s, const Output& bucket) {
    return ops::Gather(s, Tensor::Vector<int64_t>(batch_sizes), bucket);
  };
  return GroupByWindow(
      [&](const Scope& s, const std::vector<Output>& v) {
        const Output value = ops::Cast(s, length(s, v), DT_INT64);
        return ops::Sum(
            s,
            ops::Cast(
                s,
                ops::LessEqual(s, Tensor::Vector<int64_t>(boundaries), value),
                DT_INT64),
            {0});
      },
      [&](const Scope& s, const Output& key, const Dataset& group) {
        return group.PaddedBatch(size_of(s, key), options);
      },
      WindowSizeFunction(size_of));
}

Dataset Dataset::Scan(const InputList& initial_state,
                      const ElementFunction& fn) const {
  if (!*this) return Null();
  std::vector<FunctionArg> args;
  InputList inputs = {variant_};
  DataTypeVector types;
  for (const Input& input : initial_state) {
    const Output value = scope_->ToOutput(input, "initial_state");
    if (!value) return Null();
    // The shape of a state may change.
    args.emplace_back(RemoveRefType(value.dtype()), PartialShape());
    types.push_back(args.back().dtype);
    inputs.emplace_back(value);
  }
  for (const FunctionArg& arg : ArgsOf(element_)) args.push_back(arg);
  const ElementCall call(*scope_, "scan", args, fn);
  if (!call) return Null();
  const auto& results = call.function().results();
  const size_t count = types.size();
  bool fits = count > 0 && results.size() > count;
  for (size_t i = 0; fits && i < count; ++i) {
    fits = results[i].dtype == types[i];
  }
  if (!fits) {
    scope_->UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
        "Function '", call.function().name(),
        "': Scan must return a state of the initial state's types, then at "
        "least one component")));
    return Null();
  }
  AttrMap attrs = {{"Tstate", types}, {"f", call.function().attr()}};
  call.AddCaptured(inputs, attrs);
  return DatasetMaker::Add(
      call.scope(), "ScanDataset", inputs,
      SpecOf({results.begin() + static_cast<ptrdiff_t>(count), results.end()}),
      std::move(attrs));
}

std::vector<Output> Dataset::Reduce(const InputList& initial_state,
                                    const ElementFunction& fn) const {
  const std::vector<Output> none(initial_state.size());
  if (!*this) return none;
  std::vector<FunctionArg> args;
  InputList inputs = {variant_};
  for (const Input& input : initial_state) {
    const Output value = scope_->ToOutput(input, "initial_state");
    if (!value) return none;
    // The shape of a state may change.
    args.emplace_back(RemoveRefType(value.dtype()), PartialShape());
    inputs.emplace_back(value);
  }
  const ElementSpec state = SpecOf(args);
  DataTypeVector types;
  for (const FunctionArg& arg : args) types.push_back(arg.dtype);
  for (const FunctionArg& arg : ArgsOf(element_)) args.push_back(arg);
  const ElementCall call(*scope_, "reduce", args, fn);
  if (!call) return none;
  if (call.function().result_types() != types) {
    scope_->UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
        "Function '", call.function().name(),
        "': Reduce must return a state of the initial state's types")));
    return none;
  }
  AttrMap attrs = {{"Tstate", types}, {"f", call.function().attr()}};
  call.AddCaptured(inputs, attrs);
  DatasetMaker::AddElementAttrs(*scope_, "ReduceDataset", state, attrs);
  const Node* node =
      call.scope().AddNode("ReduceDataset", inputs, std::move(attrs));
  return ComponentsOf(node, initial_state.size());
}

}  // namespace weft::ops
