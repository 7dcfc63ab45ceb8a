// Checks that the gradient of every op matches numerical differences of the op.
// A new op whose gradient is not in the table below fails this test.
#include "libs/gradients/gradients.h"

#include <cmath>
#include <complex>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/gradients/testing/gradient_checker.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/control_flow_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/resource/tensor_array_ops.h"
#include "libs/ops/standard_ops.h"
#include "libs/ops/state/variable.h"
#include "libs/runtime/process/process.h"
#include "libs/session/session.h"

namespace weft {
namespace {

// An input of the op under test: either a shape, for which random values are
// generated and gradients are checked, or a constant.
struct Arg {
  Arg(Tensor constant) : fixed(std::move(constant)) {}  // NOLINT
  Arg(std::initializer_list<int64_t> dims) : shape(dims) {}

  std::optional<Tensor> fixed;
  TensorShape shape;
  double low = -0.9, high = 0.9;
};

Arg In(std::initializer_list<int64_t> dims, double low, double high) {
  Arg arg(dims);
  arg.low = low;
  arg.high = high;
  return arg;
}

struct Case {
  std::string op;
  std::vector<Arg> args;
  AttrMap attrs;
};

Tensor Ints(std::initializer_list<int> values) {
  return Tensor::Vector(values);
}
Tensor Int(int value) { return Tensor::Scalar(value); }
Tensor Bools(std::initializer_list<bool> values) {
  return Tensor::Vector(values);
}
Tensor Doubles(const TensorShape& shape, std::initializer_list<double> values) {
  return Tensor::FromValues(shape, values);
}

// Returns irregular values between `low` and `high`, without ties. The values
// are not near multiples of 1/2, where some functions are not differentiable.
Tensor ValuesOf(const Arg& arg, size_t seed) {
  Tensor values(DT_DOUBLE, arg.shape);
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    const double part = std::fmod((i + 1) * 0.618033989 + seed * 0.347, 1.0);
    double value = arg.low + (arg.high - arg.low) * part;
    const double corner = std::round(value * 2) / 2;
    if (std::abs(value - corner) < 0.01) value = corner + 0.013;
    values.mutable_flat<double>()[i] = value;
  }
  return values;
}

std::vector<Case> UnaryCases() {
  std::vector<Case> cases;
  for (const char* op :
       {"Neg",      "Abs",        "Sign",   "Square",    "Exp",      "Expm1",
        "Sin",      "Cos",        "Tan",    "Asin",      "Acos",     "Atan",
        "Sinh",     "Cosh",       "Atanh",  "Erf",       "L2Loss",   "Tanh",
        "Sigmoid",  "Relu",       "Relu6",  "Elu",       "Selu",     "Softplus",
        "Softsign", "Erfc",       "Erfinv", "LeakyRelu", "Identity", "Snapshot",
        "Softmax",  "LogSoftmax", "Asinh"}) {
    cases.push_back({op, {{2, 3}}});
  }
  for (const char* op : {"Log", "Log1p", "Lgamma", "Digamma", "Sqrt", "Rsqrt",
                         "Reciprocal", "Inv"}) {
    cases.push_back({op, {In({2, 3}, 0.6, 2.9)}});
  }
  for (const char* op : {"Lgamma", "Digamma"}) {
    cases.push_back({op, {In({2, 3}, -1.8, -1.2)}});
  }
  cases.push_back({"Acosh", {In({2, 3}, 1.2, 2.9)}});
  cases.push_back({"Ndtri", {In({2, 3}, 0.1, 0.9)}});
  cases.push_back({"Cast", {{2, 3}}, {{"DstT", DT_DOUBLE}}});
  return cases;
}

std::vector<Case> BinaryCases() {
  std::vector<Case> cases;
  for (const char* op : {"Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum",
                         "SquaredDifference"}) {
    cases.push_back({op, {{2, 3}, {2, 3}}});
    cases.push_back({op, {{2, 3}, {3}}});
    cases.push_back({op, {{2, 1}, {1, 3}}});
    cases.push_back({op, {{}, {2, 3}}});
  }
  for (const char* op :
       {"Div", "RealDiv", "DivNoNan", "FloorMod", "Mod", "TruncateMod", "Pow",
        "Atan2", "Xdivy", "Xlogy", "Xlog1py", "MulNoNan"}) {
    cases.push_back({op, {In({2, 3}, 0.6, 2.9), In({2, 3}, 0.6, 2.9)}});
    cases.push_back({op, {In({2, 3}, 0.6, 2.9), In({3}, 0.6, 2.9)}});
  }
  cases.push_back({"NextAfter", {{2, 3}, Doubles({}, {9})}});
  cases.push_back({"Polygamma", {Doubles({3}, {1, 2, 3}), In({3}, 1.1, 2.9)}});
  cases.push_back(
      {"Polygamma", {Doubles({3}, {1, 2, 3}), In({3}, -1.8, -1.2)}});
  for (const char* op :
       {"TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad",
        "InvGrad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad",
        "LeakyReluGrad", "ReluGrad", "Relu6Grad"}) {
    cases.push_back({op, {In({2, 3}, 0.2, 0.9), In({2, 3}, 0.2, 0.9)}});
  }
  return cases;
}

Case EinsumCase(const char* equation, std::vector<Arg> args) {
  return {"Einsum", std::move(args), {{"equation", std::string(equation)}}};
}

std::vector<Case> MathCases() {
  std::vector<Case> cases = {
      {"AddN", {{2}, {2}, {2}}},
      {"Cross", {{2, 3}, {2, 3}}},
      {"Select", {Bools({true, false}), {2, 3}, {2, 3}}},
      {"SelectV2", {Bools({true, false, true}), {2, 3}, {2, 1}}},
      {"ClipByValue", {{2, 3}, Doubles({}, {-0.4}), Doubles({}, {0.4})}},
      {"MatMul", {{2, 3}, {3, 4}}},
      {"MatMul", {{3, 2}, {3, 4}}, {{"transpose_a", true}}},
      {"MatMul", {{2, 3}, {4, 3}}, {{"transpose_b", true}}},
      {"MatMul",
       {{3, 2}, {4, 3}},
       {{"transpose_a", true}, {"transpose_b", true}}},
      {"BatchMatMul", {{2, 2, 3}, {2, 3, 2}}},
      {"BatchMatMul", {{2, 3, 2}, {2, 3, 2}}, {{"adj_x", true}}},
      {"BatchMatMul", {{2, 2, 3}, {2, 2, 3}}, {{"adj_y", true}}},
      {"BatchMatMulV2", {{2, 2, 3}, {3, 2}}},
      EinsumCase("ij,jk->ik", {{2, 3}, {3, 4}}),
      EinsumCase("abc,cd->dab", {{2, 2, 3}, {3, 2}}),
      EinsumCase("...ij,...jk->...ik", {{2, 1, 2, 3}, {3, 3, 2}}),
      EinsumCase("i...j,j->...i", {{2, 2, 3}, {3}}),
      EinsumCase("ija,bkj->ik", {{2, 3, 2}, {2, 2, 3}}),
      EinsumCase("iij,jk->ikk", {{2, 2, 3}, {3, 2}}),
      EinsumCase("...i,...i->", {{3}, {3}}),
      EinsumCase("ij->", {{2, 3}}),
      EinsumCase("aab...c->c...", {{2, 2, 3, 2, 3}}),
      EinsumCase("ijk->kk", {{2, 2, 3}}),
      {"Roll", {{2, 3}, Ints({1, -2}), Ints({0, 1})}},
      {"Qr", {{3, 3}}},
      {"Qr", {{4, 2}}},
      {"Qr", {{2, 2, 4}}},
      {"Qr", {{3, 3}}, {{"full_matrices", true}}},
      {"MatrixTriangularSolve", {In({3, 3}, 0.6, 2.9), {3, 2}}},
      {"MatrixTriangularSolve",
       {In({2, 3, 3}, 0.6, 2.9), {3, 2}},
       {{"lower", false}}},
      {"MatrixTriangularSolve",
       {In({3, 3}, 0.6, 2.9), {2, 3, 2}},
       {{"adjoint", true}}},
      {"MatrixTriangularSolve",
       {In({3, 3}, 0.6, 2.9), {3, 2}},
       {{"lower", false}, {"adjoint", true}}},
      {"ResizeNearestNeighbor", {{2, 2, 3, 2}, Ints({5, 4})}},
      {"ResizeNearestNeighbor",
       {{1, 3, 3, 1}, Ints({2, 5})},
       {{"align_corners", true}}},
      {"ResizeNearestNeighborGrad",
       {{1, 3, 2, 2}, Ints({2, 5})},
       {{"half_pixel_centers", true}}},
      {"Cumsum", {{2, 3}, Int(1)}},
      {"Cumsum", {{2, 3}, Int(0)}, {{"reverse", true}, {"exclusive", true}}},
      {"Cumprod", {{2, 3}, Int(1)}},
      {"BiasAdd", {{2, 3}, {3}}},
      {"BiasAddGrad", {{2, 3}}},
      {"SoftmaxCrossEntropyWithLogits",
       {{2, 3}, Doubles({2, 3}, {0.5, 0.3, 0.2, 0.1, 0.1, 0.8})}},
      {"SparseSoftmaxCrossEntropyWithLogits", {{2, 3}, Ints({2, 0})}},
      {"TopKV2", {{2, 4}, Int(2)}},
      {"TopK", {{2, 4}}, {{"k", int64_t{2}}}},
  };
  for (const char* op : {"Sum", "Mean", "Prod", "Max", "Min"}) {
    cases.push_back({op, {{2, 3, 2}, Ints({1})}});
    cases.push_back({op, {{2, 3, 2}, Ints({0, -1})}});
    cases.push_back({op, {{2, 3}, Ints({0})}, {{"keep_dims", true}}});
    cases.push_back({op, {{2, 3}, Ints({})}});
  }
  return cases;
}

std::vector<Case> ShapeCases() {
  return {
      {"IdentityN", {{2}, {3}}},
      {"Print", {{2, 3}, Ints({1})}, {{"message", "the gradient of Print"}}},
      {"EnsureShape", {{2, 3}}, {{"shape", PartialShape{2, -1}}}},
      {"PlaceholderWithDefault", {{2}}, {{"shape", PartialShape{2}}}},
      {"CheckNumerics", {{2}}, {{"message", "none"}}},
      {"Reshape", {{2, 3}, Ints({3, -1})}},
      {"ExpandDims", {{2, 3}, Int(1)}},
      {"Squeeze", {{2, 1, 3}}},
      {"BroadcastTo", {{2, 1}, Ints({3, 2, 4})}},
      {"Fill", {Ints({2, 3}), {}}},
      {"Transpose", {{2, 3, 4}, Ints({2, 0, 1})}},
      {"Reverse", {{2, 3}, Bools({false, true})}},
      {"ReverseV2", {{2, 3}, Ints({0, 1})}},
      {"ReverseSequence", {{2, 3}, Ints({2, 3})}, {{"seq_dim", 1}}},
      {"Diag", {{3}}},
      {"DiagPart", {{3, 3}}},
      {"MatrixDiag", {{2, 3}}},
      {"MatrixDiagPart", {{2, 3, 3}}},
      {"MatrixDiagPart", {{2, 3, 4}}},
      {"MatrixSetDiag", {{2, 3, 4}, {2, 3}}},
      {"BatchMatrixDiag", {{2, 3}}},
      {"BatchMatrixDiagPart", {{2, 4, 3}}},
      {"BatchMatrixSetDiag", {{3, 3}, {3}}},
      {"BatchMatrixBandPart",
       {{2, 3, 3}, Tensor::Scalar<int64_t>(1), Tensor::Scalar<int64_t>(0)}},
      {"MatrixDiagV2",
       {{2, 3, 3}, Ints({-1, 1}), Int(3), Int(4), Doubles({}, {7})}},
      {"MatrixDiagPartV2", {{2, 3, 4}, Ints({-1, 2}), Doubles({}, {7})}},
      {"MatrixSetDiagV2", {{2, 3, 4}, {2, 4, 3}, Ints({-1, 2})}},
      {"MatrixSetDiagV3", {{2, 3, 4}, {2, 4, 3}, Ints({-1, 2})}},
      {"MatrixSetDiagV3",
       {{3, 3}, {2, 2}, Ints({1, 2})},
       {{"align", "LEFT_RIGHT"}}},
      {"MatrixDiagV3",
       {{2, 2, 3}, Ints({-1, 0}), Int(4), Int(3), Doubles({}, {7})}},
      {"MatrixDiagPartV3", {{2, 3, 4}, Ints({-1, 1}), Doubles({}, {7})}},
      {"MatrixBandPart",
       {{2, 3, 3}, Tensor::Scalar(int64_t{1}), Tensor::Scalar(int64_t{0})}},
      {"Concat", {Int(1), {2, 3}, {2, 1}}},
      {"ConcatV2", {{2, 3}, {2, 1}, Int(-1)}},
      {"Split", {Int(1), {2, 4}}, {{"num_split", 2}}},
      {"SplitV", {{2, 4}, Ints({1, 3}), Int(1)}, {{"num_split", 2}}},
      {"Pack", {{2, 3}, {2, 3}}, {{"axis", 1}}},
      {"Unpack", {{2, 3}}, {{"num", 3}, {"axis", 1}}},
      {"Tile", {{2, 3}, Ints({2, 3})}},
      {"Pad", {{2, 3}, Tensor::FromValues({2, 2}, {1, 0, 2, 1})}},
      {"PadV2", {{2, 3}, Tensor::FromValues({2, 2}, {1, 0, 2, 1}), {}}},
      {"MirrorPad",
       {{2, 3}, Tensor::FromValues({2, 2}, {1, 0, 2, 1})},
       {{"mode", "REFLECT"}}},
      {"MirrorPadGrad",
       {{3, 6}, Tensor::FromValues({2, 2}, {1, 0, 2, 1})},
       {{"mode", "REFLECT"}}},
      {"DynamicPartition", {{3, 2}, Ints({1, 0, 1})}, {{"num_partitions", 2}}},
      {"DynamicStitch", {Ints({2, 0}), Ints({1}), {2, 2}, {1, 2}}},
      {"ParallelDynamicStitch", {Ints({2, 0}), Ints({1}), {2, 2}, {1, 2}}},
  };
}

std::vector<Case> PartCases() {
  const Tensor segments = Ints({0, 0, 2});
  std::vector<Case> cases = {
      {"Slice", {{3, 4}, Ints({1, 0}), Ints({2, -1})}},
      {"StridedSlice", {{3, 4}, Ints({0, 3}), Ints({3, 0}), Ints({2, -1})}},
      {"StridedSliceGrad",
       {Ints({3, 4}), Ints({0, 1}), Ints({3, 3}), Ints({2, 1}), {2, 2}}},
      {"Gather", {{4, 2}, Ints({1, 3, 1})}},
      {"GatherV2", {{4, 2}, Ints({1, 3, 1}), Int(0)}},
      {"GatherV2", {{2, 4}, Ints({1, 3, 1}), Int(1)}},
      {"GatherNd", {{3, 2}, Tensor::FromValues({2, 2}, {0, 1, 2, 0})}},
      {"ScatterNd", {Tensor::FromValues({2, 1}, {0, 2}), {2, 2}, Ints({3, 2})}},
      {"SpaceToBatchND",
       {{1, 4, 2}, Ints({2}), Tensor::FromValues({1, 2}, {1, 1})}},
      {"BatchToSpaceND",
       {{4, 2, 2}, Ints({2}), Tensor::FromValues({1, 2}, {1, 0})}},
      {"SpaceToBatch",
       {{1, 2, 3, 1}, Tensor::FromValues({2, 2}, {0, 0, 1, 0})},
       {{"block_size", int64_t{2}}}},
      {"BatchToSpace",
       {{4, 1, 2, 1}, Tensor::FromValues({2, 2}, {0, 0, 1, 0})},
       {{"block_size", int64_t{2}}}},
      {"SpaceToDepth", {{1, 2, 4, 1}}, {{"block_size", int64_t{2}}}},
      {"DepthToSpace", {{1, 1, 2, 4}}, {{"block_size", int64_t{2}}}},
      {"NthElement", {{2, 3}, Int(1)}},
      {"TensorScatterUpdate",
       {{3, 2}, Tensor::FromValues({1, 1}, {1}), {1, 2}}},
  };
  for (const char* op :
       {"TensorScatterAdd", "TensorScatterSub", "TensorScatterMin",
        "TensorScatterMax", "ScatterNdNonAliasingAdd"}) {
    cases.push_back({op, {{3, 2}, Tensor::FromValues({2, 1}, {1, 0}), {2, 2}}});
  }
  for (const char* op : {"SegmentSum", "SegmentMean", "SegmentMin",
                         "SegmentMax", "SegmentProd"}) {
    cases.push_back({op, {{3, 2}, segments}});
  }
  for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentMin",
                         "UnsortedSegmentMax", "UnsortedSegmentProd"}) {
    // Each segment has an element, because the result for an empty segment is
    // the extreme value of the type.
    cases.push_back({op, {{3, 2}, Ints({1, 0, 1}), Int(2)}});
  }
  for (const char* op :
       {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
    cases.push_back({op, {{4, 2}, Ints({1, 3, 1}), segments}});
    cases.push_back({absl::StrCat(op, "WithNumSegments"),
                     {{4, 2}, Ints({1, 3, 1}), segments, Int(4)}});
  }
  return cases;
}

Tensor Longs(const TensorShape& shape, std::initializer_list<int64_t> values) {
  return Tensor::FromValues(shape, values);
}

std::vector<Case> SparseCases() {
  const Tensor indices = Longs({2, 2}, {0, 0, 1, 2});
  const Tensor shape = Longs({2}, {2, 3});
  return {
      {"SparseTensorDenseMatMul", {indices, {2}, shape, {3, 2}}},
      {"SparseTensorDenseMatMul",
       {indices, {2}, shape, {2, 2}},
       {{"adjoint_a", true}}},
      {"SparseTensorDenseMatMul",
       {indices, {2}, shape, {2, 3}},
       {{"adjoint_b", true}}},
      {"SparseToDense", {indices, shape, {2}, {}}},
      {"SparseReorder", {Longs({2, 2}, {1, 2, 0, 0}), {2}, shape}},
      {"SparseFillEmptyRows",
       {Longs({2, 2}, {0, 0, 2, 1}), {2}, Longs({2}, {4, 2}), {}}},
      {"SparseSlice",
       {indices, {2}, shape, Longs({2}, {1, 0}), Longs({2}, {1, 3})}},
      {"SparseReduceSum", {indices, {2}, shape, Ints({1})}},
      {"SparseAdd",
       {indices,
        {2},
        shape,
        Longs({3, 2}, {0, 0, 0, 1, 1, 2}),
        {3},
        shape,
        Doubles({}, {0})}},
      {"SparseTensorDenseAdd", {indices, {2}, shape, {2, 3}}},
      {"SparseDenseCwiseMul", {indices, {2}, shape, {2, 3}}},
      {"SparseDenseCwiseMul", {indices, {2}, shape, {3}}},
      {"SparseDenseCwiseDiv", {indices, {2}, shape, In({2, 1}, 0.6, 2.9)}},
      {"RaggedTensorToSparse",
       {Longs({3}, {0, 2, 3}), {3, 2}},
       {{"RAGGED_RANK", int64_t{1}}}},
      {"RaggedGather",
       {Longs({4}, {0, 2, 2, 3}), {3}, Longs({3}, {2, 0, 0})},
       {{"PARAMS_RAGGED_RANK", int64_t{1}},
        {"OUTPUT_RAGGED_RANK", int64_t{1}}}},
      {"RaggedTensorToTensor",
       {Longs({2}, {-1, -1}), {3}, {}, Longs({3}, {0, 2, 3})},
       {{"num_row_partition_tensors", int64_t{1}},
        {"row_partition_types", std::vector<std::string>{"ROW_SPLITS"}}}},
      {"RaggedFillEmptyRows",
       {Longs({2}, {0, 2}), {2}, Tensor::Scalar<int64_t>(4), {}}},
      {"SparseSoftmax", {Longs({3, 2}, {0, 0, 0, 2, 1, 1}), {3}, shape}},
      {"SparseReduceSum",
       {indices, {2}, shape, Ints({-2})},
       {{"keep_dims", true}}},
  };
}

// Returns the cases of ops that move a window over images of one to three
// channels.
std::vector<Case> WindowCases() {
  using List = std::vector<int64_t>;
  const AttrMap same = {{"strides", List{1, 2, 1, 1}}, {"padding", "SAME"}};
  const AttrMap valid = {{"strides", List{1, 1, 1, 1}},
                         {"padding", "VALID"},
                         {"dilations", List{1, 1, 2, 1}}};
  const AttrMap pool = {{"ksize", List{1, 2, 2, 1}},
                        {"strides", List{1, 2, 2, 1}},
                        {"padding", "SAME"}};
  const Tensor image = Ints({1, 4, 3, 2});
  std::vector<Case> cases = {
      {"Conv2D", {{1, 4, 3, 2}, {2, 2, 2, 3}}, same},
      {"Conv2D", {{1, 4, 3, 2}, {2, 2, 2, 3}}, valid},
      {"Conv2D", {{1, 4, 3, 4}, {2, 2, 2, 2}}, same},
      {"Conv2DBackpropInput", {image, {2, 2, 2, 3}, {1, 2, 3, 3}}, same},
      {"Conv2DBackpropFilter",
       {{1, 4, 3, 2}, Ints({2, 2, 2, 3}), {1, 2, 3, 3}},
       same},
      {"AvgPool", {{1, 3, 4, 2}}, pool},
      {"AvgPoolGrad", {Ints({1, 3, 4, 2}), {1, 2, 2, 2}}, pool},
      {"MaxPool", {{1, 3, 4, 2}}, pool},
      {"MaxPoolGrad", {{1, 3, 4, 2}, {1, 2, 2, 2}, {1, 2, 2, 2}}, pool},
      {"MaxPoolGradGrad", {{1, 3, 4, 2}, {1, 2, 2, 2}, {1, 3, 4, 2}}, pool},
  };
  AttrMap even = same;
  even["strides"] = List{1, 1, 1, 1};
  cases.push_back(
      {"DepthwiseConv2dNative", {{1, 4, 3, 2}, {2, 2, 2, 2}}, even});
  cases.push_back({"DepthwiseConv2dNativeBackpropInput",
                   {image, {2, 2, 2, 2}, {1, 4, 3, 4}},
                   even});
  cases.push_back({"DepthwiseConv2dNativeBackpropFilter",
                   {{1, 4, 3, 2}, Ints({2, 2, 2, 2}), {1, 4, 3, 4}},
                   even});
  return cases;
}

std::vector<Case> AllCases() {
  std::vector<Case> all;
  for (const auto& some :
       {UnaryCases(), BinaryCases(), MathCases(), ShapeCases(), PartCases(),
        SparseCases(), WindowCases()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// Returns the ops whose gradients cannot be compared with differences here, and
// the reason for each.
std::map<std::string, std::string> Unchecked() {
  std::map<std::string, std::string> unchecked = {
      {"SparseDenseCwiseAdd", "its gradient is an error"},
      {"RaggedTensorToVariant", "its result is a variant"},
      {"RaggedTensorFromVariant", "its input is a variant"},
      {"SparseSparseMaximum", "its gradient is an error"},
      {"SparseSparseMinimum", "its gradient is an error"},
      {"PreventGradient", "its gradient is an error"},
      {"Switch", "half of its outputs are dead: see Conditions"},
      {"Merge", "half of its inputs are dead: see Conditions"},
      {"RefSwitch", "half of its outputs are dead: see Conditions"},
      {"RefMerge", "half of its inputs are dead: see Conditions"},
      {"Enter", "a part of a loop: see loop_gradients_test.cc"},
      {"Exit", "a part of a loop: see loop_gradients_test.cc"},
      {"NextIteration", "a part of a loop: see loop_gradients_test.cc"},
      {"RefEnter", "a part of a loop: see loop_gradients_test.cc"},
      {"RefExit", "a part of a loop: see loop_gradients_test.cc"},
      {"RefNextIteration", "a part of a loop: see loop_gradients_test.cc"},
      {"LRN", "of float only: conformance compares gradients/lrn"},
      {"LRNGrad", "its gradient is an error"},
      {"FusedBatchNorm", "of float only: see BatchNormalization"},
      {"FusedBatchNormV2", "of float only: see BatchNormalization"},
      {"FusedBatchNormV3", "of float only: see BatchNormalization"},
      {"FusedBatchNormGrad", "its gradient is an error"},
      {"FusedBatchNormGradV2", "its gradient is an error"},
      {"FusedBatchNormGradV3", "its gradient is an error"},
      {"ResizeArea", "its gradient is an error"},
      {"ResizeBicubic", "its output is float: see ResizedImages"},
      {"ResizeBicubicGrad", "its input is float: see ResizedImages"},
      {"ResizeBilinear", "its output is float: see ResizedImages"},
      {"ResizeBilinearGrad", "its input is float: see ResizedImages"},
      {"ReadVariableOp", "its input is a variable: see Variables"},
      {"RefIdentity", "its input is a variable: see Variables"},
      {"ResourceGather", "its input is a variable: see Variables"},
      {"TensorArrayPack", "its input is an array: see OldTensorArraysAsAWhole"},
      {"TensorArrayUnpack",
       "its input is an array: see OldTensorArraysAsAWhole"},
  };
  for (const char* op :
       {"Angle", "Complex", "ComplexAbs", "Conj", "Imag", "Real"}) {
    unchecked[op] =
        "of complex numbers: conformance compares gradients/complex";
  }
  for (const std::string version : {"", "V2", "V3"}) {
    for (const std::string op :
         {"Read", "Gather", "Concat", "Write", "Scatter", "Split"}) {
      unchecked["TensorArray" + op + version] =
          "its input is an array: see TensorArrays";
    }
  }
  for (const std::string op :
       {"PushBack", "PopBack", "Stack", "FromTensor", "GetItem", "SetItem",
        "Gather", "ScatterIntoExistingList", "Concat", "ConcatV2", "Split",
        "Resize", "Scatter", "ScatterV2"}) {
    unchecked["TensorList" + op] =
        "one side of it is a list: see loop_gradients_test.cc";
  }
  return unchecked;
}

TEST(GradientsTest, EveryGradientHasACase) {
  std::map<std::string, std::string> covered = Unchecked();
  for (const Case& one : AllCases()) covered[one.op] = "checked";
  for (const OpDef* op : StandardOps()->List()) {
    const auto* entry = StandardGradients().Find(op->name);
    if (entry == nullptr || !entry->fn) continue;
    EXPECT_TRUE(covered.contains(op->name))
        << op->name << ": add a case to this file";
  }
}

class OneGradientTest : public testing::TestWithParam<Case> {
 protected:
  // All cases share one process, because starting its threads takes longer than
  // any case.
  static void SetUpTestSuite() { process_ = new Process; }
  static void TearDownTestSuite() { delete process_; }
  static inline Process* process_ = nullptr;
};

TEST_P(OneGradientTest, MatchesNumericalDifferences) {
  const Case& one = GetParam();
  const auto* entry = StandardGradients().Find(one.op);
  if (StandardOps()->Find(one.op) == nullptr || entry == nullptr) {
    GTEST_SKIP() << "no such op yet";
  }
  const Scope root = Scope::Root();
  InputList inputs;
  std::vector<Output> xs;
  std::vector<Tensor> values;
  for (const Arg& arg : one.args) {
    if (arg.fixed) {
      inputs.emplace_back(*arg.fixed);
      continue;
    }
    values.push_back(ValuesOf(arg, values.size()));
    xs.push_back(ops::Placeholder(root, DT_DOUBLE, {.shape = arg.shape}));
    inputs.emplace_back(xs.back());
  }
  const Node* node = root.AddNode(one.op, inputs, one.attrs);
  ASSERT_THAT(root.status(), IsOk());
  std::vector<Output> ys;
  for (int i = 0; i < node->num_outputs(); ++i) {
    // The second output of a cross entropy op is the gradient of its first
    // output. It has no gradient itself.
    const bool is_backprop =
        i == 1 && one.op.find("CrossEntropy") != one.op.npos;
    if (node->output_type(i) == DT_DOUBLE && !is_backprop) {
      ys.emplace_back(node, i);
    }
  }
  ASSERT_OK_AND_ASSIGN(auto session,
                       Session::Connect("", root, {.process = process_}));
  const Evaluate evaluate = [&](const FeedList& feeds,
                                const std::vector<Output>& fetches) {
    return session->Run(feeds, fetches);
  };
  ASSERT_OK_AND_ASSIGN(double error,
                       MaxGradientError(root, ys, xs, values, evaluate));
  EXPECT_LT(error, 1e-5);
}

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  return info.param.op + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(All, OneGradientTest, testing::ValuesIn(AllCases()),
                         NameOf);

struct ComplexCase {
  std::string op;
  std::complex<double> x, y, weight, of_x, of_y;
};

// The gradients of complex functions cannot be compared with differences. The
// expected numbers are those of TensorFlow 2.21.
TEST(GradientsTest, ComplexGradientsMatchTensorFlow) {
  using C = std::complex<double>;
  const ComplexCase cases[] = {
      {"Pow", C(1, 2), C(2, 1), 1, C(-1.19085058, -1.14570093),
       C(-1.54352022, 1.65324195)},
      {"Pow", C(.5, -1), C(0, 1), 1, C(-2.54027872, -.93325448),
       C(.7084675, 3.29150524)},
      {"Pow", 0, 2, 1, 0, 0},
      {"SqrtGrad", C(1, 2), C(.5, -1), C(2, 1), C(-.2, -.15), C(.4, -.3)}};
  for (const ComplexCase& c : cases) {
    const Scope root = Scope::Root();
    const Output x = ops::Const(root, Tensor::Scalar(c.x));
    const Output y = ops::Const(root, Tensor::Scalar(c.y));
    const Output weight = ops::Const(root, Tensor::Scalar(c.weight));
    ASSERT_OK_AND_ASSIGN(std::vector<Gradient> gradients,
                         AddGradients(root, {root.AddOutput(c.op, {x, y})},
                                      {x, y}, {.grad_ys = {weight}}));
    ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root));
    ASSERT_OK_AND_ASSIGN(
        std::vector<Tensor> values,
        session->Run({}, {gradients[0].dense, gradients[1].dense}));
    EXPECT_LT(std::abs(values[0].scalar<C>() - c.of_x), 1e-7) << c.op << c.x;
    EXPECT_LT(std::abs(values[1].scalar<C>() - c.of_y), 1e-7) << c.op << c.x;
  }
}

// Differentiates y = x > 0 ? x * w : x + 5, where w is used in one branch only.
TEST(GradientsTest, ConditionsAreDifferentiated) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {}});
  const Output w = ops::Placeholder(root, DT_FLOAT, {.shape = {}});
  const Output positive = ops::Greater(root, x, 0);
  const auto branch = ops::Switch(root, x, positive);
  const Output product = ops::Mul(root, branch.output_true,
                                  ops::Switch(root, w, positive).output_true);
  const Output sum = ops::Add(root, branch.output_false, 5);
  const Output y = ops::Merge(root, {sum, product}).output;
  ASSERT_OK_AND_ASSIGN(std::vector<Gradient> gradients,
                       AddGradients(root, {y}, {x, w}));
  ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root));
  const struct { float x, of_x, of_w; } cases[] = {{2, 10, 2}, {-2, 1, 0}};
  for (const auto& c : cases) {
    ASSERT_OK_AND_ASSIGN(
        std::vector<Tensor> values,
        session->Run({{x, Tensor::Scalar(c.x)}, {w, Tensor::Scalar(10.0f)}},
                     {gradients[0].dense, gradients[1].dense}));
    EXPECT_EQ(values[0].scalar<float>(), c.of_x) << c.x;
    EXPECT_EQ(values[1].scalar<float>(), c.of_w) << c.x;
  }
}

// For reference and resource variables, dense and sparse, the gradient of sum(w
// * w) + 3 * sum(row 1 of w, gathered twice) is 2 w, plus 6 in row 1.
TEST(GradientsTest, VariablesAreDifferentiated) {
  for (bool resource : {false, true}) {
    const Scope root = Scope::Root();
    const ops::Variable w(root, Tensor::FromValues<float>({2, 2}, {1, 2, 3, 4}),
                          {.use_resource = resource});
    const Output rows =
        resource ? root.AddOutput("ResourceGather", {w.handle(), {1, 1}},
                                  {{"dtype", DT_FLOAT}})
                 : root.AddOutput("Gather", {w, {1, 1}});
    const Output dense = ops::Mul(root, w, w.Read(root));
    ASSERT_OK_AND_ASSIGN(
        std::vector<Gradient> gradients,
        AddGradients(root, {dense, ops::Mul(root, rows, 3)}, {w.handle()}));
    const Output gradient = ToDense(root, gradients[0]);
    ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root));
    ASSERT_THAT(session->Run(w.initializer()), IsOk());
    ASSERT_OK_AND_ASSIGN(Tensor value, session->Run(gradient));
    EXPECT_TRUE(
        SameBits(value, Tensor::FromValues<float>({2, 2}, {2, 4, 12, 14})))
        << value.ToString();
  }
}

// Elements that are read from a TensorArray pass their gradients to the values
// that were written. Here one row is read twice, with the factors 2 and 3.
TEST(GradientsTest, TensorArraysAreDifferentiated) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {3, 2}});
  const auto array =
      ops::TensorArray(root, 3, DT_FLOAT, {.clear_after_read = false});
  const Output flow =
      ops::TensorArrayScatter(root, array.handle, {0, 1, 2}, x, array.flow);
  const Output row =
      ops::TensorArrayRead(root, array.handle, 1, flow, DT_FLOAT);
  const Output rows =
      ops::TensorArrayGather(root, array.handle, {2, 1}, flow, DT_FLOAT);
  const Output y = ops::Mul(root, row, 3);
  const Output z = ops::Mul(root, rows, 2);
  ASSERT_OK_AND_ASSIGN(std::vector<Gradient> gradients,
                       AddGradients(root, {y, z}, {x}));
  ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root));
  const auto values = Tensor::FromValues<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK_AND_ASSIGN(Tensor got,
                       session->Run({{x, values}}, gradients[0].dense));
  EXPECT_TRUE(
      SameBits(got, Tensor::FromValues<float>({3, 2}, {0, 0, 5, 5, 2, 2})))
      << got.ToString();
}

// The gradient arrays of different AddGradients calls are separate, whatever
// the name of the scope is.
TEST(GradientsTest, TensorArrayGradientsOfTwoCallsAreSeparate) {
  for (const char* name : {"gradients_all", "gradients", "a"}) {
    const Scope root = Scope::Root();
    const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {3}});
    const auto array =
        ops::TensorArray(root, 3, DT_FLOAT, {.clear_after_read = false});
    const Output flow =
        ops::TensorArrayScatter(root, array.handle, {0, 1, 2}, x, array.flow);
    const auto read = [&](int i) {
      return ops::TensorArrayRead(root, array.handle, i, flow, DT_FLOAT);
    };
    const Output y = ops::Mul(root, read(0), 2);
    const Output z = ops::Add(root, ops::Mul(root, read(0), 5), read(1));
    const Scope scope = root.SubScope(name);
    ASSERT_OK_AND_ASSIGN(std::vector<Gradient> of_y,
                         AddGradients(scope, {y}, {x}));
    ASSERT_OK_AND_ASSIGN(std::vector<Gradient> of_z,
                         AddGradients(scope, {z}, {x}));
    ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root));
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> got,
                         session->Run({{x, Tensor::Vector<float>({1, 2, 3})}},
                                      {of_y[0].dense, of_z[0].dense}));
    EXPECT_TRUE(SameBits(got[0], Tensor::Vector<float>({2, 0, 0})))
        << name << ": " << got[0].ToString();
    EXPECT_TRUE(SameBits(got[1], Tensor::Vector<float>({5, 1, 0})))
        << name << ": " << got[1].ToString();
  }
}

TEST(GradientsTest, SplitTensorArraysAreDifferentiated) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {3}});
  const Output w = ops::Placeholder(root, DT_FLOAT, {.shape = {1}});
  const auto parts = ops::TensorArray(root, 2, DT_FLOAT);
  const Output split = ops::TensorArraySplit(
      root, parts.handle, x, Tensor::Vector({int64_t{1}, int64_t{2}}),
      parts.flow);
  const auto joined =
      ops::TensorArrayConcat(root, parts.handle, split, DT_FLOAT);
  const auto single = ops::TensorArray(root, 1, DT_FLOAT);
  const Output written =
      ops::TensorArrayWrite(root, single.handle, 0, w, single.flow);
  const auto read =
      ops::TensorArrayConcat(root, single.handle, written, DT_FLOAT);
  const Output y = ops::Mul(root, joined.value, joined.value);
  const Output z = ops::Mul(root, read.value, 5);
  ASSERT_OK_AND_ASSIGN(std::vector<Gradient> gradients,
                       AddGradients(root, {y, z}, {x, w}));
  ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> got,
                       session->Run({{x, Tensor::Vector<float>({1, 2, 3})},
                                     {w, Tensor::Vector<float>({4})}},
                                    {gradients[0].dense, gradients[1].dense}));
  EXPECT_TRUE(SameBits(got[0], Tensor::Vector<float>({2, 4, 6})))
      << got[0].ToString();
  EXPECT_TRUE(SameBits(got[1], Tensor::Vector<float>({5})))
      << got[1].ToString();
}

// Differentiates the TensorArray ops of old graphs. Their handles are strings
// or references to strings.
TEST(GradientsTest, OldTensorArrayOpsAreDifferentiated) {
  for (const std::string version : {"", "V2"}) {
    const Scope root = Scope::Root();
    const auto add = [&](const std::string& op, const InputList& inputs,
                         AttrMap attrs = {}) {
      return root.AddOutput("TensorArray" + op + version, inputs, attrs);
    };
    const AttrMap floats = {{"dtype", DT_FLOAT}};
    AttrMap kept = floats;
    kept["clear_after_read"] = false;
    const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {3}});
    const Output w = ops::Placeholder(root, DT_FLOAT, {.shape = {3, 2}});
    const Tensor lengths = Tensor::Vector({int64_t{1}, int64_t{2}});
    const Output parts = add("", {2}, floats);
    const Output split = add("Split", {parts, x, lengths, 0.0f});
    const Output joined = add("Concat", {parts, split}, floats);
    const Output rows = add("", {3}, kept);
    const Output scattered = add("Scatter", {rows, {0, 1, 2}, w, 0.0f});
    const Output gathered = add("Gather", {rows, {2, 1}, scattered}, floats);
    const Output single = add("", {1}, floats);
    const Output row = add("Read", {rows, 1, scattered}, floats);
    const Output written = add("Write", {single, 0, row, 0.0f});
    const Output read = add("Read", {single, 0, written}, floats);
    ASSERT_OK(root.status());
    ASSERT_OK_AND_ASSIGN(
        std::vector<Gradient> gradients,
        AddGradients(root,
                     {ops::Mul(root, joined, joined),
                      ops::Mul(root, gathered, 2), ops::Mul(root, read, 3)},
                     {x, w}));
    ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root));
    ASSERT_OK_AND_ASSIGN(
        std::vector<Tensor> got,
        session->Run({{x, Tensor::Vector<float>({1, 2, 3})},
                      {w, Tensor(DT_FLOAT, {3, 2})}},
                     {gradients[0].dense, gradients[1].dense}));
    EXPECT_TRUE(SameBits(got[0], Tensor::Vector<float>({2, 4, 6})))
        << got[0].ToString();
    EXPECT_TRUE(
        SameBits(got[1], Tensor::FromValues<float>({3, 2}, {0, 0, 5, 5, 2, 2})))
        << got[1].ToString();
  }
}

TEST(GradientsTest, OldTensorArrayUnpackIsDifferentiated) {
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {2}});
  const Output array =
      root.AddOutput("TensorArray", {2}, {{"dtype", DT_FLOAT}});
  const Output flow = root.AddOutput("TensorArrayUnpack", {array, x, 0.0f});
  const Output y =
      root.AddOutput("TensorArrayPack", {array, flow}, {{"dtype", DT_FLOAT}});
  ASSERT_OK_AND_ASSIGN(std::vector<Gradient> gradients,
                       AddGradients(root, {ops::Mul(root, y, y)}, {x}));
  ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root));
  ASSERT_OK_AND_ASSIGN(
      Tensor got,
      session->Run({{x, Tensor::Vector<float>({3, 4})}}, gradients[0].dense));
  EXPECT_TRUE(SameBits(got, Tensor::Vector<float>({6, 8}))) << got.ToString();
}

// Compares all three versions of FusedBatchNorm, in training and in inference,
// with differences of sum(y * weights) in float.
TEST(GradientsTest, BatchNormalizationIsDifferentiated) {
  const Tensor weights =
      Tensor::FromValues<float>({1, 2, 2, 1}, {1, -2, 3, 0.5f});
  for (const std::string op :
       {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"}) {
    for (const bool is_training : {true, false}) {
      const Scope root = Scope::Root();
      const Output x =
          ops::Placeholder(root, DT_FLOAT, {.shape = {1, 2, 2, 1}});
      const Tensor scale = Tensor::Vector<float>({2});
      const Tensor running = Tensor::Vector<float>({0.5f});
      const Tensor none(DT_FLOAT, {0});
      const Output y =
          root.AddOutput(op,
                         {x, scale, running, is_training ? none : running,
                          is_training ? none : running},
                         {{"is_training", is_training}, {"epsilon", 0.1f}});
      ASSERT_THAT(root.status(), IsOk());
      const Output sum =
          ops::Sum(root, ops::Mul(root, y, weights), {0, 1, 2, 3});
      ASSERT_OK_AND_ASSIGN(std::vector<Gradient> gradients,
                           AddGradients(root, {sum}, {x}));
      ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root));
      const Tensor at =
          Tensor::FromValues<float>({1, 2, 2, 1}, {0.3f, -1, 2, 0.7f});
      ASSERT_OK_AND_ASSIGN(Tensor gradient,
                           session->Run({{x, at}}, gradients[0].dense));
      for (int i = 0; i < 4; ++i) {
        const auto shifted = [&](float by) {
          Tensor moved(DT_FLOAT, at.shape());
          for (int j = 0; j < 4; ++j) {
            moved.mutable_flat<float>()[j] =
                at.flat<float>()[j] + (i == j ? by : 0);
          }
          return *session->Run({{x, moved}}, sum);
        };
        const float difference =
            (shifted(0.01f).scalar<float>() - shifted(-0.01f).scalar<float>()) /
            0.02f;
        EXPECT_NEAR(gradient.flat<float>()[i], difference, 2e-3)
            << op << " " << is_training << " " << i;
      }
    }
  }
}

// Resizing is linear, so the gradient with respect to a pixel is the result for
// an image in which that pixel is 1 and all others are 0.
TEST(GradientsTest, ResizedImagesAreDifferentiated) {
  constexpr int64_t kPixels = 12;
  const Tensor small(DT_FLOAT, {1, 3, 2, 2});
  for (const std::string op : {"ResizeBilinear", "ResizeBicubic"}) {
    for (const char* const attr : {"", "align_corners", "half_pixel_centers"}) {
      for (const bool of_gradient : {false, true}) {
        const Scope root = Scope::Root();
        const Output x =
            ops::Placeholder(root, DT_FLOAT, {.shape = {1, 2, 3, 2}});
        const AttrMap attrs = *attr == 0 ? AttrMap{} : AttrMap{{attr, true}};
        const Output y =
            of_gradient
                ? root.AddOutput(op + "Grad", {x, small}, attrs)
                : root.AddOutput(op, {x, Tensor::Vector({5, 3})}, attrs);
        Tensor weights(DT_FLOAT,
                       of_gradient ? small.shape() : TensorShape{1, 5, 3, 2});
        for (int64_t i = 0; i < weights.num_elements(); ++i) {
          weights.mutable_flat<float>()[i] = static_cast<float>(i * i % 7) - 3;
        }
        const Output sum =
            ops::Sum(root, ops::Mul(root, y, weights), {0, 1, 2, 3});
        ASSERT_OK_AND_ASSIGN(std::vector<Gradient> gradients,
                             AddGradients(root, {sum}, {x}));
        ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root));
        Tensor at(DT_FLOAT, {1, 2, 3, 2});
        for (float& value : at.mutable_flat<float>()) value = 0;
        ASSERT_OK_AND_ASSIGN(const Tensor gradient,
                             session->Run({{x, at}}, gradients[0].dense));
        for (int64_t i = 0; i < kPixels; ++i) {
          Tensor one(DT_FLOAT, at.shape());
          for (int64_t k = 0; k < kPixels; ++k) {
            one.mutable_flat<float>()[k] = i == k ? 1.0f : 0.0f;
          }
          ASSERT_OK_AND_ASSIGN(const Tensor change,
                               session->Run({{x, one}}, sum));
          EXPECT_NEAR(gradient.flat<float>()[i], change.scalar<float>(), 1e-5)
              << op << attr << of_gradient << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft
