#include "libs/graph/version_rules.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/unknown_op.h"

namespace weft {
namespace {

constexpr int kLastScalarPlaceholder = 21;
constexpr int kFirstStrictReduction = 21;
// An attr that marks functions that were built in this program. It exists in
// memory only.
constexpr absl::string_view kBuiltHere = "_weft_built_here";

// RemovedOp has the first version without an op, and TensorFlow's advice on
// what to use instead. The table has the deprecations of the ops of TensorFlow
// 2.21.
struct RemovedOp {
  absl::string_view name;
  int version;
  absl::string_view advice;
};

constexpr RemovedOp kRemovedOps[] = {
    {"AdjustContrast", 2, "Use AdjustContrastv2 instead"},
    {"AudioSummary", 15, "Use AudioSummaryV2."},
    {"BatchCholesky", 13, "Use Cholesky instead."},
    {"BatchCholeskyGrad", 13, "Use CholeskyGrad instead."},
    {"BatchFFT", 15, "Use FFT"},
    {"BatchFFT2D", 15, "Use FFT2D"},
    {"BatchFFT3D", 15, "Use FFT3D"},
    {"BatchIFFT", 15, "Use IFFT"},
    {"BatchIFFT2D", 15, "Use IFFT2D"},
    {"BatchIFFT3D", 15, "Use IFFT3D"},
    {"BatchMatrixBandPart", 14, "Use MatrixBandPart"},
    {"BatchMatrixDeterminant", 13, "Use MatrixDeterminant instead."},
    {"BatchMatrixDiag", 14, "Use MatrixDiag"},
    {"BatchMatrixDiagPart", 14, "Use MatrixDiagPart"},
    {"BatchMatrixInverse", 13, "Use MatrixInverse instead."},
    {"BatchMatrixSetDiag", 14, "Use MatrixSetDiag"},
    {"BatchMatrixSolve", 13, "Use MatrixSolve instead."},
    {"BatchMatrixSolveLs", 13, "Use MatrixSolveLs instead."},
    {"BatchMatrixTriangularSolve", 13, "Use MatrixTriangularSolve instead."},
    {"BatchNormWithGlobalNormalization", 9, "Use tf.nn.batch_normalization()"},
    {"BatchNormWithGlobalNormalizationGrad", 9,
     "Use tf.nn.batch_normalization()"},
    {"BatchSelfAdjointEig", 11, "Use SelfAdjointEigV2 instead."},
    {"BatchSelfAdjointEigV2", 13, "Use SelfAdjointEigV2 instead."},
    {"BatchSvd", 13, "Use Svd instead."},
    {"Conv3DBackpropFilter", 10, "Use Conv3DBackpropFilterV2"},
    {"Conv3DBackpropInput", 10, "Use Conv3DBackpropInputV2"},
    {"FixedLengthRecordReader", 26, "Use FixedLengthRecordReaderV2"},
    {"IdentityReader", 26, "Use IdentityReaderV2"},
    {"MatrixExponential", 27,
     "Use Python implementation tf.linalg.matrix_exponential instead."},
    {"NegTrain", 19,
     "Moving word2vec into tensorflow_models/tutorials and deprecating its ops "
     "here as a result"},
    {"PlaceholderV2", 23, "Placeholder now behaves the same as PlaceholderV2."},
    {"QuantizeAndDequantize", 22, "Replaced by QuantizeAndDequantizeV2"},
    {"RandomCrop", 8, "Random crop is now pure Python"},
    {"RandomPoisson", 25, "Replaced by RandomPoissonV2"},
    {"SelfAdjointEig", 11, "Use SelfAdjointEigV2 instead."},
    {"Skipgram", 19,
     "Moving word2vec into tensorflow_models/tutorials and deprecating its ops "
     "here as a result"},
    {"StatefulStandardNormal", 29, "Use StatefulStandardNormalV2 instead"},
    {"TFRecordReader", 26, "Use TFRecordReaderV2"},
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
    {"TextLineReader", 26, "Use TextLineReaderV2"},
    {"TileGrad", 3, "TileGrad has been replaced with reduce_sum"},
    {"TopK", 7, "Use TopKV2 instead"},
};

constexpr absl::string_view kReductions[] = {
    "All", "Any",  "EuclideanNorm", "Max", "Mean",
    "Min", "Prod", "ReduceJoin",    "Sum"};

// Returns the entry of a removed op, or null for an op that still exists.
const RemovedOp* FindRemoved(absl::string_view name) {
  const auto* found =
      std::find_if(std::begin(kRemovedOps), std::end(kRemovedOps),
                   [name](const RemovedOp& op) { return op.name == name; });
  return found == std::end(kRemovedOps) ? nullptr : found;
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

absl::Status CheckNotRemoved(int producer, absl::string_view node,
                             absl::string_view op) {
  const RemovedOp* removed = FindRemoved(op);
  if (removed == nullptr || producer < removed->version) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat(
      "Node '", node, "': Op ", op, " is not available in GraphDef version ",
      producer, ". It has been removed in version ", removed->version, ". ",
      removed->advice, "."));
}

absl::Status AdaptToVersion(int producer, NodeSpec& spec) {
  AdaptPlaceholder(producer, spec);
  return CheckAxes(producer, spec);
}

absl::Status ApplyVersionRules(int producer, NodeSpec& spec) {
  RETURN_IF_ERROR(CheckNotRemoved(producer, spec.name, spec.op));
  return AdaptToVersion(producer, spec);
}

void SetBuiltHere(bool is_built_here, FunctionDef& function) {
  function.attrs.erase(std::string(kBuiltHere));
  if (is_built_here) function.attrs[std::string(kBuiltHere)] = true;
}

bool IsBuiltHere(const FunctionDef& function) {
  return function.attrs.contains(kBuiltHere);
}

int VersionOfBuilt(const Graph& graph, int newest) {
  int version = newest;
  const auto have = [&version](absl::string_view op) {
    const RemovedOp* removed = FindRemoved(op);
    if (removed != nullptr) version = std::min(version, removed->version - 1);
  };
  for (const Node* node : graph.nodes()) {
    // An unknown node of a registered op cannot run in any version, so its op
    // does not restrict the version.
    if (!IsUnknown(*node) || HasGuessedOutputs(*node)) have(node->type());
  }
  for (const FunctionPtr& function : graph.functions().functions()) {
    if (!IsBuiltHere(*function)) continue;
    for (const FunctionNode& node : function->nodes) have(node.op);
  }
  return version;
}

}  // namespace weft
