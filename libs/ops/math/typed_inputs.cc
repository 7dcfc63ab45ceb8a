#include "libs/ops/math/typed_inputs.h"

#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/adapt_value.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft::ops {
namespace {

// Converts a C++ number or list to `dtype`; other inputs are unchanged.
absl::StatusOr<Input> Adapted(const Input& input, DataType dtype) {
  if (!input.value() || !input.adapts()) return input;
  ASSIGN_OR_RETURN(Tensor value, AdaptValue(*input.value(), dtype));
  return Input(std::move(value));
}

bool IsMissing(const Scope& scope, const Input& input, absl::string_view what) {
  if (input.value() || input.output()) return false;
  scope.UpdateStatus(
      absl::InvalidArgumentError(absl::StrCat(what, " must not be null")));
  return true;
}

}  // namespace

Output AsTensor(const Scope& scope, const Input& input, DataType dtype,
                absl::string_view name) {
  if (!scope.ok() || IsMissing(scope, input, name)) return Output();
  absl::StatusOr<Input> adapted = Adapted(input, dtype);
  if (adapted.ok()) return scope.ToOutput(*adapted, name);
  scope.UpdateStatus(Annotate(adapted.status(), name));
  return Output();
}

Output CastTo(const Scope& scope, const Input& input, DataType dtype,
              absl::string_view what) {
  if (!scope.ok() || IsMissing(scope, input, what)) return Output();
  if (input.value() && input.adapts()) {
    return AsTensor(scope.SubScope("Cast").WithName("x"), input, dtype, what);
  }
  const Output given = scope.ToOutput(input);
  if (!given || RemoveRefType(given.dtype()) == dtype) return given;
  return Cast(scope, given, dtype);
}

Output InType(const Scope& scope, const Output& x, DataType dtype) {
  if (!x || RemoveRefType(x.dtype()) == dtype) return x;
  return Cast(scope, x, dtype);
}

Tensor Ints(std::initializer_list<int32_t> values) {
  return Tensor::Vector(values);
}

Output AllAxes(const Scope& scope, const Output& x) {
  if (!scope.ok() || !x) return Output();
  if (!x.shape().has_rank()) {
    return Range(scope.WithName("range"), 0, Rank(scope, x), 1);
  }
  std::vector<int32_t> axes(x.shape().rank());
  std::iota(axes.begin(), axes.end(), 0);
  return Const(scope, Tensor::Vector(absl::Span<const int32_t>(axes)));
}

Output SumAll(const Scope& scope, const Output& x) {
  return Sum(scope, x, AllAxes(scope, x));
}

bool CheckSameShape(const Scope& scope, const Output& a, const Output& b) {
  if (!scope.ok() || !a || !b) return false;
  if (a.shape().IsCompatibleWith(b.shape())) return true;
  scope.UpdateStatus(absl::InvalidArgumentError(
      absl::StrCat("Shapes ", a.shape().ToString(), " and ",
                   b.shape().ToString(), " are incompatible")));
  return false;
}

}  // namespace weft::ops
