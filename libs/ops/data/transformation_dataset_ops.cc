// Datasets that transform the elements of other datasets sequentially.
#include "libs/graph/inference_context.h"
#include "libs/ops/data/op_groups.h"

namespace weft {
namespace {

void AddChoices(OpRegistry& registry) {
  registry.Add(
      Dataset("ZipDataset", "The elements of several data sets side by side.")
          .Input("input_datasets: N * variant")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("N: int >= 1")
          .Attr("metadata: string = ''")
          .Shape(DatasetShape));
  registry.Add(Dataset("ConcatenateDataset",
                       "The elements of one data set, then those of another.")
                   .Input("input_dataset: variant")
                   .Input("another_dataset: variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShape));
  registry.Add(Dataset("RepeatDataset", "The elements so many times.")
                   .Input("input_dataset: variant")
                   .Input("count: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("TakeDataset", "The first elements.")
                   .Input("input_dataset: variant")
                   .Input("count: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("SkipDataset", "All but the first elements.")
                   .Input("input_dataset: variant")
                   .Input("count: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("ShardDataset", "Each so-manieth element.")
                   .Input("input_dataset: variant")
                   .Input("num_shards: int64")
                   .Input("index: int64")
                   .Attr("require_non_empty: bool = false")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 2)));
  registry.Add(Dataset("UniqueDataset", "The elements, each once.")
                   .Input("input_dataset: variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShape));
}

void AddChecks(OpRegistry& registry) {
  registry.Add(Dataset("AssertCardinalityDataset",
                       "The elements; an error where they are not so many.")
                   .Input("input_dataset: variant")
                   .Input("cardinality: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShapeOf(1, 1)));
}

void AddDirected(OpRegistry& registry) {
  registry.Add(Dataset("DirectedInterleaveDataset",
                       "Each element of the data set that another one names.")
                   .Input("selector_input_dataset: variant")
                   .Input("data_input_datasets: N * variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("N: int >= 1")
                   .Attr("stop_on_empty_dataset: bool = false")
                   .Shape(DatasetShape));
}

void AddFunctions(OpRegistry& registry) {
  registry.Add(Dataset("MapDataset", "What f makes of each element.")
                   .Input("input_dataset: variant")
                   .Input("other_arguments: Targuments")
                   .Attr("f: func")
                   .Attr("Targuments: list(type) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("use_inter_op_parallelism: bool = true")
                   .Attr("preserve_cardinality: bool = false")
                   .Attr("force_synchronous: bool = false")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShape));
  registry.Add(
      Dataset("FlatMapDataset",
              "The elements of the data sets that f makes of each element.")
          .Input("input_dataset: variant")
          .Input("other_arguments: Targuments")
          .Attr("f: func")
          .Attr("Targuments: list(type) >= 0")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("metadata: string = ''")
          .Shape(DatasetShape));
  registry.Add(Dataset("InterleaveDataset",
                       "The elements of the data sets that f makes, in turns.")
                   .Input("input_dataset: variant")
                   .Input("other_arguments: Targuments")
                   .Input("cycle_length: int64")
                   .Input("block_length: int64")
                   .Attr("f: func")
                   .Attr("Targuments: list(type) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(-2, 2)));
  registry.Add(
      Dataset("FilterDataset", "The elements that the predicate holds for.")
          .Input("input_dataset: variant")
          .Input("other_arguments: Targuments")
          .Attr("predicate: func")
          .Attr("Targuments: list(type) >= 0")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("metadata: string = ''")
          .Shape(DatasetShape));
  registry.Add(
      Dataset(
          "TakeWhileDataset",
          "The elements up to the first that the predicate does not hold for.")
          .Input("input_dataset: variant")
          .Input("other_arguments: Targuments")
          .Attr("predicate: func")
          .Attr("Targuments: list(type) >= 0")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("metadata: string = ''")
          .Shape(DatasetShape));
  registry.Add(
      Dataset("ScanDataset",
              "What f makes of each element and of a state it hands on.")
          .Input("input_dataset: variant")
          .Input("initial_state: Tstate")
          .Input("other_arguments: Targuments")
          .Attr("f: func")
          .Attr("Tstate: list(type) >= 1")
          .Attr("Targuments: list(type) >= 0")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("preserve_cardinality: bool = false")
          .Attr("use_default_device: bool = true")
          .Attr("metadata: string = ''")
          .Shape(DatasetShape));
  registry.Add(
      Dataset("GroupByWindowDataset",
              "What reduce_func makes of windows of elements of one key.")
          .Input("input_dataset: variant")
          .Input("key_func_other_arguments: Tkey_func_other_arguments")
          .Input("reduce_func_other_arguments: Treduce_func_other_arguments")
          .Input("window_size_func_other_arguments: "
                 "Twindow_size_func_other_arguments")
          .Attr("key_func: func")
          .Attr("reduce_func: func")
          .Attr("window_size_func: func")
          .Attr("Tkey_func_other_arguments: list(type) >= 0")
          .Attr("Treduce_func_other_arguments: list(type) >= 0")
          .Attr("Twindow_size_func_other_arguments: list(type) >= 0")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("metadata: string = ''")
          .Shape(DatasetShape));
}

void AddReducers(OpRegistry& registry) {
  for (const char* op :
       {"GroupByReducerDataset", "ExperimentalGroupByReducerDataset"}) {
    registry.Add(
        Dataset(op, "What the elements of each key come to, by key.")
            .Input("input_dataset: variant")
            .Input("key_func_other_arguments: Tkey_func_other_arguments")
            .Input("init_func_other_arguments: Tinit_func_other_arguments")
            .Input("reduce_func_other_arguments: Treduce_func_other_arguments")
            .Input(
                "finalize_func_other_arguments: Tfinalize_func_other_arguments")
            .Attr("key_func: func")
            .Attr("init_func: func")
            .Attr("reduce_func: func")
            .Attr("finalize_func: func")
            .Attr("Tkey_func_other_arguments: list(type) >= 0")
            .Attr("Tinit_func_other_arguments: list(type) >= 0")
            .Attr("Treduce_func_other_arguments: list(type) >= 0")
            .Attr("Tfinalize_func_other_arguments: list(type) >= 0")
            .Attr("output_types: list(type) >= 1")
            .Attr("output_shapes: list(shape) >= 1")
            .Stateful()
            .Shape(DatasetShape));
  }
}

void AddBatches(OpRegistry& registry) {
  registry.Add(Dataset("BatchDataset",
                       "So many elements at a time as one; fewer at the end.")
                   .Input("input_dataset: variant")
                   .Input("batch_size: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("BatchDatasetV2", "So many elements at a time as one.")
                   .Input("input_dataset: variant")
                   .Input("batch_size: int64")
                   .Input("drop_remainder: bool")
                   .Attr("parallel_copy: bool = false")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 2)));
  registry.Add(Dataset("PaddedBatchDataset",
                       "So many elements, padded to one shape, as one.")
                   .Input("input_dataset: variant")
                   .Input("batch_size: int64")
                   .Input("padded_shapes: N * int64")
                   .Input("padding_values: Toutput_types")
                   .Attr("Toutput_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("N: int >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("PaddedBatchDatasetV2",
                       "So many elements, padded to one shape, as one.")
                   .Input("input_dataset: variant")
                   .Input("batch_size: int64")
                   .Input("padded_shapes: N * int64")
                   .Input("padding_values: Toutput_types")
                   .Input("drop_remainder: bool")
                   .Attr("parallel_copy: bool = false")
                   .Attr("Toutput_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("N: int >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("RebatchDatasetV2",
                       "The rows of batches in batches of other sizes.")
                   .Input("input_dataset: variant")
                   .Input("batch_sizes: int64")
                   .Input("drop_remainder: bool")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShapeOf(2, 1)));
  for (const char* op :
       {"DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset"}) {
    registry.Add(Dataset(op, "So many elements as one sparse tensor.")
                     .Input("input_dataset: variant")
                     .Input("batch_size: int64")
                     .Input("row_shape: int64")
                     .Attr("output_types: list(type) >= 1")
                     .Attr("output_shapes: list(shape) >= 1")
                     .Shape(DatasetShapeOf(1, 1)));
  }
  registry.Add(Dataset("WindowDataset", "Windows of elements, each a data set.")
                   .Input("input_dataset: variant")
                   .Input("size: int64")
                   .Input("shift: int64")
                   .Input("stride: int64")
                   .Input("drop_remainder: bool")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 4)));
  registry.Add(Dataset("UnbatchDataset", "The rows of the elements.")
                   .Input("input_dataset: variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShape));
}

void AddShuffles(OpRegistry& registry) {
  registry.Add(
      Dataset("ShuffleDataset", "The elements in random order, by a buffer.")
          .Input("input_dataset: variant")
          .Input("buffer_size: int64")
          .Input("seed: int64")
          .Input("seed2: int64")
          .Attr("reshuffle_each_iteration: bool = true")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("metadata: string = ''")
          .Shape(DatasetShapeOf(1, 3)));
  registry.Add(
      Dataset("ShuffleDatasetV2",
              "The elements in random order, of a shared generator of seeds.")
          .Input("input_dataset: variant")
          .Input("buffer_size: int64")
          .Input("seed_generator: resource")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("metadata: string = ''")
          .Stateful()
          .Shape(DatasetShapeOf(1, 2)));
  registry.Add(
      Dataset("ShuffleDatasetV3",
              "The elements in random order, of seeds and a shared generator.")
          .Input("input_dataset: variant")
          .Input("buffer_size: int64")
          .Input("seed: int64")
          .Input("seed2: int64")
          .Input("seed_generator: resource")
          .Attr("reshuffle_each_iteration: bool = true")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("metadata: string = ''")
          .Stateful()
          .Shape(DatasetShapeOf(1, 4)));
  registry.Add(Dataset("ShuffleAndRepeatDataset",
                       "The elements in random order, so many times.")
                   .Input("input_dataset: variant")
                   .Input("buffer_size: int64")
                   .Input("seed: int64")
                   .Input("seed2: int64")
                   .Input("count: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("reshuffle_each_iteration: bool = true")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 4)));
  registry.Add(Dataset("ShuffleAndRepeatDatasetV2",
                       "The elements in random order, so many times.")
                   .Input("input_dataset: variant")
                   .Input("buffer_size: int64")
                   .Input("seed: int64")
                   .Input("seed2: int64")
                   .Input("count: int64")
                   .Input("seed_generator: resource")
                   .Attr("reshuffle_each_iteration: bool = true")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Stateful()
                   .Shape(DatasetShapeOf(1, 5)));
}

void AddPassing(OpRegistry& registry) {
  registry.Add(
      Dataset("IgnoreErrorsDataset", "The elements that are not errors.")
          .Input("input_dataset: variant")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("log_warning: bool = false")
          .Shape(DatasetShape));
  registry.Add(Dataset("MaxIntraOpParallelismDataset",
                       "The elements; threads are the device's.")
                   .Input("input_dataset: variant")
                   .Input("max_intra_op_parallelism: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("PrivateThreadPoolDataset",
                       "The elements; threads are the device's.")
                   .Input("input_dataset: variant")
                   .Input("num_threads: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("NonSerializableDataset", "The elements.")
                   .Input("input_dataset: variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShape));
  registry.Add(
      Dataset("FinalizeDataset", "The elements; nothing is left to decide.")
          .Input("input_dataset: variant")
          .Attr("has_captured_ref: bool = false")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Shape(DatasetShape));
  registry.Add(
      Dataset("RewriteDataset", "The elements; rewrites are for optimizers.")
          .Input("input_dataset: variant")
          .Input("rewrite_name: string")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("OptionsDataset",
                       "The elements; how they are made is said by options.")
                   .Input("input_dataset: variant")
                   .Attr("serialized_options: string")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShape));
  registry.Add(Dataset("ModelDataset", "The elements; nothing is tuned.")
                   .Input("input_dataset: variant")
                   .Attr("algorithm: int = 0")
                   .Attr("cpu_budget: int = 0")
                   .Attr("ram_budget: int = 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShape));
  registry.Add(Dataset("OptimizeDataset", "The elements; nothing is optimized.")
                   .Input("input_dataset: variant")
                   .Input("optimizations: string")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("optimization_configs: list(string) = []")
                   .Shape(DatasetShape));
  registry.Add(
      Dataset("OptimizeDatasetV2", "The elements; nothing is optimized.")
          .Input("input_dataset: variant")
          .Input("optimizations_enabled: string")
          .Input("optimizations_disabled: string")
          .Input("optimizations_default: string")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("optimization_configs: list(string) = []")
          .Shape(DatasetShape));
}

}  // namespace

void RegisterTransformationDatasetOps(OpRegistry& registry) {
  AddChoices(registry);
  AddChecks(registry);
  AddDirected(registry);
  AddFunctions(registry);
  AddReducers(registry);
  AddBatches(registry);
  AddShuffles(registry);
  AddPassing(registry);
}

}  // namespace weft
