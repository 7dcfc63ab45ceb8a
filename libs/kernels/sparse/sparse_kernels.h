// The sparse family of kernels, each function in the file of its name
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_SPARSE_SPARSE_KERNELS_H_
#define WEFT_LIBS_KERNELS_SPARSE_SPARSE_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// All of them.
void RegisterSparseKernels(KernelRegistry& registry);

// Ragged tensors: RaggedTensorToVariant, RaggedTensorFromVariant, RaggedRange.
void RegisterRaggedKernels(KernelRegistry& registry);
// Parts of ragged tensors: RaggedGather, RaggedTensorToSparse, the gradient of
// RaggedTensorToVariant.
void RegisterRaggedPartsKernels(KernelRegistry& registry);
// Ragged tensors as dense ones: RaggedTensorToTensor.
void RegisterRaggedTensorKernels(KernelRegistry& registry);
// Of two sparse tensors: SparseAdd and its like.
void RegisterSparseArithmeticKernels(KernelRegistry& registry);
// Combinations of features: SparseCross.
void RegisterSparseCrossKernels(KernelRegistry& registry);
// Of a sparse tensor and a dense one, element by element: SparseDenseCwiseAdd
// and its like; SparseSoftmax.
void RegisterSparseCwiseKernels(KernelRegistry& registry);
// What comes out dense: SparseToDense, SparseTensorDenseMatMul.
void RegisterSparseDenseKernels(KernelRegistry& registry);
// What lookups become (libs/passes/lookup_fusion.h): _UniqueRowIds,
// _CombineRows and its gradient, _WhereHashed, _CountIds.
void RegisterSparseLookupKernels(KernelRegistry& registry);
// SparseReduceSum and its like.
void RegisterSparseReductionKernels(KernelRegistry& registry);
// SparseFillEmptyRows, RaggedFillEmptyRows and their gradients.
void RegisterSparseRowKernels(KernelRegistry& registry);
// Sparse tensors as strings or variants: SerializeSparse, SerializeManySparse,
// DeserializeSparse, DeserializeManySparse.
void RegisterSparseSerializeKernels(KernelRegistry& registry);
// What stays sparse: SparseReshape, SparseReorder, SparseSlice, SparseConcat,
// SparseSplit.
void RegisterSparseShapeKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SPARSE_SPARSE_KERNELS_H_
