#include "libs/ops/control/map_fn.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/row_arrays.h"
#include "libs/ops/control/while_loop.h"
#include "libs/ops/math/math_ops.h"

namespace weft::ops {
namespace {

using Values = std::vector<Output>;

absl::Status CheckElems(const Scope& scope, const Values& elems) {
  if (elems.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(scope.prefix(), ": elems must not be empty"));
  }
  for (const Output& elem : elems) {
    if (elem) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(scope.prefix(), ": elems contains a null output"));
  }
  return absl::OkStatus();
}

// The values without the first, the index.
Values Rest(const Values& values, size_t from = 1) {
  return {values.begin() + static_cast<int64_t>(from), values.end()};
}

struct FoldPlan {
  bool reverse = false;
  bool keeps_all = false;  // Scan
  int parallel_iterations = 10;
};

// Implements Foldl, Foldr and Scan. The loop variables are the index, the
// accumulated values, and the flows of the arrays of results.
class Fold {
 public:
  Fold(const Scope& scope, const FoldFunction& fn, const FoldPlan& plan)
      : scope_(scope), fn_(fn), plan_(plan) {}

  Values Build(const Values& elems, const InputList& initializer) {
    scope_.UpdateStatus(CheckElems(scope_, elems));
    size_ = NumRows(scope_, elems.empty() ? Output() : elems[0]);
    if (!scope_.ok()) return {};
    rows_ = RowArrays::Of(scope_, size_, elems, "TensorArray");
    const Output first = FirstIndex();
    const InputList vars = Begin(first, initializer);
    if (!scope_.ok()) return {};
    const Values last = WhileLoop(
        scope_, vars,
        [&](const Scope& s, const Values& v) { return GoesOn(s, v[0]); },
        [&](const Scope& s, const Values& v) { return Next(s, v); },
        {.parallel_iterations = plan_.parallel_iterations});
    if (last.empty()) return {};
    if (!plan_.keeps_all) return Rest(last);
    return kept_.Stack(scope_, size_, Rest(last, 1 + num_values_));
  }

 private:
  Output FirstIndex() const {
    return plan_.reverse ? Sub(scope_, size_, 1)
                         : scope_.ToOutput(Tensor::Scalar(0));
  }

  Output Step(const Scope& scope, const Output& index) const {
    return plan_.reverse ? Sub(scope, index, 1) : Add(scope, index, 1);
  }

  Output GoesOn(const Scope& scope, const Output& index) const {
    return plan_.reverse ? GreaterEqual(scope, index, 0)
                         : Less(scope, index, size_);
  }

  // The loop variables before the first iteration.
  InputList Begin(const Output& first, const InputList& initializer) {
    Values values;
    for (const Input& value : initializer) {
      values.push_back(scope_.ToOutput(value, "initializer"));
    }
    const bool from_rows = initializer.empty();
    if (from_rows) values = rows_.Read(scope_, first);
    if (!scope_.ok()) return {};
    num_values_ = values.size();
    InputList vars = {from_rows ? Step(scope_, first) : first};
    vars.insert(vars.end(), values.begin(), values.end());
    if (!plan_.keeps_all) return vars;
    const Values flows = BeginKeeping(first, values, from_rows);
    vars.insert(vars.end(), flows.begin(), flows.end());
    return vars;
  }

  Values BeginKeeping(const Output& first, const Values& values,
                      bool from_rows) {
    DataTypeVector dtypes;
    for (const Output& value : values) {
      if (!value) return {};
      dtypes.push_back(RemoveRefType(value.dtype()));
    }
    kept_ = RowArrays::Empty(scope_, size_, dtypes, "TensorArray_1");
    if (!from_rows) return kept_.flows();
    return kept_.Write(scope_, first, values, kept_.flows());
  }

  Values Next(const Scope& scope, const Values& vars) {
    const Values so_far(vars.begin() + 1,
                        vars.begin() + 1 + static_cast<int64_t>(num_values_));
    Values next = fn_(scope, so_far, rows_.Read(scope, vars[0]));
    if (plan_.keeps_all) {
      const Values flows =
          kept_.Write(scope, vars[0], next, Rest(vars, 1 + num_values_));
      next.insert(next.end(), flows.begin(), flows.end());
    }
    next.insert(next.begin(), Step(scope, vars[0]));
    return next;
  }

  const Scope& scope_;
  const FoldFunction& fn_;
  const FoldPlan plan_;
  Output size_;
  RowArrays rows_, kept_;
  size_t num_values_ = 0;
};

}  // namespace

std::vector<Output> MapFn(const Scope& scope, const RowFunction& fn,
                          const std::vector<Output>& elems,
                          const MapFnOptions& options) {
  const Scope inner = scope.CompositeScope("map");
  inner.UpdateStatus(CheckElems(inner, elems));
  if (!inner.ok()) return {};
  DataTypeVector dtypes = options.dtypes;
  if (dtypes.empty()) {
    for (const Output& elem : elems) {
      dtypes.push_back(RemoveRefType(elem.dtype()));
    }
  }
  const Output size = NumRows(inner, elems[0]);
  const RowArrays rows = RowArrays::Of(inner, size, elems, "TensorArray");
  RowArrays results = RowArrays::Empty(inner, size, dtypes, "TensorArray_1");
  InputList vars = {Tensor::Scalar(0)};
  vars.insert(vars.end(), results.flows().begin(), results.flows().end());
  const Values last = WhileLoop(
      inner, vars,
      [&](const Scope& s, const Values& v) { return Less(s, v[0], size); },
      [&](const Scope& s, const Values& v) {
        Values next =
            results.Write(s, v[0], fn(s, rows.Read(s, v[0])), Rest(v));
        next.insert(next.begin(), Add(s, v[0], 1));
        return next;
      },
      {.parallel_iterations = options.parallel_iterations});
  return last.empty() ? last : results.Stack(inner, size, Rest(last));
}

std::vector<Output> Foldl(const Scope& scope, const FoldFunction& fn,
                          const std::vector<Output>& elems,
                          const FoldOptions& options) {
  const Scope inner = scope.CompositeScope("foldl");
  return Fold(inner, fn, {.parallel_iterations = options.parallel_iterations})
      .Build(elems, options.initializer);
}

std::vector<Output> Foldr(const Scope& scope, const FoldFunction& fn,
                          const std::vector<Output>& elems,
                          const FoldOptions& options) {
  const Scope inner = scope.CompositeScope("foldr");
  return Fold(inner, fn,
              {.reverse = true,
               .parallel_iterations = options.parallel_iterations})
      .Build(elems, options.initializer);
}

std::vector<Output> Scan(const Scope& scope, const FoldFunction& fn,
                         const std::vector<Output>& elems,
                         const ScanOptions& options) {
  const Scope inner = scope.CompositeScope("scan");
  return Fold(inner, fn,
              {.reverse = options.reverse,
               .keeps_all = true,
               .parallel_iterations = options.parallel_iterations})
      .Build(elems, options.initializer);
}

}  // namespace weft::ops
