// Written by tools/tensorflow_gpu_kernels.py, from TensorFlow 2.21.0.
#include "libs/kernels/tensorflow_gpu_kernels.h"

namespace weft {
namespace {

constexpr TensorFlowGpuKernels kKernels[] = {
    {"", "",
     "AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 Assert "
     "AssignVariableOp Bitcast Case ControlTrigger DeleteIterator "
     "DestroyResourceOp DisableCopyOnRead EmptyTensorList EnsureShape Enter "
     "Exit FIFOQueueV2 Identity IdentityN If IteratorFromStringHandleV2 "
     "IteratorGetNext IteratorGetNextAsOptional IteratorGetNextSync "
     "IteratorToStringHandle IteratorV2 LogicalAnd LogicalNot LogicalOr "
     "LoopCond MakeIterator MapClear MapIncompleteSize MapPeek MapSize "
     "MapStage MapUnstage MapUnstageNoKey Merge NextIteration NoOp "
     "OptionalFromValue OptionalGetValue OptionalHasValue OptionalNone "
     "OptionsDataset OrderedMapClear OrderedMapIncompleteSize OrderedMapPeek "
     "OrderedMapSize OrderedMapStage OrderedMapUnstage "
     "OrderedMapUnstageNoKey PartitionedCall Placeholder PlaceholderV2 "
     "PlaceholderWithDefault PrefetchDataset QueueCloseV2 QueueDequeueV2 "
     "QueueEnqueueV2 QueueIsClosedV2 QueueSizeV2 ReadVariableOp RefIdentity "
     "RefNextIteration SparseReshape Stack StackClose StackCloseV2 StackV2 "
     "Stage StageClear StagePeek StageSize StatefulPartitionedCall "
     "StatelessCase StatelessIf StatelessWhile StopGradient Switch "
     "SymbolicGradient TensorArrayClose TensorArrayCloseV2 "
     "TensorArrayCloseV3 TensorArrayGrad TensorArrayGradV2 TensorArrayGradV3 "
     "TensorArraySize TensorArraySizeV2 TensorArraySizeV3 "
     "TensorListElementShape TensorListLength TensorListPushBack "
     "TensorListReserve Unstage VarIsInitializedOp While _Arg _Recv _Retval "
     "_Send"},
    {"DstT",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool complex64 complex128",
     "Cast"},
    {"SrcT",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool complex64 complex128",
     "Cast"},
    {"T", "float", "FusedBatchNorm FusedBatchNormGrad LRN LRNGrad"},
    {"T", "float double", "ApproximateEqual LinSpace Polygamma"},
    {"T", "float double complex64 complex128", "MatrixTriangularSolve"},
    {"T", "float double int32 int64", "Bucketize"},
    {"T", "float double int32 int64 complex64 complex128",
     "TensorScatterUpdate"},
    {"T", "float double int8 int32 int64 uint8 bool complex64 complex128",
     "Where"},
    {"T", "float int32", "Bincount"},
    {"T", "half bfloat16 float",
     "FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 "
     "FusedBatchNormV3 SparseSoftmaxCrossEntropyWithLogits"},
    {"T", "half bfloat16 float double",
     "Acos Asin Atan Atan2 Atanh AvgPool AvgPoolGrad BatchMatrixBandPart "
     "BatchMatrixDiag BatchMatrixDiagPart BatchMatrixSetDiag BiasAddGrad "
     "Ceil Conv2DBackpropFilter DepthwiseConv2dNative "
     "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput "
     "Elu EluGrad Erf Expm1 Floor InvGrad IsFinite IsInf IsNan L2Loss "
     "LeakyRelu LeakyReluGrad Log Log1p LogSoftmax MaxPool MaxPoolGrad "
     "MaxPoolGradGrad MirrorPad MirrorPadGrad ReciprocalGrad Relu6 Relu6Grad "
     "ReluGrad Rsqrt RsqrtGrad ScatterAdd ScatterDiv ScatterMax ScatterMin "
     "ScatterMul ScatterSub ScatterUpdate SegmentMax SegmentMean SegmentMin "
     "SegmentProd SegmentSum Selu SeluGrad Sigmoid SigmoidGrad Softmax "
     "SoftmaxCrossEntropyWithLogits SoftplusGrad SoftsignGrad "
     "SparseSegmentMean SparseSegmentMeanGrad SparseSegmentMeanGradV2 "
     "SparseSegmentSqrtN SparseSegmentSqrtNGrad SparseSegmentSum "
     "SparseSegmentSumGrad SparseSegmentSumGradV2 Sqrt SqrtGrad Tanh "
     "TanhGrad"},
    {"T", "half bfloat16 float double bool", "ArgMax ArgMin ReverseSequence"},
    {"T", "half bfloat16 float double bool complex64 complex128",
     "MatrixBandPart MatrixDiag MatrixDiagPart MatrixDiagPartV2 "
     "MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixSetDiag "
     "MatrixSetDiagV2 MatrixSetDiagV3"},
    {"T", "half bfloat16 float double complex64 complex128",
     "BatchMatMul BatchMatMulV2 Cos Cosh DivNoNan Exp MatMul Mean RealDiv "
     "Sin Sinh Split Tan TensorArraySplit TensorArraySplitV2 "
     "TensorArraySplitV3 TensorArrayWrite TensorArrayWriteV2 "
     "TensorArrayWriteV3 Xdivy"},
    {"T",
     "half bfloat16 float double int16 int32 int64 bool complex64 "
     "complex128",
     "Tile"},
    {"T",
     "half bfloat16 float double int16 int32 int64 uint32 uint64 bool "
     "complex64 complex128",
     "Pack"},
    {"T", "half bfloat16 float double int32",
     "BiasAdd Conv2D Conv2DBackpropInput Min UnsortedSegmentMax "
     "UnsortedSegmentMin UnsortedSegmentProd"},
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
     "Inv Reciprocal TensorArrayScatter TensorArrayScatterV2 "
     "TensorArrayScatterV3 TensorArrayUnpack"},
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
     "SparseFillEmptyRowsGrad Square TopK TopKV2"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool",
     "SparseReorder SparseToDense UniqueWithCounts"},
    {"T",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool complex64 complex128",
     "Concat ConcatV2 Equal ExpandDims NotEqual OnesLike Reshape SelectV2 "
     "ShapeN Snapshot SparseConcat SparseFillEmptyRows SparseSlice Squeeze "
     "StackPush StackPushV2 StridedSlice StridedSliceGrad Transpose"},
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
     "ScatterNdUpdate SparseSliceGrad Sub"},
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
     "ApplyAdaMax ApplyFtrl ApplyFtrlV2 ApplyProximalAdagrad CheckNumerics "
     "Digamma Lgamma Multinomial ResourceApplyAdaMax ResourceApplyFtrl "
     "ResourceApplyFtrlV2 ResourceApplyProximalAdagrad "
     "ResourceSparseApplyAdagrad ResourceSparseApplyAdagradV2 "
     "ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2 "
     "ResourceSparseApplyProximalAdagrad Rint Softplus Softsign "
     "SparseApplyAdagrad SparseApplyAdagradV2 SparseApplyFtrl "
     "SparseApplyFtrlV2 SparseApplyProximalAdagrad"},
    {"T", "half float double complex128", "Qr"},
    {"T", "half float double complex64 complex128",
     "ApplyAdadelta ApplyAdagrad ApplyAdagradV2 ApplyAdam "
     "ApplyCenteredRMSProp ApplyGradientDescent ApplyMomentum ApplyRMSProp "
     "ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradV2 "
     "ResourceApplyAdam ResourceApplyCenteredRMSProp "
     "ResourceApplyGradientDescent ResourceApplyMomentum "
     "ResourceApplyRMSProp ResourceSparseApplyAdadelta SparseApplyAdadelta "
     "SparseTensorDenseMatMul"},
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
     "SparseSegmentMean SparseSegmentMeanGrad SparseSegmentMeanGradV2 "
     "SparseSegmentSqrtN SparseSegmentSqrtNGrad SparseSegmentSum "
     "SparseSegmentSumGrad SparseSegmentSumGradV2 Sum"},
    {"Tin",
     "half bfloat16 float double int8 int16 int64 uint8 uint16 uint32 "
     "uint64 bool complex64 complex128",
     "EagerPyFunc"},
    {"Tindices", "int32 int64",
     "Gather GatherNd GatherV2 ResourceGather ResourceScatterAdd "
     "ResourceScatterDiv ResourceScatterMax ResourceScatterMin "
     "ResourceScatterMul ResourceScatterNdAdd ResourceScatterNdSub "
     "ResourceScatterNdUpdate ResourceScatterSub ResourceScatterUpdate "
     "ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad "
     "ResourceSparseApplyAdagradV2 ResourceSparseApplyFtrl "
     "ResourceSparseApplyFtrlV2 ResourceSparseApplyProximalAdagrad "
     "ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul ScatterNd "
     "ScatterNdAdd ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate "
     "SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum "
     "SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradV2 "
     "SparseApplyFtrl SparseApplyFtrlV2 SparseApplyProximalAdagrad "
     "SparseTensorDenseMatMul SparseToDense TensorScatterUpdate "
     "UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd "
     "UnsortedSegmentSum"},
    {"Tlabels", "int32 int64", "SparseSoftmaxCrossEntropyWithLogits"},
    {"Tlen", "int32 int64", "ReverseSequence"},
    {"Tlen", "int8 int32 int64", "SplitV"},
    {"Tmultiples", "int32 int64", "Tile"},
    {"Tout",
     "half bfloat16 float double int8 int16 int64 uint8 uint16 uint32 "
     "uint64 bool complex64 complex128",
     "EagerPyFunc"},
    {"Tout", "int32 int64", "RandomUniformInt"},
    {"Tpaddings", "int32 int64", "MirrorPad MirrorPadGrad Pad PadV2"},
    {"Tparams",
     "half bfloat16 float double int32 int64 bool complex64 complex128",
     "Gather GatherV2"},
    {"Tparams", "half bfloat16 float double int32 int64 complex64 complex128",
     "GatherNd"},
    {"Tsegmentids", "int32 int64",
     "SparseSegmentMean SparseSegmentMeanGrad SparseSegmentMeanGradV2 "
     "SparseSegmentSqrtN SparseSegmentSqrtNGrad SparseSegmentSum "
     "SparseSegmentSumGrad SparseSegmentSumGradV2"},
    {"Tserialized", "variant", "DeserializeSparse"},
    {"Tshape", "int32 int64", "Reshape"},
    {"U", "float",
     "FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 "
     "FusedBatchNormV3"},
    {"dtype", "half bfloat16 float double",
     "RandomStandardNormal RandomUniform TruncatedNormal"},
    {"dtype", "half bfloat16 float double complex64 complex128",
     "TensorArrayPack"},
    {"dtype", "half bfloat16 float double int32 complex64 complex128",
     "TensorArrayConcat TensorArrayConcatV2 TensorArrayConcatV3 "
     "TensorArrayGather TensorArrayGatherV2 TensorArrayGatherV3"},
    {"dtype", "half bfloat16 float double int64 complex64 complex128",
     "TensorArray TensorArrayRead TensorArrayReadV2 TensorArrayReadV3 "
     "TensorArrayV2 TensorArrayV3"},
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
    {"elem_type",
     "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 "
     "uint32 uint64 bool complex64 complex128",
     "StackPop StackPopV2"},
    {"element_dtype",
     "half bfloat16 float double int32 int64 bool complex64 complex128",
     "TensorListConcat TensorListConcatV2 TensorListFromTensor "
     "TensorListGather TensorListGetItem TensorListScatterIntoExistingList "
     "TensorListSetItem TensorListSplit TensorListStack"},
    {"element_dtype",
     "half bfloat16 float double int32 int64 bool complex64 complex128 "
     "variant",
     "TensorListPopBack"},
    {"index_type", "int32", "TopK TopKV2"},
    {"index_type", "int32 int64", "Fill"},
    {"out_idx", "int32 int64", "Unique UniqueWithCounts"},
    {"out_type", "int32 int64", "Shape ShapeN Size VariableShape"},
    {"output_dtype", "int32 int64", "Multinomial"},
    {"output_type", "int32 int64", "ArgMax ArgMin"},
    {"shape_type", "int32 int64", "ConcatOffset"},
};

}  // namespace

absl::Span<const TensorFlowGpuKernels> AllTensorFlowGpuKernels() {
  return kKernels;
}

}  // namespace weft
