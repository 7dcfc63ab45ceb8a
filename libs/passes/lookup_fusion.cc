#include "libs/passes/lookup_fusion.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "libs/base/hash_tables.h"
#include "libs/ops/nn/lookup_attrs.h"
#include "libs/passes/node_fusion.h"

namespace weft {
namespace {

// Outputs of the node that replaces a SparseFillEmptyRows.
constexpr int kDistinct = 0;
constexpr int kIdx = 1;
constexpr int kEmptyRows = 2;  // as in SparseFillEmptyRows
constexpr int kRowIds = 3;

bool IsFloat(const Tensor* constant, float value) {
  return constant != nullptr && constant->rank() == 0 &&
         constant->dtype() == DT_FLOAT && constant->scalar<float>() == value;
}

bool HasRank(const OutputTensor& output, int rank) {
  const PartialShape& shape = output.node->output_shape(output.index);
  return shape.has_rank() && shape.rank() == rank;
}

bool MayBeMatrix(const OutputTensor& output) {
  const PartialShape& shape = output.node->output_shape(output.index);
  return !shape.has_rank() || shape.rank() == 2;
}

// Returns "sum" for SparseSegmentSum and for SparseSegmentSumGrad.
std::optional<std::string> CombinerOf(absl::string_view op) {
  if (!absl::ConsumePrefix(&op, "SparseSegment")) return std::nullopt;
  absl::ConsumeSuffix(&op, "Grad");
  if (op == "Sum") return "sum";
  if (op == "Mean") return "mean";
  if (op == "SqrtN") return "sqrtn";
  return std::nullopt;
}

class LookupFusion : private NodeFusion {
 public:
  using NodeFusion::NodeFusion;

  void Fuse() {
    for (const Node* node : rewrite_.graph().nodes()) {
      // Other devices have no kernels.
      if (!IsFree(*node) || !IsOnCpu(*node)) continue;
      if (node->type() == "SparseFillEmptyRows") FuseIds(*node);
      if (node->type() == "SelectV2") FuseCombination(*node);
      if (absl::EndsWith(node->type(), "Grad")) FuseGradient(*node);
      if (node->type() == "StringToHashBucketFast") FuseHash(*node);
      if (node->type() == "Sum") FuseCount(*node);
    }
  }

 private:
  // ---- ids ----

  // Ids without the negative ones.
  struct Retained {
    OutputTensor indices, ids;
  };

  // Matches a GatherV2 of rows `at`, along the first dimension.
  const Node* GatherOfRows(const Node& node, int input) const {
    const Node* gather = Producer(node, input, "GatherV2");
    if (gather == nullptr || !IsZero(Constant(*gather, 2))) return nullptr;
    return AttrOr<int64_t>(*gather, "batch_dims", 0) == 0 ? gather : nullptr;
  }

  std::optional<Retained> RetainedOf(const Node& fill) const {
    const Node* indices = GatherOfRows(fill, 0);
    const Node* ids = GatherOfRows(fill, 1);
    if (indices == nullptr || ids == nullptr) return std::nullopt;
    const Node* at = Producer(*ids, 1, "Reshape");
    if (at == nullptr || !IsInput(*indices, 1, {at, 0}) ||
        !AreIntegers(Constant(*at, 1), {-1})) {
      return std::nullopt;
    }
    const Node* where = Producer(*at, 0, "Where");
    if (where == nullptr) return std::nullopt;
    const Node* is_kept = Producer(*where, 0, "GreaterEqual");
    if (is_kept == nullptr || !IsZero(Constant(*is_kept, 1)) ||
        !IsInput(*is_kept, 0, rewrite_.Input(*ids, 0))) {
      return std::nullopt;
    }
    const Retained retained = {rewrite_.Input(*indices, 0),
                               rewrite_.Input(*ids, 0)};
    const bool may_be_taken = rewrite_.MayBeTaken(retained.indices) &&
                              rewrite_.MayBeTaken(retained.ids);
    return may_be_taken ? std::optional(retained) : std::nullopt;
  }

  bool IsFirstColumn(const Node& node) const {
    return node.type() == "StridedSlice" && IsFree(node) &&
           AreIntegers(Constant(node, 1), {0, 0}) &&
           AreIntegers(Constant(node, 2), {0, 1}) &&
           AreIntegers(Constant(node, 3), {1, 1}) &&
           AttrOr<int64_t>(node, "begin_mask", 0) == 1 &&
           AttrOr<int64_t>(node, "end_mask", 0) == 1 &&
           AttrOr<int64_t>(node, "ellipsis_mask", 0) == 0 &&
           AttrOr<int64_t>(node, "new_axis_mask", 0) == 0 &&
           AttrOr<int64_t>(node, "shrink_axis_mask", 0) == 2;
  }

  // Adds the Casts of the first column to int32, if the column has no other
  // consumers.
  bool AddRowNumbers(const Node& column, const Node& fill,
                     std::vector<const Node*>& casts) const {
    if (!IsFirstColumn(column) || !MayGo(column, fill)) return false;
    for (const Use& use : UsesOf(column)) {
      const bool is_cast =
          use.node->type() == "Cast" && use.node->output_type(0) == DT_INT32;
      if (!is_cast || !MayGo(*use.node, fill)) return false;
      casts.push_back(use.node);
    }
    return true;
  }

  // The consumers of the outputs of a SparseFillEmptyRows.
  struct Takers {
    std::vector<const Node*> uniques, casts, columns;
  };

  std::optional<Takers> TakersOf(const Node& fill) const {
    Takers takers;
    for (const Use& use : UsesOf(fill)) {
      if (use.output == kEmptyRows) continue;
      if (use.output == 0) {
        if (!AddRowNumbers(*use.node, fill, takers.casts)) return std::nullopt;
        takers.columns.push_back(use.node);
        continue;
      }
      const bool is_unique = use.output == 1 && use.node->type() == "Unique" &&
                             use.node->output_type(1) == DT_INT32;
      if (!is_unique || !MayGo(*use.node, fill)) return std::nullopt;
      takers.uniques.push_back(use.node);
    }
    return takers;
  }

  // Uses the smallest of the tables in which the ids are looked up.
  static AttrMap BoundsOf(const std::vector<const Node*>& uniques,
                          DataType type) {
    AttrMap attrs = {{"T", type}};
    std::optional<int64_t> least;
    for (const Node* unique : uniques) {
      const auto* rows = unique->attr<int64_t>(kLookupRowsAttr);
      const auto* table = unique->attr<std::string>(kLookupTableAttr);
      if (rows == nullptr || table == nullptr || (least && *least <= *rows))
        continue;
      least = *rows;
      attrs[kLookupRowsAttr] = *rows;
      attrs[kLookupTableAttr] = *table;
    }
    return attrs;
  }

  void FuseIds(const Node& fill) {
    const std::optional<Retained> retained = RetainedOf(fill);
    if (!retained) return;
    const std::optional<Takers> takers = TakersOf(fill);
    if (!takers) return;
    const auto type = AttrOr<DataType>(fill, "T", DT_INVALID);
    if (type != DT_INT32 && type != DT_INT64) return;
    rewrite_.Replace(
        fill, {.op = "_UniqueRowIds",
               .inputs = {retained->indices, retained->ids,
                          rewrite_.Input(fill, 2), rewrite_.Input(fill, 3)},
               .attrs = BoundsOf(takers->uniques, type)});
    ids_.insert(&fill);
    for (const Node* unique : takers->uniques) {
      rewrite_.TakeInstead({unique, 0}, {&fill, kDistinct});
      rewrite_.TakeInstead({unique, 1}, {&fill, kIdx});
      rewrite_.Remove(*unique);
    }
    for (const Node* cast : takers->casts) {
      rewrite_.TakeInstead({cast, 0}, {&fill, kRowIds});
      rewrite_.Remove(*cast);
    }
    for (const Node* column : takers->columns) rewrite_.Remove(*column);
  }

  // ---- rows ----

  // Returns the _UniqueRowIds whose rows without an id `node`, a SelectV2,
  // replaces.
  const Node* IdsOfCondition(const Node& node) const {
    const Node* column = Producer(node, 0, "Reshape");
    if (column == nullptr || !AreIntegers(Constant(*column, 1), {-1, 1})) {
      return nullptr;
    }
    const OutputTensor empty = rewrite_.Input(*column, 0);
    const bool is_ours = empty.index == kEmptyRows && ids_.contains(empty.node);
    return is_ours ? empty.node : nullptr;
  }

  bool TakesIds(const Node& node, const Node& ids) const {
    return IsInput(node, 1, {&ids, kIdx}) &&
           IsInput(node, 2, {&ids, kRowIds}) &&
           node.assigned_device() == ids.assigned_device();
  }

  static bool IsOfFloats(const Node& node) {
    const auto type = AttrOr<DataType>(node, "T", DT_INVALID);
    return type == DT_FLOAT || type == DT_DOUBLE;
  }

  void FuseCombination(const Node& select) {
    const Node* ids = IdsOfCondition(select);
    if (ids == nullptr) return;
    const Node* sum = rewrite_.Input(select, 2).node;
    if (sum == nullptr || !IsFree(*sum) || sum->num_outputs() != 1) return;
    const auto combiner = CombinerOf(sum->type());
    if (!combiner || sum->num_inputs() != 3 || !IsOfFloats(*sum) ||
        !TakesIds(*sum, *ids) ||
        // SparseSegmentSum takes a tensor of any rank, _CombineRows only a
        // matrix.
        !HasRank(rewrite_.Input(*sum, 0), 2) ||
        sum->assigned_device() != select.assigned_device()) {
      return;
    }
    const Node* zeros = Producer(select, 1, "ZerosLike");
    if (zeros == nullptr || !IsInput(*zeros, 0, {sum, 0})) return;
    rewrite_.Replace(select, {.op = "_CombineRows",
                              .inputs = {rewrite_.Input(*sum, 0),
                                         {ids, kIdx},
                                         {ids, kRowIds},
                                         {ids, kEmptyRows}},
                              .attrs = {{"T", *sum->attr<DataType>("T")},
                                        {"combiner", *combiner}}});
    combinations_[ids].push_back({sum, &select});
    // Both have the same shape.
    for (const Use& use : UsesOf(*sum)) {
      if (use.node->type() == "Shape" && use.node->id() > select.id() &&
          IsFree(*use.node)) {
        rewrite_.SetInput(*use.node, 0, {&select, 0});
      }
    }
  }

  // ---- gradients ----

  struct Combination {
    const Node* sum;
    const Node* select;
  };

  // Returns the combination whose shape `node`'s input is.
  const Combination* ShapeOf(const Node& node, int input,
                             const Node& ids) const {
    const Node* shape = Producer(node, input, "Shape");
    const auto found = combinations_.find(&ids);
    if (shape == nullptr || found == combinations_.end()) return nullptr;
    for (const Combination& combination : found->second) {
      if (IsInput(*shape, 0, {combination.select, 0})) return &combination;
    }
    return nullptr;
  }

  // Skips a sum over broadcast dimensions, which has no effect if both shapes
  // are equal. Null if that is not known.
  const Node* BeforeSum(const Node& gradient, const Node& ids,
                        const Combination*& of) const {
    const Node* reshaped = Producer(gradient, 0, "Reshape");
    if (reshaped == nullptr) return nullptr;
    of = ShapeOf(*reshaped, 1, ids);
    const Node* sum = Producer(*reshaped, 0, "Sum");
    if (of == nullptr || sum == nullptr) return nullptr;
    const Node* axes = rewrite_.Input(*sum, 1).node;
    if (axes == nullptr || axes->type() != "BroadcastGradientArgs" ||
        !IsFree(*axes) || ShapeOf(*axes, 0, ids) != of ||
        ShapeOf(*axes, 1, ids) != of) {
      return nullptr;
    }
    return sum;
  }

  void FuseGradient(const Node& gradient) {
    const auto combiner = CombinerOf(gradient.type());
    if (!combiner || gradient.num_inputs() != 4 || !IsOfFloats(gradient)) {
      return;
    }
    const Node* ids = rewrite_.Input(gradient, 1).node;
    if (!ids_.contains(ids) || !TakesIds(gradient, *ids)) return;
    const Combination* of = nullptr;
    const Node* sum = BeforeSum(gradient, *ids, of);
    if (sum == nullptr || CombinerOf(of->sum->type()) != combiner) return;
    const Node* chosen = Producer(*sum, 0, "SelectV2");
    if (chosen == nullptr || IdsOfCondition(*chosen) != ids ||
        !IsZero(Constant(*chosen, 1)) ||
        // It has the shape of the combination, which is a matrix.
        !MayBeMatrix(rewrite_.Input(*chosen, 2))) {
      return;
    }
    const OutputTensor data = rewrite_.Input(*of->select, 0);
    if (NumberOfRows(gradient, 3, data) == nullptr) return;
    rewrite_.Replace(gradient, {.op = "_CombineRowsGrad",
                                .inputs = {rewrite_.Input(*chosen, 2),
                                           {ids, kIdx},
                                           {ids, kRowIds},
                                           {ids, kEmptyRows},
                                           data},
                                .attrs = {{"T", *gradient.attr<DataType>("T")},
                                          {"combiner", *combiner}}});
  }

  // ---- strings ----

  bool AreNotEmpty(const Node& where, const OutputTensor& texts) const {
    const Node* compared = Producer(where, 0, "NotEqual");
    if (compared == nullptr || !IsInput(*compared, 0, texts)) return false;
    const Tensor* empty = Constant(*compared, 1);
    return empty != nullptr && empty->rank() == 0 &&
           empty->dtype() == DT_STRING && empty->scalar<std::string>().empty();
  }

  void FuseHash(const Node& hash) {
    const Node* chosen = Producer(hash, 0, "GatherNd");
    if (chosen == nullptr) return;
    const Node* where = Producer(*chosen, 1, "Where");
    const OutputTensor texts = rewrite_.Input(*chosen, 0);
    const auto* num_buckets = hash.attr<int64_t>("num_buckets");
    if (where == nullptr || num_buckets == nullptr || !MayGo(hash, *where) ||
        texts.node == nullptr || texts.node->id() >= where->id() ||
        !AreNotEmpty(*where, texts)) {
      return;
    }
    rewrite_.Replace(*where, {.op = "_WhereHashed",
                              .inputs = {texts},
                              .attrs = {{"num_buckets", *num_buckets}}});
    rewrite_.TakeInstead({&hash, 0}, {where, 1});
    rewrite_.Remove(hash);
  }

  // ---- counts ----

  // Returns whether `user` is the only consumer of `node`, which is not fetched
  // either.
  bool IsOnlyFor(const Node& user, const Node& node) const {
    const absl::Span<const Use> uses = UsesOf(node);
    return uses.size() == 1 && uses[0].node == &user && !rewrite_.IsEnd(node);
  }

  // Matches ones at the ids, and zeros elsewhere.
  bool IsOneHot(const Node& node) const {
    const auto depth = IntegerOf(Constant(node, 1));
    return depth && *depth >= 0 && IsFloat(Constant(node, 2), 1) &&
           IsFloat(Constant(node, 3), 0) &&
           AttrOr<int64_t>(node, "axis", -1) == -1;
  }

  // Its ids are counted where they are not negative: elsewhere there are none.
  bool IsOfIds(const Node& to_dense) const {
    const auto type = AttrOr<DataType>(to_dense, "T", DT_INVALID);
    return (type == DT_INT32 || type == DT_INT64) &&
           IntegerOf(Constant(to_dense, 3)) == -1 &&
           AttrOr<DataType>(to_dense, "Tindices", DT_INVALID) == DT_INT64 &&
           AttrOr<bool>(to_dense, "validate_indices", true) &&
           // It also takes a vector of indices, which _CountIds does not.
           HasRank(rewrite_.Input(to_dense, 0), 2);
  }

  // SparseToDense is the node that can fail, so its node stays.
  void FuseCount(const Node& sum) {
    const Node* ones = Producer(sum, 0, "OneHot");
    if (ones == nullptr || !AreIntegers(Constant(sum, 1), {-2}) ||
        AttrOr<bool>(sum, "keep_dims", false) || !IsOneHot(*ones)) {
      return;
    }
    const Node* to_dense = Producer(*ones, 0, "SparseToDense");
    if (to_dense == nullptr || !IsOfIds(*to_dense) || !IsOnlyFor(sum, *ones) ||
        !IsOnlyFor(*ones, *to_dense) || !MayGo(sum, *to_dense) ||
        !MayGo(*ones, *to_dense)) {
      return;
    }
    rewrite_.Replace(
        *to_dense,
        {.op = "_CountIds",
         .inputs = {rewrite_.Input(*to_dense, 0), rewrite_.Input(*to_dense, 2),
                    rewrite_.Input(*to_dense, 1)},
         .attrs = {{"depth", *IntegerOf(Constant(*ones, 1))},
                   {"T", *to_dense->attr<DataType>("T")}}});
    rewrite_.TakeInstead({&sum, 0}, {to_dense, 0});
    rewrite_.Remove(sum);
    rewrite_.Remove(*ones);
  }

  FlatHashSet<const Node*> ids_;  // nodes replaced by a _UniqueRowIds
  // Keyed by the _UniqueRowIds node whose ids the combinations use.
  FlatHashMap<const Node*, std::vector<Combination>> combinations_;
};

}  // namespace

void FuseLookups(GraphRewrite& rewrite) { LookupFusion(rewrite).Fuse(); }

}  // namespace weft
