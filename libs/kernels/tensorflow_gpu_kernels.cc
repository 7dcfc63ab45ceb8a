// Written by tools/tensorflow_gpu_kernels.py, from TensorFlow 2.21.0.
#include "libs/kernels/tensorflow_gpu_kernels.h"

namespace weft {
namespace {

constexpr TensorFlowGpuKernels kTensorFlowGpuKernels[] = {
    {"", "",
     "AssignVariableOp ControlTrigger DestroyResourceOp DisableCopyOnRead "
     "EnsureShape Enter Exit Identity IdentityN LogicalAnd LogicalNot "
     "LogicalOr LoopCond Merge NextIteration NoOp Placeholder PlaceholderV2 "
     "PlaceholderWithDefault ReadVariableOp RefIdentity RefNextIteration "
     "StopGradient Switch VarIsInitializedOp _Arg _Recv _Retval _Send"},
    {"DstT",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool complex64 complex128",
     "Cast"},
    {"SrcT",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool complex64 complex128",
     "Cast"},
    {"T", "float double", "ApproximateEqual LinSpace Polygamma"},
    {"T", "float double int32 int64", "Bucketize"},
    {"T", "float double int32 int64 complex64 complex128",
     "TensorScatterUpdate"},
    {"T", "float double int8 int32 int64 uint8 bool complex64 complex128",
     "Where"},
    {"T", "float int32", "Bincount"},
    {"T", "half bfloat16 float", "SparseSoftmaxCrossEntropyWithLogits"},
    {"T", "half bfloat16 float double",
     "Acos Asin Atan Atan2 Atanh BiasAddGrad Ceil Elu EluGrad Erf Expm1 "
     "Floor InvGrad IsFinite IsInf IsNan L2Loss LeakyRelu LeakyReluGrad Log "
     "Log1p LogSoftmax MirrorPad MirrorPadGrad ReciprocalGrad Relu6 "
     "Relu6Grad ReluGrad Rsqrt RsqrtGrad ScatterAdd ScatterDiv ScatterMax "
     "ScatterMin ScatterMul ScatterSub ScatterUpdate SegmentMax SegmentMean "
     "SegmentMin SegmentProd SegmentSum Selu SeluGrad Sigmoid SigmoidGrad "
     "Softmax SoftmaxCrossEntropyWithLogits SoftplusGrad SoftsignGrad "
     "SparseSegmentMean SparseSegmentMeanGrad SparseSegmentSqrtN "
     "SparseSegmentSqrtNGrad SparseSegmentSum SparseSegmentSumGrad Sqrt "
     "SqrtGrad Tanh TanhGrad"},
    {"T", "half bfloat16 float double bool", "ArgMax ArgMin ReverseSequence"},
    {"T", "half bfloat16 float double bool complex64 complex128",
     "MatrixBandPart MatrixDiag MatrixDiagPart"},
    {"T", "half bfloat16 float double complex64 complex128",
     "BatchMatMul BatchMatMulV2 Cos Cosh DivNoNan Exp MatMul Mean RealDiv "
     "Sin Sinh Split Tan Xdivy"},
    {"T",
     "half bfloat16 float double int16 int32 int64 bool complex64 "
     "complex128",
     "Tile"},
    {"T",
     "half bfloat16 float double int16 int32 int64 uint32 uint64 bool "
     "complex64 complex128",
     "Pack"},
    {"T", "half bfloat16 float double int32",
     "BiasAdd Min UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd"},
    {"T", "half bfloat16 float double int32 complex64 complex128",
     "SplitV UnsortedSegmentSum"},
    {"T", "half bfloat16 float double int32 int64",
     "Cumprod Cumsum Max Round SquaredDifference"},
    {"T", "half bfloat16 float double int32 int64 bool complex64 complex128",
     "BroadcastTo Select"},
    {"T", "half bfloat16 float double int32 int64 complex64 complex128",
     "DynamicPartition DynamicStitch ParallelDynamicStitch Prod Sum"},
    {"T",
     "half bfloat16 float double int32 int64 uint32 complex64 complex128 "
     "variant",
     "AddN"},
    {"T",
     "half bfloat16 float double int32 int64 uint8 bool complex64 "
     "complex128",
     "Unpack"},
    {"T", "half bfloat16 float double int64 complex64 complex128",
     "Inv Reciprocal"},
    {"T", "half bfloat16 float double int64 uint32 bool complex64 complex128",
     "DestroyTemporaryVariable"},
    {"T", "half bfloat16 float double int8 int16 int32 int64", "Abs"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 complex64 "
     "complex128",
     "Neg Sign"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 uint8 complex64 "
     "complex128",
     "Add"},
    {"T", "half bfloat16 float double int8 int16 int32 int64 uint8 uint16",
     "ClipByValue"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "bool complex64 complex128",
     "Fill"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64",
     "Cross FloorDiv Greater GreaterEqual Less LessEqual Maximum Minimum "
     "Square TopKV2"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool",
     "UniqueWithCounts"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool complex64 complex128",
     "Concat ConcatV2 Equal ExpandDims NotEqual OnesLike Reshape SelectV2 "
     "ShapeN Snapshot Squeeze StridedSlice StridedSliceGrad Transpose"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool complex64 complex128 string",
     "RefEnter RefSwitch"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool complex64 complex128 string resource",
     "RefExit RefMerge"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool complex64 complex128 string variant",
     "Shape"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool complex64 complex128 variant",
     "Rank Size ZerosLike"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool string",
     "Unique"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 complex64 complex128",
     "AddV2 Div Mul ResourceScatterNdAdd ResourceScatterNdSub "
     "ResourceScatterNdUpdate ScatterNd ScatterNdAdd ScatterNdSub "
     "ScatterNdUpdate Sub"},
    {"T", "half bfloat16 float double int8 int16 int64", "Pow"},
    {"T",
     "half bfloat16 float double int8 int16 int64 uint8 uint16 uint32 "
     "uint64",
     "AssignAdd AssignSub Relu"},
    {"T",
     "half bfloat16 float double int8 int16 int64 uint8 uint16 uint32 "
     "uint64 bool complex64 complex128",
     "Assign"},
    {"T",
     "half bfloat16 float double int8 int16 int64 uint8 uint16 uint32 "
     "uint64 bool complex64 complex128 variant",
     "PreventGradient"},
    {"T",
     "half bfloat16 float double int8 int32 int64 bool complex64 "
     "complex128",
     "OneHot Slice"},
    {"T",
     "half bfloat16 float double int8 int32 uint8 bool complex64 "
     "complex128",
     "Pad PadV2 Reverse ReverseV2"},
    {"T", "half float double",
     "ApplyFtrl ApplyProximalAdagrad CheckNumerics Digamma Lgamma "
     "Multinomial ResourceApplyFtrl ResourceApplyProximalAdagrad "
     "ResourceSparseApplyAdagrad ResourceSparseApplyAdagradV2 "
     "ResourceSparseApplyFtrl ResourceSparseApplyProximalAdagrad Rint "
     "Softplus Softsign SparseApplyAdagrad SparseApplyAdagradV2 "
     "SparseApplyFtrl SparseApplyProximalAdagrad"},
    {"T", "half float double complex64 complex128",
     "ApplyAdadelta ApplyAdagrad ApplyAdagradV2 ApplyAdam "
     "ApplyCenteredRMSProp ApplyGradientDescent ApplyMomentum ApplyRMSProp "
     "ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradV2 "
     "ResourceApplyAdam ResourceApplyCenteredRMSProp "
     "ResourceApplyGradientDescent ResourceApplyMomentum "
     "ResourceApplyRMSProp ResourceSparseApplyAdadelta SparseApplyAdadelta"},
    {"T", "half float double int32 int64 complex64 complex128",
     "Diag DiagPart"},
    {"T",
     "half float double int8 int16 int32 int64 uint8 uint16 uint32 "
     "uint64",
     "FloorMod"},
    {"T", "half float double int8 int16 int64 uint8 uint16 uint32 uint64",
     "TruncateDiv"},
    {"T", "int32",
     "Mod RandomStandardNormal RandomUniform RandomUniformInt TruncateMod "
     "TruncatedNormal"},
    {"T", "int32 int64",
     "BroadcastArgs BroadcastGradientArgs InTopKV2 InvertPermutation"},
    {"TI", "int8 int32 int64 uint8", "OneHot"},
    {"Tdim", "int32 int64", "ExpandDims"},
    {"Tidx", "half bfloat16 float double int32 int64", "Range"},
    {"Tidx", "int32", "ArgMax ArgMin"},
    {"Tidx", "int32 int64",
     "All Any Cumprod Cumsum LinSpace Max Mean Min Prod ReverseV2 "
     "SparseSegmentMean SparseSegmentMeanGrad SparseSegmentSqrtN "
     "SparseSegmentSqrtNGrad SparseSegmentSum SparseSegmentSumGrad Sum"},
    {"Tindices", "int32 int64",
     "Gather GatherNd GatherV2 ResourceGather ResourceScatterAdd "
     "ResourceScatterDiv ResourceScatterMax ResourceScatterMin "
     "ResourceScatterMul ResourceScatterNdAdd ResourceScatterNdSub "
     "ResourceScatterNdUpdate ResourceScatterSub ResourceScatterUpdate "
     "ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad "
     "ResourceSparseApplyAdagradV2 ResourceSparseApplyFtrl "
     "ResourceSparseApplyProximalAdagrad ScatterAdd ScatterDiv ScatterMax "
     "ScatterMin ScatterMul ScatterNd ScatterNdAdd ScatterNdSub "
     "ScatterNdUpdate ScatterSub ScatterUpdate SegmentMax SegmentMean "
     "SegmentMin SegmentProd SegmentSum SparseApplyAdadelta "
     "SparseApplyAdagrad SparseApplyAdagradV2 SparseApplyFtrl "
     "SparseApplyProximalAdagrad TensorScatterUpdate UnsortedSegmentMax "
     "UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum"},
    {"Tlabels", "int32 int64", "SparseSoftmaxCrossEntropyWithLogits"},
    {"Tlen", "int32 int64", "ReverseSequence"},
    {"Tlen", "int8 int32 int64", "SplitV"},
    {"Tmultiples", "int32 int64", "Tile"},
    {"Tout", "int32 int64", "RandomUniformInt"},
    {"Tpaddings", "int32 int64", "MirrorPad MirrorPadGrad Pad PadV2"},
    {"Tparams",
     "half bfloat16 float double int32 int64 bool complex64 complex128",
     "Gather GatherV2"},
    {"Tparams", "half bfloat16 float double int32 int64 complex64 complex128",
     "GatherNd"},
    {"Tsegmentids", "int32 int64",
     "SparseSegmentMean SparseSegmentMeanGrad SparseSegmentSqrtN "
     "SparseSegmentSqrtNGrad SparseSegmentSum SparseSegmentSumGrad"},
    {"Tshape", "int32 int64", "Reshape"},
    {"dtype", "half bfloat16 float double",
     "RandomStandardNormal RandomUniform TruncatedNormal"},
    {"dtype",
     "half bfloat16 float double int64 uint32 bool complex64 complex128",
     "IsVariableInitialized TemporaryVariable Variable VariableV2"},
    {"dtype",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool complex64 complex128 variant",
     "Const"},
    {"dtype",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 complex64 complex128",
     "AssignAddVariableOp AssignSubVariableOp"},
    {"dtype",
     "half bfloat16 float double int8 int16 int64 uint8 uint16 uint32 "
     "uint64",
     "ResourceScatterAdd ResourceScatterDiv ResourceScatterMax "
     "ResourceScatterMin ResourceScatterMul ResourceScatterSub"},
    {"dtype",
     "half bfloat16 float double int8 int16 int64 uint8 uint16 uint32 "
     "uint64 bool complex64 complex128 variant",
     "ResourceGather VarHandleOp"},
    {"dtype",
     "half bfloat16 float double int8 int16 int64 uint8 uint16 uint32 "
     "uint64 bool variant",
     "ResourceScatterUpdate"},
    {"index_type", "int32", "TopKV2"},
    {"index_type", "int32 int64", "Fill"},
    {"out_idx", "int32 int64", "Unique UniqueWithCounts"},
    {"out_type", "int32 int64", "Shape ShapeN Size VariableShape"},
    {"output_dtype", "int32 int64", "Multinomial"},
    {"output_type", "int32 int64", "ArgMax ArgMin"},
    {"shape_type", "int32 int64", "ConcatOffset"},
};

}  // namespace

absl::Span<const TensorFlowGpuKernels> AllTensorFlowGpuKernels() {
  return kTensorFlowGpuKernels;
}

}  // namespace weft
