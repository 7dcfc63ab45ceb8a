#include "libs/kernels/data/data_kernels.h"

namespace weft {

void RegisterDataKernels(KernelRegistry& registry) {
  RegisterTensorDatasets(registry);
  RegisterChoiceDatasets(registry);
  RegisterFunctionDatasets(registry);
  RegisterBatchDatasets(registry);
  RegisterShuffleDatasets(registry);
  RegisterRecordDatasets(registry);
  RegisterCsvDataset(registry);
  RegisterDirectedInterleaveDataset(registry);
  RegisterParallelBatchDataset(registry);
  RegisterParallelMapDatasets(registry);
  RegisterParallelInterleaveDataset(registry);
  RegisterParseExampleDataset(registry);
  RegisterPrefetchDataset(registry);
  RegisterCacheDataset(registry);
  RegisterCardinalityDataset(registry);
  RegisterGroupByReducerDataset(registry);
  RegisterRebatchDataset(registry);
  RegisterSparseBatchDataset(registry);
  RegisterIteratorKernels(registry);
  RegisterWholeDatasetKernels(registry);
}

}  // namespace weft
