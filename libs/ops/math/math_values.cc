#include "libs/ops/math/math_values.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace weft::math_values {
namespace {

// Shapes have at most kMaxRank sizes; anything longer is data, not a shape.
constexpr int64_t kMaxElements = 1024;

// An integer tensor widened to int64, so that one arithmetic serves all.
struct Integers {
  TensorShape shape;
  std::vector<int64_t> values;
  bool is_scalar() const { return values.size() == 1; }
};

std::optional<Integers> ToIntegers(const std::optional<Tensor>& tensor) {
  if (!tensor || tensor->num_elements() > kMaxElements) return std::nullopt;
  Integers result{tensor->shape(), {}};
  if (tensor->dtype() == DT_INT32) {
    for (int32_t v : tensor->flat<int32_t>()) result.values.push_back(v);
  } else if (tensor->dtype() == DT_INT64) {
    for (int64_t v : tensor->flat<int64_t>()) result.values.push_back(v);
  } else {
    return std::nullopt;
  }
  return result;
}

std::optional<Tensor> FromIntegers(const Integers& integers, DataType dtype) {
  if (dtype != DT_INT32 && dtype != DT_INT64) return std::nullopt;
  Tensor result(dtype, integers.shape);
  for (size_t i = 0; i < integers.values.size(); ++i) {
    const int64_t value = integers.values[i];
    if (dtype == DT_INT64) {
      result.mutable_flat<int64_t>()[i] = value;
      continue;
    }
    if (value != static_cast<int32_t>(value)) return std::nullopt;
    result.mutable_flat<int32_t>()[i] = static_cast<int32_t>(value);
  }
  return result;
}

// Returns false if there is no value: overflow, division by zero.
using Operator = bool (*)(int64_t a, int64_t b, int64_t& result);

std::optional<Tensor> Binary(InferenceContext& c, Operator apply) {
  const std::optional<Integers> a = ToIntegers(c.input_tensor(0));
  const std::optional<Integers> b = ToIntegers(c.input_tensor(1));
  if (!a || !b) return std::nullopt;
  if (a->shape != b->shape && !a->shape.IsScalar() && !b->shape.IsScalar()) {
    return std::nullopt;
  }
  const Integers& larger = a->shape.IsScalar() ? *b : *a;
  Integers result{larger.shape, std::vector<int64_t>(larger.values.size())};
  for (size_t i = 0; i < result.values.size(); ++i) {
    const int64_t x = a->values[a->shape.IsScalar() ? 0 : i];
    const int64_t y = b->values[b->shape.IsScalar() ? 0 : i];
    if (!apply(x, y, result.values[i])) return std::nullopt;
  }
  return FromIntegers(result, c.output_type(0));
}

bool AddOperator(int64_t a, int64_t b, int64_t& result) {
  return !__builtin_add_overflow(a, b, &result);
}
bool SubOperator(int64_t a, int64_t b, int64_t& result) {
  return !__builtin_sub_overflow(a, b, &result);
}
bool MulOperator(int64_t a, int64_t b, int64_t& result) {
  return !__builtin_mul_overflow(a, b, &result);
}
bool TruncateDivOperator(int64_t a, int64_t b, int64_t& result) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) {
    return false;
  }
  result = a / b;
  return true;
}
bool FloorDivOperator(int64_t a, int64_t b, int64_t& result) {
  if (!TruncateDivOperator(a, b, result)) return false;
  if (a % b != 0 && (a < 0) != (b < 0)) --result;
  return true;
}
bool FloorModOperator(int64_t a, int64_t b, int64_t& result) {
  if (!TruncateDivOperator(a, b, result)) return false;
  result = a % b;
  if (result != 0 && (result < 0) != (b < 0)) result += b;
  return true;
}
bool MaxOperator(int64_t a, int64_t b, int64_t& result) {
  result = std::max(a, b);
  return true;
}
bool MinOperator(int64_t a, int64_t b, int64_t& result) {
  result = std::min(a, b);
  return true;
}

// Reduces all elements to one; only for axes that name every dimension.
std::optional<Tensor> ReduceAll(InferenceContext& c, int64_t initial,
                                Operator apply) {
  const std::optional<Integers> input = ToIntegers(c.input_tensor(0));
  const std::optional<Integers> axes = ToIntegers(c.input_tensor(1));
  const absl::StatusOr<bool> keep_dims = c.GetAttr<bool>("keep_dims");
  if (!input || !axes || !keep_dims.ok() || input->shape.rank() > 1) {
    return std::nullopt;
  }
  if (input->shape.rank() == 1 && axes->values.empty()) return std::nullopt;
  Integers result{TensorShape(), {initial}};
  if (*keep_dims && input->shape.rank() == 1) result.shape.AddDim(1);
  for (int64_t value : input->values) {
    if (!apply(result.values[0], value, result.values[0])) return std::nullopt;
  }
  return FromIntegers(result, c.output_type(0));
}

}  // namespace

std::optional<Tensor> Add(InferenceContext& c) {
  return Binary(c, AddOperator);
}
std::optional<Tensor> Sub(InferenceContext& c) {
  return Binary(c, SubOperator);
}
std::optional<Tensor> Mul(InferenceContext& c) {
  return Binary(c, MulOperator);
}
std::optional<Tensor> FloorDiv(InferenceContext& c) {
  return Binary(c, FloorDivOperator);
}
std::optional<Tensor> TruncateDiv(InferenceContext& c) {
  return Binary(c, TruncateDivOperator);
}
std::optional<Tensor> FloorMod(InferenceContext& c) {
  return Binary(c, FloorModOperator);
}
std::optional<Tensor> Maximum(InferenceContext& c) {
  return Binary(c, MaxOperator);
}
std::optional<Tensor> Minimum(InferenceContext& c) {
  return Binary(c, MinOperator);
}

std::optional<Tensor> Neg(InferenceContext& c) {
  std::optional<Integers> x = ToIntegers(c.input_tensor(0));
  if (!x) return std::nullopt;
  for (int64_t& value : x->values) {
    if (!SubOperator(0, value, value)) return std::nullopt;
  }
  return FromIntegers(*x, c.output_type(0));
}

std::optional<Tensor> Prod(InferenceContext& c) {
  return ReduceAll(c, 1, MulOperator);
}
std::optional<Tensor> Sum(InferenceContext& c) {
  return ReduceAll(c, 0, AddOperator);
}
std::optional<Tensor> Max(InferenceContext& c) {
  const std::optional<Tensor>& input = c.input_tensor(0);
  if (!input || input->num_elements() == 0) return std::nullopt;
  return ReduceAll(c, std::numeric_limits<int64_t>::min(), MaxOperator);
}

std::optional<Tensor> Range(InferenceContext& c) {
  const std::optional<Integers> start = ToIntegers(c.input_tensor(0));
  const std::optional<Integers> limit = ToIntegers(c.input_tensor(1));
  const std::optional<Integers> delta = ToIntegers(c.input_tensor(2));
  if (!start || !limit || !delta || !start->is_scalar() ||
      !limit->is_scalar() || !delta->is_scalar() || delta->values[0] == 0) {
    return std::nullopt;
  }
  const int64_t step = delta->values[0];
  Integers result;
  for (int64_t i = start->values[0];
       step > 0 ? i < limit->values[0] : i > limit->values[0];) {
    if (result.values.size() == kMaxElements) return std::nullopt;
    result.values.push_back(i);
    if (!AddOperator(i, step, i)) break;
  }
  result.shape.AddDim(static_cast<int64_t>(result.values.size()));
  return FromIntegers(result, c.output_type(0));
}

std::optional<Tensor> Cast(InferenceContext& c) {
  const std::optional<Integers> x = ToIntegers(c.input_tensor(0));
  if (!x) return std::nullopt;
  return FromIntegers(*x, c.output_type(0));
}

std::optional<Tensor> BroadcastArgs(InferenceContext& c) {
  std::optional<Integers> a = ToIntegers(c.input_tensor(0));
  std::optional<Integers> b = ToIntegers(c.input_tensor(1));
  if (!a || !b) return std::nullopt;
  if (a->values.size() < b->values.size()) std::swap(a, b);
  const size_t offset = a->values.size() - b->values.size();
  for (size_t i = 0; i < b->values.size(); ++i) {
    int64_t& size = a->values[offset + i];
    if (size == 1) size = b->values[i];
    if (b->values[i] != 1 && b->values[i] != size) return std::nullopt;
  }
  return FromIntegers(*a, c.output_type(0));
}

}  // namespace weft::math_values
