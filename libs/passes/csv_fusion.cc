#include "libs/passes/csv_fusion.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "libs/passes/node_fusion.h"
#include "libs/passes/proven_shapes.h"

namespace weft {
namespace {

class CsvFusion : public NodeFusion {
 public:
  CsvFusion(GraphRewrite& rewrite, bool unplaced_too)
      : NodeFusion(rewrite), unplaced_too_(unplaced_too) {}

  void Fuse() {
    for (const Node* node : rewrite_.graph().nodes()) {
      if (node->type() == "Pack") FuseColumns(*node);
    }
  }

 private:
  // Other devices have no kernels.
  bool IsHere(const Node& node) const {
    return node.assigned_device().empty() ? unplaced_too_ : IsOnCpu(node);
  }

  // Returns the DecodeCSV whose outputs are the inputs, each once and in order,
  // without other consumers; else null.
  const Node* ColumnsOf(const Node& pack) const {
    const Node* csv = Producer(pack, 0, "DecodeCSV");
    if (csv == nullptr || csv->num_outputs() != pack.num_inputs() ||
        UsesOf(*csv).size() != static_cast<size_t>(pack.num_inputs()) ||
        IsEndOrAwaited(*csv) || !MayGo(pack, *csv)) {
      return nullptr;
    }
    for (int i = 0; i < pack.num_inputs(); ++i) {
      if (!IsInput(pack, i, {csv, i})) return nullptr;
    }
    return csv;
  }

  // Returns 0 for the first dimension, -1 for the last; nullopt if it may lie
  // between others. The columns have the shape of the records.
  std::optional<int64_t> AxisOf(const Node& pack, const Node& csv) {
    const int64_t axis = AttrOr<int64_t>(pack, "axis", 0);
    if (axis == 0 || axis == -1) return axis;
    // The shapes of a function's arguments are not known here.
    if (unplaced_too_) return std::nullopt;
    if (!shapes_) shapes_.emplace(rewrite_);
    const std::optional<int> rank = shapes_->RankOf(rewrite_.Input(csv, 0));
    if (!rank) return std::nullopt;
    if (axis == *rank) return -1;
    if (axis == -*rank - 1) return 0;
    return std::nullopt;
  }

  void FuseColumns(const Node& pack) {
    if (!IsHere(pack)) return;
    const Node* csv = ColumnsOf(pack);
    if (csv == nullptr) return;
    const std::optional<int64_t> axis = AxisOf(pack, *csv);
    if (!axis) return;
    AttrMap attrs;
    for (const char* name : {"OUT_TYPE", "field_delim", "use_quote_delim",
                             "na_value", "select_cols"}) {
      const auto attr = csv->attrs().find(name);
      if (attr != csv->attrs().end()) attrs[name] = attr->second;
    }
    attrs["T"] = csv->output_type(0);
    attrs["axis"] = *axis;
    std::vector<OutputTensor> inputs;
    for (int i = 0; i < csv->num_inputs(); ++i) {
      inputs.push_back(rewrite_.Input(*csv, i));
    }
    rewrite_.Replace(*csv, {.op = "_DecodeCSVAndPack",
                            .inputs = std::move(inputs),
                            .attrs = std::move(attrs)});
    rewrite_.TakeInstead({&pack, 0}, {csv, 0});
    rewrite_.Remove(pack);
  }

  const bool unplaced_too_;
  std::optional<ProvenShapes> shapes_;  // created on first use
};

}  // namespace

void FuseCsv(GraphRewrite& rewrite, bool unplaced_too) {
  CsvFusion(rewrite, unplaced_too).Fuse();
}

}  // namespace weft
