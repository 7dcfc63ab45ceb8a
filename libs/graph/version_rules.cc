#include "libs/graph/version_rules.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weft {
namespace {

constexpr int kLastScalarPlaceholder = 21;
constexpr int kFirstStrictReduction = 21;

// The first version without the op, and what TensorFlow recommends.
struct RemovedOp {
  absl::string_view name;
  int version;
  absl::string_view advice;
};

constexpr RemovedOp kRemovedOps[] = {
    {"BatchMatrixBandPart", 14, "Use MatrixBandPart"},
    {"BatchMatrixDiag", 14, "Use MatrixDiag"},
    {"BatchMatrixDiagPart", 14, "Use MatrixDiagPart"},
    {"BatchMatrixSetDiag", 14, "Use MatrixSetDiag"},
    {"BatchNormWithGlobalNormalization", 9, "Use tf.nn.batch_normalization()"},
    {"PlaceholderV2", 23, "Placeholder now behaves the same as PlaceholderV2."},
    {"TensorArray", 16, "Use TensorArrayV3"},
    {"TensorArrayClose", 16, "Use TensorArrayCloseV3"},
    {"TensorArrayCloseV2", 26, "Use TensorArrayCloseV3"},
    {"TensorArrayConcat", 16, "Use TensorArrayGradV3"},
    {"TensorArrayGather", 16, "Use TensorArrayGatherV3"},
    {"TensorArrayGatherV2", 26, "Use TensorArrayGatherV3"},
    {"TensorArrayGrad", 16, "Use TensorArrayGradV3"},
    {"TensorArrayGradV2", 26, "Use TensorArrayGradV3"},
    {"TensorArrayPack", 16, "Use TensorArrayGatherV3 with RangeOp"},
    {"TensorArrayRead", 16, "Use TensorArrayReadV3"},
    {"TensorArrayReadV2", 26, "Use TensorArrayReadV3"},
    {"TensorArrayScatter", 19, "Use TensorArrayGradV3"},
    {"TensorArrayScatterV2", 26, "Use TensorArrayScatterV3"},
    {"TensorArraySize", 16, "Use TensorArraySizeV3"},
    {"TensorArraySizeV2", 26, "Use TensorArraySizeV3"},
    {"TensorArraySplit", 16, "Use TensorArraySplitV3"},
    {"TensorArraySplitV2", 26, "Use TensorArraySplitV3"},
    {"TensorArrayUnpack", 20, "Use TensorArrayScatterV3 with RangeOp"},
    {"TensorArrayV2", 26, "Use TensorArrayV3"},
    {"TensorArrayWrite", 16, "Use TensorArrayWriteV3"},
    {"TensorArrayWriteV2", 26, "Use TensorArrayWriteV3"},
    {"TopK", 7, "Use TopKV2 instead"},
};

constexpr absl::string_view kReductions[] = {
    "All", "Any",  "EuclideanNorm", "Max", "Mean",
    "Min", "Prod", "ReduceJoin",    "Sum"};

// Null for an op that is still there.
const RemovedOp* FindRemoved(absl::string_view name) {
  const auto* found =
      std::find_if(std::begin(kRemovedOps), std::end(kRemovedOps),
                   [name](const RemovedOp& op) { return op.name == name; });
  return found == std::end(kRemovedOps) ? nullptr : found;
}

absl::Status CheckNotRemoved(int producer, const NodeSpec& spec) {
  const RemovedOp* removed = FindRemoved(spec.op);
  if (removed == nullptr || producer < removed->version) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat("Node '", spec.name, "': Op ", spec.op,
                   " is not available in GraphDef version ", producer,
                   ". It has been removed in version ", removed->version, ". ",
                   removed->advice, "."));
}

absl::Status CheckAxes(int producer, const NodeSpec& spec) {
  const auto* end = std::end(kReductions);
  if (producer < kFirstStrictReduction || spec.inputs.size() < 2 ||
      std::find(std::begin(kReductions), end, spec.op) == end) {
    return absl::OkStatus();
  }
  const OutputTensor& axes = spec.inputs[1];
  if (axes.node == nullptr || axes.index >= axes.node->num_outputs()) {
    return absl::OkStatus();
  }
  const PartialShape& shape = axes.node->output_shape(axes.index);
  if (!shape.has_rank() || shape.rank() <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Node '", spec.name, "' (op: '", spec.op,
                   "'): Shape must be at most rank 1 but is rank ",
                   shape.rank(), " for the axes ", TensorName(axes)));
}

void AdaptPlaceholder(int producer, NodeSpec& spec) {
  if (producer > kLastScalarPlaceholder || spec.op != "Placeholder") return;
  const auto attr = spec.attrs.find("shape");
  if (attr == spec.attrs.end()) return;
  const auto* shape = attr->second.Get<PartialShape>();
  if (shape == nullptr || !shape->has_rank() || shape->rank() > 0) return;
  attr->second = PartialShape::UnknownRank();
}

}  // namespace

absl::Status ApplyVersionRules(int producer, NodeSpec& spec) {
  if (absl::Status status = CheckNotRemoved(producer, spec); !status.ok()) {
    return status;
  }
  AdaptPlaceholder(producer, spec);
  return CheckAxes(producer, spec);
}

int VersionOfBuilt(const Graph& graph, int newest) {
  int version = newest;
  for (const Node* node : graph.nodes()) {
    const RemovedOp* removed = FindRemoved(node->type());
    if (removed != nullptr) version = std::min(version, removed->version - 1);
  }
  return version;
}

}  // namespace weft
