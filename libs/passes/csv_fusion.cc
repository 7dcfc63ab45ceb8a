#include "libs/passes/csv_fusion.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"

namespace weft {
namespace {

class CsvFusion {
 public:
  CsvFusion(GraphRewrite& rewrite, bool unplaced_too)
      : rewrite_(rewrite),
        unplaced_too_(unplaced_too),
        num_uses_(rewrite.graph().num_nodes(), 0),
        is_waited_for_(rewrite.graph().num_nodes(), false) {
    for (const Node* node : rewrite.graph().nodes()) CountUses(*node);
  }

  void Fuse() {
    for (const Node* node : rewrite_.graph().nodes()) {
      if (node->type() == "Pack") FuseColumns(*node);
    }
  }

 private:
  void CountUses(const Node& node) {
    if (rewrite_.IsGone(node)) return;
    for (int i = 0; i < rewrite_.NumInputs(node); ++i) {
      const OutputTensor from = rewrite_.Input(node, i);
      if (from.node != nullptr) ++num_uses_[from.node->id()];
    }
    for (const Node* control : rewrite_.ControlInputs(node)) {
      is_waited_for_[control->id()] = true;
    }
  }

  // Whether the node is there, is what it was, and waits for nothing.
  bool IsFree(const Node& node) const {
    return !rewrite_.IsGone(node) && rewrite_.IsPure(node) &&
           !rewrite_.IsPinned(node) && !rewrite_.IsEnd(node) &&
           rewrite_.NumInputs(node) == node.num_inputs() &&
           rewrite_.ConstantValue({&node, 0}) == nullptr &&
           rewrite_.ControlInputs(node).empty();
  }
  // There are kernels for no other device. The name is a full one.
  bool IsOnCpu(const Node& node) const {
    const auto& device = node.assigned_device();
    return device.empty() ? unplaced_too_
                          : absl::StrContains(device, "/device:CPU:");
  }

  // The DecodeCSV whose outputs are the inputs, each once and in order; else
  // null.
  const Node* ColumnsOf(const Node& pack) const {
    const Node* csv = rewrite_.Input(pack, 0).node;
    if (csv == nullptr || csv->type() != "DecodeCSV" || !IsFree(*csv) ||
        csv->num_outputs() != pack.num_inputs() ||
        csv->assigned_device() != pack.assigned_device() ||
        num_uses_[csv->id()] != pack.num_inputs() ||
        is_waited_for_[csv->id()]) {
      return nullptr;
    }
    for (int i = 0; i < pack.num_inputs(); ++i) {
      if (!(rewrite_.Input(pack, i) == OutputTensor{csv, i})) return nullptr;
    }
    return csv;
  }

  // 0, or -1, the last; none: between dimensions, or perhaps.
  static std::optional<int64_t> AxisOf(const Node& pack) {
    const int64_t* attr = pack.attr<int64_t>("axis");
    const int64_t axis = attr == nullptr ? 0 : *attr;
    if (axis == 0 || axis == -1) return axis;
    return std::nullopt;
  }

  void FuseColumns(const Node& pack) {
    if (!IsFree(pack) || !IsOnCpu(pack) || is_waited_for_[pack.id()]) return;
    const Node* csv = ColumnsOf(pack);
    if (csv == nullptr) return;
    const auto axis = AxisOf(pack);
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

  GraphRewrite& rewrite_;
  const bool unplaced_too_;
  std::vector<int> num_uses_;        // by node id: of all outputs
  std::vector<bool> is_waited_for_;  // by node id
};

}  // namespace

void FuseCsv(GraphRewrite& rewrite, bool unplaced_too) {
  CsvFusion(rewrite, unplaced_too).Fuse();
}

}  // namespace weft
