#include "libs/passes/element_fusion.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/hash_tables.h"
#include "libs/passes/node_fusion.h"
#include "libs/passes/node_kinds.h"

namespace weft {
namespace {

// In order of id; the last gives the result.
using Members = std::vector<const Node*>;

// More members improve little.
constexpr size_t kMaxMembers = 16;
// The inputs of a fused node are needed until its last one is: a sum of many
// tensors, each of which could be freed after it has been added, would keep all
// of them.
constexpr size_t kMaxArgs = 6;

constexpr absl::string_view kProducts[] = {"Conv2D", "DepthwiseConv2dNative",
                                           "MatMul"};

// Ops so expensive that the location of their operands does not matter are
// excluded.
constexpr absl::string_view kUnary[] = {
    "Abs",      "Ceil",  "Cos",    "Elu",        "Exp",  "Floor", "Inv",
    "Log",      "Log1p", "Neg",    "Reciprocal", "Relu", "Relu6", "Rint",
    "Round",    "Rsqrt", "Selu",   "Sigmoid",    "Sign", "Sin",   "Softplus",
    "Softsign", "Sqrt",  "Square", "Tanh",
};
constexpr absl::string_view kBinary[] = {
    "Add",     "AddV2", "Div",     "Maximum",
    "Minimum", "Mul",   "RealDiv", "SquaredDifference",
    "Sub",
};
// Gradient ops, by the operand that is the incoming gradient.
constexpr absl::string_view kGradientsOfFirst[] = {
    "EluGrad",  "Relu6Grad",    "ReluGrad",
    "SeluGrad", "SoftplusGrad", "SoftsignGrad",
};
constexpr absl::string_view kGradientsOfSecond[] = {
    "InvGrad",     "ReciprocalGrad", "RsqrtGrad",
    "SigmoidGrad", "SqrtGrad",       "TanhGrad",
};

template <size_t kSize>
bool IsOneOf(const absl::string_view (&ops)[kSize], const Node& node) {
  return std::find(std::begin(ops), std::end(ops),
                   absl::string_view(node.type())) != std::end(ops);
}

bool IsUnary(const Node& node) { return IsOneOf(kUnary, node); }

bool IsBias(const Node& node) {
  return node.type() == "BiasAdd" &&
         AttrOr<std::string>(node, "data_format", "NHWC") == "NHWC";
}

// Returns whether the op combines pairs of elements.
bool IsBinary(const Node& node) {
  return IsOneOf(kBinary, node) || IsOneOf(kGradientsOfFirst, node) ||
         IsOneOf(kGradientsOfSecond, node);
}

DataType TypeOf(const Node& node) {
  return AttrOr<DataType>(node, "T", DT_INVALID);
}

bool HasFloats(const Node& node) {
  const DataType type = TypeOf(node);
  return type == DT_FLOAT || type == DT_DOUBLE || type == DT_HALF ||
         type == DT_BFLOAT16;
}

const PartialShape& ShapeOf(const OutputTensor& output) {
  return output.node->output_shape(output.index);
}

bool IsScalar(const PartialShape& shape) {
  return shape.has_rank() && shape.rank() == 0;
}

// A size of 1 is usually meant to be broadcast (keep_dims), so an unknown size
// beside it is assumed to differ.
bool AreLikelyEqual(int64_t a, int64_t b) {
  if (a == PartialShape::kUnknown) std::swap(a, b);
  return a == b || (b == PartialShape::kUnknown && a != 1);
}

// Decides by the static shapes. If one of them is unknown, they may well
// differ.
bool AreLikelyEqual(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return a.has_rank() == b.has_rank();
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (!AreLikelyEqual(a.dim(i), b.dim(i))) return false;
  }
  return true;
}

// Returns whether `row` is likely broadcast over the rows of `whole`, by the
// static shapes.
bool IsLikelyRowOf(const PartialShape& row, const PartialShape& whole) {
  if (!row.has_rank() || row.rank() != 1) return false;
  if (!whole.has_rank() || whole.rank() < 2) return false;
  return AreLikelyEqual(row.dim(0), whole.dim(whole.rank() - 1));
}

// Returns whether the kernels of fused nodes take such operands directly.
bool LikelyMeet(const PartialShape& x, const PartialShape& y) {
  return AreLikelyEqual(x, y) || IsScalar(x) || IsScalar(y) ||
         IsLikelyRowOf(x, y) || IsLikelyRowOf(y, x);
}

class ElementFusion : private NodeFusion {
 public:
  explicit ElementFusion(GraphRewrite& rewrite)
      : NodeFusion(rewrite),
        is_gone_(rewrite.graph().num_nodes(), false),
        is_after_write_(rewrite.graph().num_nodes(), false) {
    for (const Node* node : rewrite.graph().nodes()) NoteWrites(*node);
  }

  void Fuse() {
    const auto nodes = rewrite_.graph().nodes();
    for (const Node* node : nodes) {
      if (IsOneOf(kProducts, *node)) FuseProduct(*node);
    }
    // Consumers first: each node is joined to its last possible consumer.
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      if (IsElementwise(**it)) FuseChain(**it);
    }
  }

 private:
  // ---- members of a fused node ----

  // There are kernels for CPUs and these types only.
  bool MayBeMember(const Node& node) const {
    return !is_gone_[node.id()] && !rewrite_.IsGone(node) &&
           rewrite_.IsPure(node) && !rewrite_.IsReplaced(node) &&
           rewrite_.NumInputs(node) == node.num_inputs() &&
           rewrite_.ConstantValue({&node, 0}) == nullptr &&
           rewrite_.ControlInputs(node).empty() && IsOnCpu(node) &&
           HasFloats(node) && TakesValues(node);
  }
  // A back edge of a loop can only be an input of a Merge; references are
  // excluded, too.
  bool TakesValues(const Node& node) const {
    for (int i = 0; i < rewrite_.NumInputs(node); ++i) {
      const OutputTensor from = rewrite_.Input(node, i);
      if (from.node == nullptr || from.node->id() >= node.id() ||
          from.node->output_type(from.index) != TypeOf(node)) {
        return false;
      }
    }
    return true;
  }
  // Returns whether only its consumers need the node.
  bool MayDisappear(const Node& node) const {
    return MayBeMember(node) && IsFree(node) && !IsEndOrAwaited(node);
  }

  bool IsElementwise(const Node& node) const {
    const bool is_binary = IsBinary(node);
    if (!is_binary && !IsUnary(node) && !IsBias(node)) return false;
    if (!MayBeMember(node)) return false;
    if (!is_binary) return true;
    return LikelyMeet(ShapeOf(rewrite_.Input(node, 0)),
                      ShapeOf(rewrite_.Input(node, 1)));
  }

  // ---- products ----

  void FuseProduct(const Node& product) {
    Members members = {&product};
    while (members.size() < kMaxMembers) {
      const Node* next = FunctionOf(*members.back());
      if (next == nullptr) break;
      members.push_back(next);
    }
    if (members.size() > 1 && ReadsStay(members)) Replace(members);
  }

  // Returns the only consumer of the output, if it applies a function to it and
  // waits for no later node.
  const Node* FunctionOf(const Node& node) const {
    if (!MayDisappear(node) || UsesOf(node).size() != 1) return nullptr;
    const Node& next = *UsesOf(node)[0].node;
    if (!MayBeMember(next) || TypeOf(next) != TypeOf(node) ||
        next.assigned_device() != node.assigned_device()) {
      return nullptr;
    }
    int input = -1;
    if (IsUnary(next) || IsBias(next) || IsOneOf(kGradientsOfFirst, next)) {
      input = 0;
    } else if (IsOneOf(kGradientsOfSecond, next)) {
      input = 1;
    } else if (IsSumWithRow(next)) {
      input = IsInput(next, 0, {&node, 0}) ? 0 : 1;
    }
    return input >= 0 && IsInput(next, input, {&node, 0}) ? &next : nullptr;
  }

  // Old programs use this instead of a BiasAdd.
  bool IsSumWithRow(const Node& node) const {
    if (node.type() != "Add" && node.type() != "AddV2") return false;
    const PartialShape& x = ShapeOf(rewrite_.Input(node, 0));
    const PartialShape& y = ShapeOf(rewrite_.Input(node, 1));
    return IsLikelyRowOf(x, y) || IsLikelyRowOf(y, x);
  }

  // ---- chains ----

  void FuseChain(const Node& last) {
    std::set<int> members = {last.id()};
    std::set<int> candidates;
    AddProducers(last, candidates);
    // Later ones first: all consumers of a node are decided before it.
    while (!candidates.empty() && members.size() < kMaxMembers) {
      const int id = *std::prev(candidates.end());
      candidates.erase(id);
      const Node& node = *rewrite_.graph().node(id);
      if (!MayJoin(node, last, members)) continue;
      members.insert(id);
      if (ArgsOf(NodesOf(members)).size() <= kMaxArgs) {
        AddProducers(node, candidates);
      } else {
        members.erase(id);
      }
    }
    const Members nodes = NodesOf(members);
    if (nodes.size() > 1 && ReadsStay(nodes)) Replace(nodes);
  }

  Members NodesOf(const std::set<int>& ids) const {
    Members nodes;
    for (const int id : ids) nodes.push_back(rewrite_.graph().node(id));
    return nodes;
  }

  void AddProducers(const Node& node, std::set<int>& candidates) const {
    const int end = IsBias(node) ? 1 : rewrite_.NumInputs(node);
    for (int i = 0; i < end; ++i) {
      candidates.insert(rewrite_.Input(node, i).node->id());
    }
  }

  bool MayJoin(const Node& node, const Node& last,
               const std::set<int>& members) const {
    return IsElementwise(node) && MayDisappear(node) &&
           TypeOf(node) == TypeOf(last) &&
           node.assigned_device() == last.assigned_device() &&
           AreLikelyEqual(ShapeOf({&node, 0}), ShapeOf({&last, 0})) &&
           absl::c_all_of(UsesOf(node), [&](const Use& use) {
             return members.contains(use.node->id());
           });
  }

  // ---- reads of variables ----

  // An op that takes a reference may change the variable.
  static bool MayWrite(const Node& node) {
    return !absl::StartsWith(node.type(), "Ref") &&
           absl::c_any_of(node.input_types(), IsRefType);
  }

  void NoteWrites(const Node& node) {
    bool is_after = MayWrite(node);
    for (int i = 0; i < rewrite_.NumInputs(node); ++i) {
      const Node* from = rewrite_.Input(node, i).node;
      is_after |= from != nullptr && is_after_write_[from->id()];
    }
    for (const Node* control : rewrite_.ControlInputs(node)) {
      is_after |= is_after_write_[control->id()];
    }
    is_after_write_[node.id()] = is_after;
  }

  // Returns whether it may be read again by its consumer, after a change.
  bool MayBeReadLate(const OutputTensor& output) const {
    return !rewrite_.MayBeTaken(output) && !IsControlFlow(*output.node);
  }

  // Returns whether no member that reads a variable is fused with another one
  // that comes, by its dependencies, after a change of a variable.
  bool ReadsStay(const Members& members) const {
    for (const Node* node : members) {
      if (node == members.back() || !ReadsVariable(*node)) continue;
      for (const Node* other : members) {
        if (other != node && ComesAfterWrite(*other, members)) return false;
      }
    }
    return true;
  }
  bool ReadsVariable(const Node& node) const {
    for (int i = 0; i < rewrite_.NumInputs(node); ++i) {
      if (MayBeReadLate(rewrite_.Input(node, i))) return true;
    }
    return false;
  }
  // Considers inputs from outside the members only.
  bool ComesAfterWrite(const Node& node, const Members& members) const {
    for (int i = 0; i < rewrite_.NumInputs(node); ++i) {
      const Node* from = rewrite_.Input(node, i).node;
      if (is_after_write_[from->id()] && !absl::c_linear_search(members, from))
        return true;
    }
    return false;
  }

  // ---- the fused node ----

  // Returns the inputs of the members, once each; without those that a product
  // multiplies.
  std::vector<OutputTensor> ArgsOf(const Members& members) const {
    std::vector<OutputTensor> args;
    for (const Node* node : members) {
      if (IsOneOf(kProducts, *node)) continue;
      for (int i = 0; i < rewrite_.NumInputs(*node); ++i) {
        const OutputTensor from = rewrite_.Input(*node, i);
        if (!absl::c_linear_search(members, from.node) &&
            !absl::c_linear_search(args, from)) {
          args.push_back(from);
        }
      }
    }
    return args;
  }

  void Replace(const Members& members) {
    const Node& first = *members.front();
    const Node& last = *members.back();
    const bool has_product = IsOneOf(kProducts, first);
    const std::vector<OutputTensor> args = ArgsOf(members);
    GraphRewrite::Replacement fused;
    fused.op = has_product ? absl::StrCat("_Fused", first.type())
                           : "_FusedElementwise";
    FlatHashMap<OutputTensor, int64_t> numbers;
    for (const OutputTensor& arg : args) {
      numbers.emplace(arg, static_cast<int64_t>(numbers.size()));
    }
    std::vector<std::string> ops, names;
    std::vector<int64_t> operands;
    for (const Node* node : members) {
      names.push_back(node->name());
      const auto number = static_cast<int64_t>(numbers.size());
      if (!IsOneOf(kProducts, *node)) {
        ops.push_back(node->type());
        const bool has_two = rewrite_.NumInputs(*node) == 2;
        operands.push_back(numbers.at(rewrite_.Input(*node, 0)));
        operands.push_back(has_two ? numbers.at(rewrite_.Input(*node, 1)) : -1);
      }
      numbers.emplace(OutputTensor{node, 0}, number);
    }
    if (has_product) {
      fused.attrs = AttrsOfProduct(first);
      fused.inputs = {rewrite_.Input(first, 0), rewrite_.Input(first, 1)};
    }
    fused.inputs.insert(fused.inputs.end(), args.begin(), args.end());
    fused.attrs["T"] = TypeOf(last);
    fused.attrs["num_args"] = static_cast<int64_t>(args.size());
    fused.attrs["fused_ops"] = std::move(ops);
    fused.attrs["fused_names"] = std::move(names);
    fused.attrs["fused_operands"] = std::move(operands);
    for (const Node* node : members) is_gone_[node->id()] = node != &last;
    rewrite_.Replace(last, std::move(fused));
  }

  static AttrMap AttrsOfProduct(const Node& product) {
    AttrMap attrs;
    for (const char* name : {"transpose_a", "transpose_b", "strides", "padding",
                             "explicit_paddings", "data_format", "dilations"}) {
      const auto value = product.attrs().find(name);
      if (value != product.attrs().end()) attrs.insert(*value);
    }
    return attrs;
  }

  std::vector<bool> is_gone_;  // by node id: the node was fused into another
  // By node id: the node runs after a change of a variable.
  std::vector<bool> is_after_write_;
};

}  // namespace

void FuseElements(GraphRewrite& rewrite) { ElementFusion(rewrite).Fuse(); }

}  // namespace weft
