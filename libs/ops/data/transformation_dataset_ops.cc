// Datasets that transform the elements of other datasets sequentially.
#include "libs/graph/inference_context.h"
#include "libs/ops/data/op_groups.h"

namespace weft {
namespace {

void AddChoices(OpRegistry& registry) {
  registry.Add(Dataset("ZipDataset",
                       "Yields tuples of the elements of several datasets.")
                   .Input("input_datasets: N * variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("N: int >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShape));
  registry.Add(Dataset("ConcatenateDataset", "Concatenates two datasets.")
                   .Input("input_dataset: variant")
                   .Input("another_dataset: variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShape));
  registry.Add(Dataset("RepeatDataset", "Repeats the elements.")
                   .Input("input_dataset: variant")
                   .Input("count: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("TakeDataset", "Yields the first elements.")
                   .Input("input_dataset: variant")
                   .Input("count: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("SkipDataset", "Skips the first elements.")
                   .Input("input_dataset: variant")
                   .Input("count: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("ShardDataset", "Yields every num_shards-th element.")
                   .Input("input_dataset: variant")
                   .Input("num_shards: int64")
                   .Input("index: int64")
                   .Attr("require_non_empty: bool = false")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 2)));
  registry.Add(Dataset("UniqueDataset", "Yields each distinct element once.")
                   .Input("input_dataset: variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShape));
}

void AddChecks(OpRegistry& registry) {
  registry.Add(
      Dataset(
          "AssertCardinalityDataset",
          "Yields the elements; fails if their number is not the given one.")
          .Input("input_dataset: variant")
          .Input("cardinality: int64")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Shape(DatasetShapeOf(1, 1)));
}

void AddDirected(OpRegistry& registry) {
  registry.Add(
      Dataset("DirectedInterleaveDataset",
              "Yields elements of the datasets selected by another dataset.")
          .Input("selector_input_dataset: variant")
          .Input("data_input_datasets: N * variant")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("N: int >= 1")
          .Attr("stop_on_empty_dataset: bool = false")
          .Shape(DatasetShape));
}

void AddFunctions(OpRegistry& registry) {
  registry.Add(Dataset("MapDataset", "Applies f to each element.")
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
              "Concatenates the elements of the datasets that f returns.")
          .Input("input_dataset: variant")
          .Input("other_arguments: Targuments")
          .Attr("f: func")
          .Attr("Targuments: list(type) >= 0")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("metadata: string = ''")
          .Shape(DatasetShape));
  registry.Add(
      Dataset("InterleaveDataset",
              "Interleaves the elements of the datasets that f returns.")
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
  registry.Add(Dataset("FilterDataset",
                       "Yields the elements for which the predicate is true.")
                   .Input("input_dataset: variant")
                   .Input("other_arguments: Targuments")
                   .Attr("predicate: func")
                   .Attr("Targuments: list(type) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShape));
  registry.Add(Dataset("TakeWhileDataset",
                       "Yields the elements before the first for which the "
                       "predicate is false.")
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
              "Applies f to each element and a state, which it updates.")
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
              "Applies reduce_func to windows of elements with the same key.")
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
        Dataset(op, "Reduces the elements of each key, and yields the results.")
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
                       "Batches elements; the last batch may be smaller.")
                   .Input("input_dataset: variant")
                   .Input("batch_size: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("BatchDatasetV2", "Batches elements.")
                   .Input("input_dataset: variant")
                   .Input("batch_size: int64")
                   .Input("drop_remainder: bool")
                   .Attr("parallel_copy: bool = false")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 2)));
  registry.Add(Dataset("PaddedBatchDataset",
                       "Pads elements to one shape and batches them.")
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
                       "Pads elements to one shape and batches them.")
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
  registry.Add(
      Dataset("RebatchDatasetV2", "Changes the batch sizes of batches.")
          .Input("input_dataset: variant")
          .Input("batch_sizes: int64")
          .Input("drop_remainder: bool")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Shape(DatasetShapeOf(2, 1)));
  for (const char* op :
       {"DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset"}) {
    registry.Add(Dataset(op, "Batches elements as sparse tensors.")
                     .Input("input_dataset: variant")
                     .Input("batch_size: int64")
                     .Input("row_shape: int64")
                     .Attr("output_types: list(type) >= 1")
                     .Attr("output_shapes: list(shape) >= 1")
                     .Shape(DatasetShapeOf(1, 1)));
  }
  registry.Add(
      Dataset("WindowDataset", "Yields windows of elements as datasets.")
          .Input("input_dataset: variant")
          .Input("size: int64")
          .Input("shift: int64")
          .Input("stride: int64")
          .Input("drop_remainder: bool")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("metadata: string = ''")
          .Shape(DatasetShapeOf(1, 4)));
  registry.Add(Dataset("UnbatchDataset", "Yields the rows of the elements.")
                   .Input("input_dataset: variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShape));
}

void AddShuffles(OpRegistry& registry) {
  registry.Add(Dataset("ShuffleDataset", "Shuffles the elements with a buffer.")
                   .Input("input_dataset: variant")
                   .Input("buffer_size: int64")
                   .Input("seed: int64")
                   .Input("seed2: int64")
                   .Attr("reshuffle_each_iteration: bool = true")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 3)));
  registry.Add(Dataset("ShuffleDatasetV2",
                       "Shuffles the elements, with a shared seed generator.")
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
              "Shuffles the elements, with seeds and a shared seed generator.")
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
  registry.Add(
      Dataset("ShuffleAndRepeatDataset", "Shuffles and repeats the elements.")
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
  registry.Add(
      Dataset("ShuffleAndRepeatDatasetV2", "Shuffles and repeats the elements.")
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
      Dataset("IgnoreErrorsDataset", "Yields the elements without errors.")
          .Input("input_dataset: variant")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("log_warning: bool = false")
          .Shape(DatasetShape));
  registry.Add(Dataset("MaxIntraOpParallelismDataset",
                       "Yields the elements; the device provides the threads.")
                   .Input("input_dataset: variant")
                   .Input("max_intra_op_parallelism: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("PrivateThreadPoolDataset",
                       "Yields the elements; the device provides the threads.")
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
  registry.Add(Dataset("FinalizeDataset",
                       "Yields the elements; there are no options to finalize.")
                   .Input("input_dataset: variant")
                   .Attr("has_captured_ref: bool = false")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShape));
  registry.Add(Dataset("RewriteDataset",
                       "Yields the elements; the rewrites are ignored.")
                   .Input("input_dataset: variant")
                   .Input("rewrite_name: string")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(
      Dataset("OptionsDataset", "Yields the elements, with dataset options.")
          .Input("input_dataset: variant")
          .Attr("serialized_options: string")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("metadata: string = ''")
          .Shape(DatasetShape));
  registry.Add(Dataset("ModelDataset", "Yields the elements, without tuning.")
                   .Input("input_dataset: variant")
                   .Attr("algorithm: int = 0")
                   .Attr("cpu_budget: int = 0")
                   .Attr("ram_budget: int = 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShape));
  registry.Add(
      Dataset("OptimizeDataset", "Yields the elements, without optimizations.")
          .Input("input_dataset: variant")
          .Input("optimizations: string")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("optimization_configs: list(string) = []")
          .Shape(DatasetShape));
  registry.Add(Dataset("OptimizeDatasetV2",
                       "Yields the elements, without optimizations.")
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
