// Datasets and iterators have no gradients: as in TensorFlow, their elements
// are data.
#include "libs/gradients/registry/gradient_registry.h"

namespace weft {

void RegisterDataGradients(GradientRegistry& registry) {
  for (const char* op :
       {"TensorDataset", "TensorSliceDataset", "SparseTensorSliceDataset",
        "RangeDataset", "RandomDataset", "RandomDatasetV2", "TextLineDataset",
        "TFRecordDataset", "TFRecordDatasetV2", "FixedLengthRecordDataset",
        "FixedLengthRecordDatasetV2", "CSVDataset", "CSVDatasetV2"}) {
    registry.RegisterNone(op);
  }
  for (const char* op : {"ZipDataset",
                         "ConcatenateDataset",
                         "MapDataset",
                         "FlatMapDataset",
                         "InterleaveDataset",
                         "FilterDataset",
                         "BatchDataset",
                         "BatchDatasetV2",
                         "PaddedBatchDataset",
                         "PaddedBatchDatasetV2",
                         "ShuffleDataset",
                         "ShuffleDatasetV2",
                         "ShuffleDatasetV3",
                         "ShuffleAndRepeatDataset",
                         "ShuffleAndRepeatDatasetV2",
                         "RepeatDataset",
                         "TakeDataset",
                         "SkipDataset",
                         "ShardDataset",
                         "WindowDataset",
                         "UnbatchDataset",
                         "TakeWhileDataset",
                         "ScanDataset",
                         "GroupByWindowDataset",
                         "UniqueDataset",
                         "IgnoreErrorsDataset",
                         "RewriteDataset",
                         "OptionsDataset",
                         "ModelDataset",
                         "OptimizeDataset",
                         "OptimizeDatasetV2",
                         "DirectedInterleaveDataset",
                         "FinalizeDataset",
                         "MaxIntraOpParallelismDataset",
                         "NonSerializableDataset",
                         "AssertCardinalityDataset",
                         "RebatchDatasetV2",
                         "DenseToSparseBatchDataset",
                         "ExperimentalDenseToSparseBatchDataset",
                         "GroupByReducerDataset",
                         "ExperimentalGroupByReducerDataset",
                         "LegacyParallelInterleaveDatasetV2",
                         "PrivateThreadPoolDataset"}) {
    registry.RegisterNone(op);
  }
  for (const char* op :
       {"ParallelMapDataset", "ParallelMapDatasetV2",
        "ParallelInterleaveDataset", "ParallelInterleaveDatasetV2",
        "ParallelInterleaveDatasetV3", "ParallelInterleaveDatasetV4",
        "PrefetchDataset", "CacheDataset", "CacheDatasetV2",
        "MapAndBatchDataset", "ParallelBatchDataset", "ParseExampleDataset",
        "ParseExampleDatasetV2"}) {
    registry.RegisterNone(op);
  }
  for (const char* op :
       {"ExperimentalCSVDataset", "ExperimentalDatasetCardinality",
        "ExperimentalDirectedInterleaveDataset",
        "ExperimentalGroupByWindowDataset", "ExperimentalIgnoreErrorsDataset",
        "ExperimentalMapAndBatchDataset",
        "ExperimentalMaxIntraOpParallelismDataset",
        "ExperimentalNonSerializableDataset",
        "ExperimentalParallelInterleaveDataset",
        "ExperimentalParseExampleDataset",
        "ExperimentalPrivateThreadPoolDataset", "ExperimentalRandomDataset",
        "ExperimentalScanDataset", "ExperimentalTakeWhileDataset",
        "ExperimentalUnbatchDataset", "ExperimentalUniqueDataset"}) {
    registry.RegisterNone(op);
  }
  for (const char* op : {"Iterator",
                         "IteratorV2",
                         "AnonymousIterator",
                         "AnonymousIteratorV2",
                         "AnonymousIteratorV3",
                         "OneShotIterator",
                         "MakeIterator",
                         "DeleteIterator",
                         "IteratorGetNext",
                         "IteratorGetNextSync",
                         "IteratorGetNextAsOptional",
                         "IteratorToStringHandle",
                         "IteratorFromStringHandle",
                         "IteratorFromStringHandleV2",
                         "SerializeIterator",
                         "DeserializeIterator",
                         "DatasetCardinality",
                         "DatasetToSingleElement",
                         "ReduceDataset",
                         "AnonymousSeedGenerator",
                         "AnonymousRandomSeedGenerator",
                         "DummySeedGenerator",
                         "DeleteSeedGenerator",
                         "DeleteRandomSeedGenerator",
                         "AnonymousMemoryCache",
                         "DummyMemoryCache",
                         "DeleteMemoryCache"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
