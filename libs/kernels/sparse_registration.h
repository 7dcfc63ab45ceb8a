// The parts of the sparse family of kernels, each in the file of its name.
#ifndef WEFT_LIBS_KERNELS_SPARSE_REGISTRATION_H_
#define WEFT_LIBS_KERNELS_SPARSE_REGISTRATION_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Combinations of features: SparseCross.
void RegisterSparseCrossKernels(KernelRegistry& registry);
// What comes out dense: SparseToDense, SparseTensorDenseMatMul,
// SparseReduceSum.
void RegisterSparseDenseKernels(KernelRegistry& registry);
// SparseFillEmptyRows and its gradient.
void RegisterSparseRowKernels(KernelRegistry& registry);
// What stays sparse: SparseReshape, SparseReorder, SparseSlice, SparseConcat.
void RegisterSparseShapeKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SPARSE_REGISTRATION_H_
