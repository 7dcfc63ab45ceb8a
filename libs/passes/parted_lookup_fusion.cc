#include "libs/passes/parted_lookup_fusion.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "libs/ops/nn/lookup_attrs.h"
#include "libs/passes/node_fusion.h"
#include "libs/passes/node_kinds.h"

namespace weft {
namespace {

// Outputs of Unique, and of its replacement.
constexpr int kValues = 0;
constexpr int kNumbers = 1;
constexpr int kFirstRows = 2;  // of the first part

class PartedLookupFusion : private NodeFusion {
 public:
  using NodeFusion::NodeFusion;

  // Gradients first: they use the shape of the stitched value.
  void Fuse() {
    for (const Node* node : rewrite_.graph().nodes()) AddLookup(*node);
    if (lookups_.empty()) return;
    FuseGradients();
    for (const Lookup& lookup : lookups_) FuseRows(lookup);
    for (const Lookup& lookup : lookups_) FuseIds(lookup);
  }

 private:
  // Rows of distinct ids: each has one place in `stitch`, because `places`
  // partitions the numbers of all of them.
  struct Lookup {
    const Node* unique;
    const Node* places;  // a DynamicPartition
    const Node* stitch;
    int parts;
  };

  void AddLookup(const Node& stitch) {
    if (stitch.type() != "DynamicStitch" &&
        stitch.type() != "ParallelDynamicStitch") {
      return;
    }
    if (!IsFree(stitch) || !IsOnCpu(stitch)) return;
    const Node* places = Producer(stitch, 0, "DynamicPartition");
    const int parts = stitch.num_inputs() / 2;
    if (places == nullptr || places->num_outputs() != parts) return;
    for (int i = 0; i < parts; ++i) {
      if (!IsInput(stitch, i, {places, i})) return;
    }
    const Node* unique = UniqueCountedBy(*places);
    if (unique == nullptr) return;
    lookups_.push_back({unique, places, &stitch, parts});
  }

  // Returns the Unique whose values' numbers, 0 to their count, are
  // partitioned; else null.
  const Node* UniqueCountedBy(const Node& places) const {
    const Node* range = Producer(places, 0, "Range");
    if (range == nullptr || !IsZero(Constant(*range, 0)) ||
        IntegerOf(Constant(*range, 2)) != 1) {
      return nullptr;
    }
    const Node* size = Producer(*range, 1, "Size");
    if (size == nullptr) return nullptr;
    const Node* unique = Producer(*size, 0, "Unique");
    const bool has_numbers =
        unique != nullptr && unique->output_type(kNumbers) == DT_INT32;
    return has_numbers ? unique : nullptr;
  }

  // Returns whether the values are `unique`'s second output, of any shape.
  bool IsIdx(OutputTensor values, const Node& unique) const {
    while (values.node != nullptr && values.node->type() == "Reshape" &&
           IsFree(*values.node)) {
      values = rewrite_.Input(*values.node, 0);
    }
    return values == OutputTensor{&unique, kNumbers};
  }

  // Matches a GatherV2 of whole rows.
  bool GathersRows(const Node& node, const OutputTensor& params) const {
    return node.type() == "GatherV2" && IsInput(node, 0, params) &&
           IsZero(Constant(node, 2)) &&
           AttrOr<int64_t>(node, "batch_dims", 0) == 0;
  }

  // ---- gradients ----

  // If values may be dead, more is needed to know that all inputs are alive.
  void FuseGradients() {
    const auto& nodes = rewrite_.graph().nodes();
    if (absl::c_any_of(nodes, [](const Node* n) { return IsControlFlow(*n); }))
      return;
    for (const Node* node : nodes) {
      if (node->type() != "UnsortedSegmentSum" || !IsFree(*node)) continue;
      for (const Lookup& lookup : lookups_) {
        if (IsSumOf(*node, lookup) && FuseSum(*node, lookup)) break;
      }
    }
  }

  // Matches a sum for each id of the lookup.
  bool IsSumOf(const Node& sum, const Lookup& lookup) const {
    return IsFloatingType(AttrOr<DataType>(sum, "T", DT_INVALID)) &&
           sum.assigned_device() == lookup.stitch->assigned_device() &&
           sum.id() > lookup.places->id() &&
           IsIdx(rewrite_.Input(sum, 1), *lookup.unique) &&
           NumberOfRows(sum, 2, {lookup.stitch, 0}) != nullptr;
  }

  // Returns the part whose rows `node` selects from the sum, if it does no more
  // than that.
  std::optional<int> PartOf(const Node& node, const Node& sum,
                            const Lookup& lookup) const {
    if (!GathersRows(node, {&sum, 0}) || !MayGo(node, sum)) return std::nullopt;
    const OutputTensor at = rewrite_.Input(node, 1);
    return at.node == lookup.places ? std::optional(at.index) : std::nullopt;
  }

  bool FuseSum(const Node& sum, const Lookup& lookup) {
    if (IsEndOrAwaited(sum)) return false;
    for (const Use& use : UsesOf(sum)) {
      if (!PartOf(*use.node, sum, lookup)) return false;
    }
    for (const Use& use : UsesOf(sum)) {
      const int part = *PartOf(*use.node, sum, lookup);
      rewrite_.TakeInstead({use.node, 0}, {&sum, part});
      rewrite_.Remove(*use.node);
    }
    GraphRewrite::Replacement replacement{
        .op = "_SumToParts",
        .inputs = {rewrite_.Input(sum, 0), rewrite_.Input(sum, 1)},
        .attrs = {{"T", *sum.attr<DataType>("T")}, {"N", lookup.parts}}};
    for (int i = 0; i < lookup.parts; ++i) {
      replacement.inputs.push_back({lookup.places, i});
    }
    rewrite_.Replace(sum, std::move(replacement));
    return true;
  }

  // ---- rows ----

  // Returns whether only gradients that have been fused used this shape.
  bool IsOutOfUse(const Node& shape) const {
    if (shape.type() != "Shape" || IsEndOrAwaited(shape)) return false;
    return absl::c_all_of(UsesOf(shape), [&](const Use& use) {
      return use.node->type() == "StridedSlice" && !IsEndOrAwaited(*use.node) &&
             absl::c_all_of(UsesOf(*use.node), [&](const Use& number) {
               return rewrite_.IsReplaced(*number.node) &&
                      number.node->type() == "UnsortedSegmentSum";
             });
    });
  }

  // Returns the only consumer of the stitched value; else null.
  const Node* OnlyGatherOf(const Lookup& lookup) const {
    const Node* gather = nullptr;
    for (const Use& use : UsesOf(*lookup.stitch)) {
      if (IsOutOfUse(*use.node)) continue;
      if (gather != nullptr) return nullptr;
      gather = use.node;
    }
    return gather;
  }

  bool MayBeFused(const Node& gather, const Lookup& lookup) const {
    const OutputTensor at = rewrite_.Input(gather, 1);
    return GathersRows(gather, {lookup.stitch, 0}) &&
           MayGo(gather, *lookup.stitch) && at.node != nullptr &&
           at.node->id() < lookup.stitch->id() && IsIdx(at, *lookup.unique);
  }

  void FuseRows(const Lookup& lookup) {
    const Node& stitch = *lookup.stitch;
    const auto type = AttrOr<DataType>(stitch, "T", DT_INVALID);
    const Node* gather = OnlyGatherOf(lookup);
    if (gather == nullptr || !IsFree(stitch) || IsAwaited(stitch) ||
        DataTypeSize(type) == 0 || !MayBeFused(*gather, lookup)) {
      return;
    }
    GraphRewrite::Replacement replacement{
        .op = "_GatherStitched", .attrs = {{"T", type}, {"N", lookup.parts}}};
    for (int i = 0; i < stitch.num_inputs(); ++i) {
      replacement.inputs.push_back(rewrite_.Input(stitch, i));
    }
    replacement.inputs.push_back(rewrite_.Input(*gather, 1));
    rewrite_.Replace(stitch, std::move(replacement));
    rewrite_.TakeInstead({gather, 0}, {&stitch, 0});
    rewrite_.Remove(*gather);
  }

  // ---- ids ----

  // Matches FloorMod or FloorDiv of the distinct ids by the number of parts.
  bool Divides(const Node* node, absl::string_view op,
               const Lookup& lookup) const {
    return node != nullptr && node->type() == op && IsFree(*node) &&
           IsInput(*node, 0, {lookup.unique, kValues}) &&
           IntegerOf(Constant(*node, 1)) == lookup.parts;
  }

  bool IsDividedByMod(const Lookup& lookup) const {
    const Node* by = rewrite_.Input(*lookup.places, 1).node;
    if (by != nullptr && by->type() == "Cast" && IsFree(*by)) {
      by = rewrite_.Input(*by, 0).node;
    }
    return Divides(by, "FloorMod", lookup);
  }

  // Returns the node that partitions the rows of the ids as `places` is
  // partitioned; else null.
  const Node* RowsOf(const Lookup& lookup) const {
    const OutputTensor parts = rewrite_.Input(*lookup.places, 1);
    for (const Use& use : UsesOf(*parts.node)) {
      const Node& rows = *use.node;
      if (rows.type() == "DynamicPartition" &&
          rows.num_outputs() == lookup.parts && IsInput(rows, 1, parts) &&
          MayGo(rows, *lookup.unique) &&
          Divides(rewrite_.Input(rows, 0).node, "FloorDiv", lookup)) {
        return &rows;
      }
    }
    return nullptr;
  }

  void FuseIds(const Lookup& lookup) {
    const Node& unique = *lookup.unique;
    const auto type = AttrOr<DataType>(unique, "T", DT_INVALID);
    if ((type != DT_INT32 && type != DT_INT64) || !IsFree(unique) ||
        !MayGo(*lookup.places, unique) || !IsDividedByMod(lookup)) {
      return;
    }
    const Node* rows = RowsOf(lookup);
    if (rows == nullptr) return;
    AttrMap attrs = {{"T", type}, {"num_partitions", lookup.parts}};
    for (const char* name : {kLookupTableAttr, kLookupRowsAttr}) {
      const auto attr = unique.attrs().find(name);
      if (attr != unique.attrs().end()) attrs[name] = attr->second;
    }
    rewrite_.Replace(unique, {.op = "_UniquePartition",
                              .inputs = {rewrite_.Input(unique, 0)},
                              .attrs = std::move(attrs)});
    for (int i = 0; i < lookup.parts; ++i) {
      rewrite_.TakeInstead({rows, i}, {&unique, kFirstRows + i});
      rewrite_.TakeInstead({lookup.places, i},
                           {&unique, kFirstRows + lookup.parts + i});
    }
    rewrite_.Remove(*rows);
    rewrite_.Remove(*lookup.places);
  }

  std::vector<Lookup> lookups_;
};

}  // namespace

void FusePartedLookups(GraphRewrite& rewrite) {
  PartedLookupFusion(rewrite).Fuse();
}

}  // namespace weft
