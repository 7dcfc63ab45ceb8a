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
// Ragged tensors to others: RaggedGather, RaggedTensorToSparse,
// RaggedTensorToTensor, RaggedFillEmptyRows.
void RegisterRaggedPartsKernels(KernelRegistry& registry);
// Of two sparse tensors, or one and a dense one: SparseAdd and its like.
void RegisterSparseArithmeticKernels(KernelRegistry& registry);
// Combinations of features: SparseCross.
void RegisterSparseCrossKernels(KernelRegistry& registry);
// What comes out dense: SparseToDense, SparseTensorDenseMatMul,
// SparseReduceSum and its like.
void RegisterSparseDenseKernels(KernelRegistry& registry);
// What lookups become (libs/passes/lookup_fusion.h): _UniqueRowIds,
// _CombineRows and its gradient, _WhereHashed, _CountIds.
void RegisterSparseLookupKernels(KernelRegistry& registry);
// SparseFillEmptyRows and its gradient.
void RegisterSparseRowKernels(KernelRegistry& registry);
// Sparse tensors as strings or variants: SerializeSparse, SerializeManySparse,
// DeserializeSparse, DeserializeManySparse.
void RegisterSparseSerializeKernels(KernelRegistry& registry);
// What stays sparse: SparseReshape, SparseReorder, SparseSlice, SparseConcat,
// SparseSplit.
void RegisterSparseShapeKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SPARSE_SPARSE_KERNELS_H_
