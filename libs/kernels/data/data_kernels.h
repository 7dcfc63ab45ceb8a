// Kernels of datasets (tf.data): their ops create datasets, and iterators
// traverse them.
#ifndef WEFT_LIBS_KERNELS_DATA_DATA_KERNELS_H_
#define WEFT_LIBS_KERNELS_DATA_DATA_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

void RegisterDataKernels(KernelRegistry& registry);

// Each of these functions registers some of the kernels, and is defined in the
// file that is named after it.
void RegisterTensorDatasets(KernelRegistry& registry);
void RegisterChoiceDatasets(KernelRegistry& registry);
void RegisterFunctionDatasets(KernelRegistry& registry);
void RegisterBatchDatasets(KernelRegistry& registry);
void RegisterShuffleDatasets(KernelRegistry& registry);
void RegisterRecordDatasets(KernelRegistry& registry);
void RegisterCsvDataset(KernelRegistry& registry);
void RegisterDirectedInterleaveDataset(KernelRegistry& registry);
void RegisterParallelBatchDataset(KernelRegistry& registry);
void RegisterParallelMapDatasets(KernelRegistry& registry);
void RegisterParallelInterleaveDataset(KernelRegistry& registry);
void RegisterParseExampleDataset(KernelRegistry& registry);
void RegisterPrefetchDataset(KernelRegistry& registry);
void RegisterCacheDataset(KernelRegistry& registry);
void RegisterCardinalityDataset(KernelRegistry& registry);
void RegisterGroupByReducerDataset(KernelRegistry& registry);
void RegisterRebatchDataset(KernelRegistry& registry);
void RegisterSparseBatchDataset(KernelRegistry& registry);
void RegisterIteratorKernels(KernelRegistry& registry);
void RegisterWholeDatasetKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_DATA_KERNELS_H_
