// Registration of the sparse kernels; groups are in files of their names
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_SPARSE_SPARSE_KERNELS_H_
#define WEFT_LIBS_KERNELS_SPARSE_SPARSE_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers all sparse kernels.
void RegisterSparseKernels(KernelRegistry& registry);

// Ragged tensors: RaggedTensorToVariant, RaggedTensorFromVariant, RaggedRange.
void RegisterRaggedKernels(KernelRegistry& registry);
// Parts of ragged tensors: RaggedGather, RaggedTensorToSparse, the gradient of
// RaggedTensorToVariant.
void RegisterRaggedPartsKernels(KernelRegistry& registry);
// Ragged to dense tensors: RaggedTensorToTensor.
void RegisterRaggedTensorKernels(KernelRegistry& registry);
// Ops on two sparse tensors: SparseAdd and related ops.
void RegisterSparseArithmeticKernels(KernelRegistry& registry);
// Combinations of features: SparseCross.
void RegisterSparseCrossKernels(KernelRegistry& registry);
// Elementwise ops on a sparse and a dense tensor: SparseDenseCwiseAdd and
// related ops; SparseSoftmax.
void RegisterSparseCwiseKernels(KernelRegistry& registry);
// Ops with dense results: SparseToDense, SparseTensorDenseMatMul.
void RegisterSparseDenseKernels(KernelRegistry& registry);
// Fused lookups (libs/passes/lookup_fusion.h): _UniqueRowIds, _CombineRows and
// its gradient, _WhereHashed, _CountIds.
void RegisterSparseLookupKernels(KernelRegistry& registry);
// SparseReduceSum and related ops.
void RegisterSparseReductionKernels(KernelRegistry& registry);
// SparseFillEmptyRows, RaggedFillEmptyRows and their gradients.
void RegisterSparseRowKernels(KernelRegistry& registry);
// Sparse tensors as strings or variants: SerializeSparse, SerializeManySparse,
// DeserializeSparse, DeserializeManySparse.
void RegisterSparseSerializeKernels(KernelRegistry& registry);
// Ops with sparse results: SparseReshape, SparseReorder, SparseSlice,
// SparseConcat, SparseSplit.
void RegisterSparseShapeKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SPARSE_SPARSE_KERNELS_H_
