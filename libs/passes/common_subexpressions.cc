#include "libs/passes/common_subexpressions.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "libs/base/hash_tables.h"

namespace weft {
namespace {

// Only the first elements of a large constant are hashed.
constexpr size_t kHashedBytes = 256;

bool SameFloats(const float* a, const float* b, size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

// Zeros of different sign differ: they may give different results.
bool SameAttr(const AttrValue& a, const AttrValue& b) {
  if (!(a == b)) return false;
  if (const float* x = a.Get<float>()) return SameFloats(x, b.Get<float>(), 1);
  if (const auto* x = a.Get<std::vector<float>>()) {
    return SameFloats(x->data(), b.Get<std::vector<float>>()->data(),
                      x->size());
  }
  return true;
}

bool SameAttrs(const AttrMap& a, const AttrMap& b) {
  return a.size() == b.size() &&
         absl::c_equal(a, b, [](const auto& x, const auto& y) {
           return x.first == y.first && SameAttr(x.second, y.second);
         });
}

// A node with its current inputs.
struct Expression {
  const Node* node = nullptr;
  const Tensor* constant = nullptr;  // its only output, if constant
  std::vector<OutputTensor> inputs;  // empty for a constant
  std::vector<const Node*> controls;

  size_t Hash() const {
    const size_t place =
        absl::HashOf(node->assigned_device(), inputs, controls);
    if (constant == nullptr) return absl::HashOf(place, node->type());
    return absl::HashOf(place, constant->shape().dims(),
                        static_cast<int>(constant->dtype()), HashedBytes());
  }

  bool operator==(const Expression& other) const {
    if (node->assigned_device() != other.node->assigned_device() ||
        inputs != other.inputs || controls != other.controls) {
      return false;
    }
    if (constant != nullptr || other.constant != nullptr) {
      return constant != nullptr && other.constant != nullptr &&
             SameBits(*constant, *other.constant);
    }
    return node->type() == other.node->type() &&
           SameAttrs(node->attrs(), other.node->attrs());
  }

 private:
  absl::string_view HashedBytes() const {
    if (DataTypeSize(constant->dtype()) == 0 || constant->data() == nullptr) {
      return {};
    }
    return {static_cast<const char*>(constant->data()),
            std::min(constant->num_bytes(), kHashedBytes)};
  }
};

Expression ExpressionOf(const GraphRewrite& rewrite, const Node& node) {
  Expression result{.node = &node, .controls = rewrite.ControlInputs(node)};
  if (node.num_outputs() == 1) {
    result.constant = rewrite.ConstantValue({&node, 0});
  }
  if (result.constant != nullptr) return result;
  for (int i = 0; i < node.num_inputs(); ++i) {
    result.inputs.push_back(rewrite.Input(node, i));
  }
  return result;
}

bool MayMerge(const GraphRewrite& rewrite, const Node& node) {
  // A constant that feeds a Merge runs, in one frame; other constants are in
  // every frame.
  return rewrite.IsPure(node) && !rewrite.IsGone(node) &&
         !rewrite.IsEnd(node) && !rewrite.IsPinned(node) &&
         node.num_outputs() > 0;
}

}  // namespace

void MergeCommonSubexpressions(GraphRewrite& rewrite) {
  FlatHashMap<size_t, std::vector<Expression>> seen;
  for (const Node* node : rewrite.graph().nodes()) {
    if (!MayMerge(rewrite, *node)) continue;
    Expression expression = ExpressionOf(rewrite, *node);
    std::vector<Expression>& candidates = seen[expression.Hash()];
    const auto same = absl::c_find(candidates, expression);
    if (same == candidates.end()) {
      candidates.push_back(std::move(expression));
    } else {
      rewrite.Merge(*node, *same->node);
    }
  }
}

}  // namespace weft
