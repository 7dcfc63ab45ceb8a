#include "libs/kernels/cuda_kernel_types.h"

namespace weft {
namespace {

constexpr TensorFlowGpuKernels kKernels[] = {
    {"", "",
     "All Any LogicalAnd LogicalNot LogicalOr TensorArrayCloseV3 "
     "TensorArrayGradV3 TensorArraySizeV3"},
    {"DstT",
     "float double int32 uint8 int16 int8 int64 bool bfloat16 uint16 half "
     "uint32 uint64",
     "Cast"},
    {"SrcT",
     "float double int32 uint8 int16 int8 int64 bool bfloat16 uint16 half "
     "uint32 uint64",
     "Cast"},
    {"T", "float",
     "FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2 "
     "FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3"},
    {"T", "float bfloat16 half",
     "LRN LRNGrad SparseSoftmaxCrossEntropyWithLogits"},
    {"T", "float double bfloat16 half",
     "Acos ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA "
     "ApplyAdagradV2 ApplyAdam ApplyCenteredRMSProp ApplyFtrl ApplyFtrlV2 "
     "ApplyGradientDescent ApplyMomentum ApplyProximalAdagrad "
     "ApplyProximalGradientDescent ApplyRMSProp Asin Atan Atan2 Atanh AvgPool "
     "AvgPoolGrad BatchMatMul BatchMatMulV2 BiasAdd BiasAddGrad Ceil Conv2D "
     "Conv2DBackpropFilter Conv2DBackpropInput Cos Cosh DepthwiseConv2dNative "
     "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput "
     "Div DivNoNan Elu EluGrad Erf Exp Expm1 Floor FloorDiv Inv InvGrad "
     "IsFinite IsInf IsNan L2Loss LeakyRelu LeakyReluGrad Log Log1p "
     "LogSoftmax MatMul MaxPool MaxPoolGrad Mean Min Pow RealDiv Reciprocal "
     "ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad ResourceApplyAdaMax "
     "ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA "
     "ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyCenteredRMSProp "
     "ResourceApplyFtrl ResourceApplyFtrlV2 ResourceApplyGradientDescent "
     "ResourceApplyMomentum ResourceApplyProximalAdagrad "
     "ResourceApplyProximalGradientDescent ResourceApplyRMSProp "
     "ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad "
     "ResourceSparseApplyAdagradDA ResourceSparseApplyAdagradV2 "
     "ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl "
     "ResourceSparseApplyFtrlV2 ResourceSparseApplyMomentum "
     "ResourceSparseApplyProximalAdagrad "
     "ResourceSparseApplyProximalGradientDescent ResourceSparseApplyRMSProp "
     "Round Rsqrt RsqrtGrad SegmentMean SegmentSum Selu SeluGrad Sigmoid "
     "SigmoidGrad Sin Sinh Softmax SoftmaxCrossEntropyWithLogits SoftplusGrad "
     "SoftsignGrad SparseApplyAdadelta SparseApplyAdagrad "
     "SparseApplyAdagradDA SparseApplyAdagradV2 SparseApplyCenteredRMSProp "
     "SparseApplyFtrl SparseApplyFtrlV2 SparseApplyMomentum "
     "SparseApplyProximalAdagrad SparseApplyProximalGradientDescent "
     "SparseApplyRMSProp SparseSegmentMean SparseSegmentMeanGrad "
     "SparseSegmentMeanGradV2 SparseSegmentSqrtN SparseSegmentSqrtNGrad "
     "SparseSegmentSum SparseSegmentSumGrad SparseSegmentSumGradV2 Sqrt "
     "SqrtGrad Tan Tanh TanhGrad UnsortedSegmentMax UnsortedSegmentMin "
     "UnsortedSegmentProd UnsortedSegmentSum Xdivy"},
    {"T", "float double bool bfloat16 half", "ArgMax ArgMin ReverseSequence"},
    {"T", "float double complex64 bfloat16 complex128 half", "Split SplitV"},
    {"T", "float double complex64 int64 bool bfloat16 complex128 half",
     "BroadcastTo"},
    {"T", "float double complex64 int64 complex128", "TensorScatterUpdate"},
    {"T", "float double half", "FloorMod Rint Softplus Softsign"},
    {"T",
     "float double int16 complex64 int64 bool bfloat16 complex128 half uint32 "
     "uint64",
     "Pack"},
    {"T", "float double int32 complex64 int64 bfloat16 complex128 half",
     "DynamicPartition"},
    {"T",
     "float double int32 int16 complex64 int64 bool bfloat16 complex128 half",
     "Tile"},
    {"T", "float double int32 int64 bfloat16 half", "Prod"},
    {"T", "float double int32 int64 bool bfloat16 half", "Select"},
    {"T",
     "float double int32 int8 complex64 int64 bool bfloat16 complex128 half",
     "OneHot"},
    {"T",
     "float double int32 uint8 int16 int8 complex64 int64 bool bfloat16 "
     "uint16 complex128 half uint32 uint64",
     "Transpose"},
    {"T",
     "float double int32 uint8 int16 int8 int64 bool bfloat16 uint16 half "
     "uint32 uint64",
     "OnesLike SelectV2 ZerosLike"},
    {"T", "float double int64 bfloat16 half",
     "Abs Add AddN AddV2 AssignAdd AssignSub ClipByValue Cumprod Cumsum "
     "DynamicStitch Greater GreaterEqual Less LessEqual Max Maximum Minimum "
     "Mul Neg ParallelDynamicStitch ResourceScatterNdAdd ResourceScatterNdSub "
     "ResourceScatterNdUpdate ScatterAdd ScatterNd ScatterNdAdd ScatterNdSub "
     "ScatterNdUpdate ScatterSub ScatterUpdate Sign Square SquaredDifference "
     "Sub Sum TensorArrayScatterV3 TensorArraySplitV3 TensorArrayWriteV3 TopK "
     "TopKV2"},
    {"T", "float double int64 bool bfloat16 half", "Equal NotEqual"},
    {"T", "float double int8 complex64 int64 bool bfloat16 complex128 half",
     "Slice"},
    {"T", "float double uint8 complex64 bool bfloat16 complex128 half",
     "Unpack"},
    {"T",
     "float double uint8 int16 int8 complex64 int64 bool bfloat16 uint16 "
     "complex128 half uint32 uint64",
     "Concat ConcatV2 StridedSlice StridedSliceGrad"},
    {"T", "float double uint8 int16 int8 int64 bool bfloat16 uint16 half",
     "Fill"},
    {"T", "float double uint8 int8 complex64 bool bfloat16 complex128 half",
     "Pad PadV2 Reverse ReverseV2"},
    {"T", "int32 int64", "InTopK InTopKV2"},
    {"TI", "int32 uint8 int64", "OneHot"},
    {"Tidx", "int32 int64", "ReverseV2"},
    {"Tindices", "int32 int64",
     "Gather GatherNd GatherV2 ResourceGather ScatterNd TensorScatterUpdate "
     "UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd "
     "UnsortedSegmentSum"},
    {"Tlen", "int32 int64", "ReverseSequence"},
    {"Tlen", "int32 int8 int64", "SplitV"},
    {"Tmultiples", "int32 int64", "Tile"},
    {"Tpaddings", "int32 int64", "Pad PadV2"},
    {"Tparams", "float double int32 complex64 int64 bfloat16 complex128 half",
     "GatherNd"},
    {"Tparams",
     "float double int32 complex64 int64 bool bfloat16 complex128 half",
     "Gather GatherV2"},
    {"dtype", "float double bfloat16 half",
     "RandomStandardNormal RandomUniform TruncatedNormal"},
    {"dtype", "float double int64 bfloat16 half",
     "AssignAddVariableOp AssignSubVariableOp ResourceScatterAdd "
     "ResourceScatterSub ResourceScatterUpdate TensorArrayConcatV3 "
     "TensorArrayGatherV3 TensorArrayReadV3 TensorArrayV3"},
    {"dtype",
     "float double uint8 int16 int8 complex64 int64 bool bfloat16 uint16 "
     "complex128 half uint32 uint64",
     "ResourceGather"},
    {"index_type", "int32 int64", "TopKV2"},
    {"output_type", "int32 int64", "ArgMax ArgMin"},
};

}  // namespace

absl::Span<const TensorFlowGpuKernels> AllCudaKernels() { return kKernels; }

}  // namespace weft
