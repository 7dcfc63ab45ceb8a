// Queues, tables, accumulators, barriers and staging areas hold data, so their
// ops have no gradients. Tensor arrays have gradients.
#include "libs/gradients/resource/resource_gradients.h"

#include "libs/gradients/registry/gradient_registry.h"

namespace weft {

void RegisterResourceGradients(GradientRegistry& registry) {
  RegisterTensorArrayGradients(registry);
  for (const char* op :
       {"ConditionalAccumulator", "ResourceConditionalAccumulator",
        "AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient",
        "AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient",
        "AccumulatorNumAccumulated", "ResourceAccumulatorNumAccumulated",
        "AccumulatorSetGlobalStep", "ResourceAccumulatorSetGlobalStep",
        "SparseConditionalAccumulator", "SparseAccumulatorApplyGradient",
        "SparseAccumulatorTakeGradient"}) {
    registry.RegisterNone(op);
  }
  for (const char* op : {"HashTable",
                         "HashTableV2",
                         "MutableHashTable",
                         "MutableHashTableV2",
                         "MutableHashTableOfTensors",
                         "MutableHashTableOfTensorsV2",
                         "MutableDenseHashTableV2",
                         "InitializeTable",
                         "InitializeTableV2",
                         "InitializeTableFromTextFile",
                         "InitializeTableFromTextFileV2",
                         "LookupTableFind",
                         "LookupTableFindV2",
                         "LookupTableImport",
                         "LookupTableImportV2",
                         "LookupTableInsert",
                         "LookupTableInsertV2",
                         "LookupTableExport",
                         "LookupTableExportV2",
                         "LookupTableSize",
                         "LookupTableSizeV2",
                         "LookupTableRemoveV2"}) {
    registry.RegisterNone(op);
  }
  for (const char* op :
       {"FIFOQueue",          "FIFOQueueV2",        "PaddingFIFOQueue",
        "PaddingFIFOQueueV2", "RandomShuffleQueue", "RandomShuffleQueueV2",
        "PriorityQueue",      "PriorityQueueV2",    "QueueEnqueue",
        "QueueEnqueueV2",     "QueueEnqueueMany",   "QueueEnqueueManyV2",
        "QueueDequeue",       "QueueDequeueV2",     "QueueDequeueMany",
        "QueueDequeueManyV2", "QueueDequeueUpTo",   "QueueDequeueUpToV2",
        "QueueClose",         "QueueCloseV2",       "QueueSize",
        "QueueSizeV2",        "QueueIsClosed",      "QueueIsClosedV2"}) {
    registry.RegisterNone(op);
  }
  for (const char* op :
       {"Barrier", "BarrierInsertMany", "BarrierTakeMany", "BarrierClose",
        "BarrierReadySize", "BarrierIncompleteSize"}) {
    registry.RegisterNone(op);
  }
  for (const char* op :
       {"Stage", "Unstage", "StagePeek", "StageSize", "StageClear", "MapStage",
        "MapUnstage", "MapUnstageNoKey", "MapPeek", "MapSize",
        "MapIncompleteSize", "MapClear", "OrderedMapStage", "OrderedMapUnstage",
        "OrderedMapUnstageNoKey", "OrderedMapPeek", "OrderedMapSize",
        "OrderedMapIncompleteSize", "OrderedMapClear"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
