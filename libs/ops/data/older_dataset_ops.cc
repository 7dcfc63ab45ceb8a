// Dataset ops with the names used by tf.data.experimental in TensorFlow 1.13
// and 1.14. Each equals the op without "Experimental" in its name.
#include "libs/graph/inference_context.h"
#include "libs/ops/data/op_groups.h"

namespace weft {
namespace {

void AddOlderChoices(OpRegistry& registry) {
  registry.Add(
      Dataset("ExperimentalUniqueDataset", "Yields each distinct element once.")
          .Input("input_dataset: variant")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Shape(DatasetShape));
  registry.Add(
      Dataset("ExperimentalDirectedInterleaveDataset",
              "Yields elements of the datasets selected by another dataset.")
          .Input("selector_input_dataset: variant")
          .Input("data_input_datasets: N * variant")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("N: int >= 1")
          .Shape(DatasetShape));
  registry.Add(
      Dataset("ExperimentalUnbatchDataset", "Yields the rows of the elements.")
          .Input("input_dataset: variant")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Shape(DatasetShape));
  registry.Add(Dataset("ExperimentalIgnoreErrorsDataset",
                       "Yields the elements without errors.")
                   .Input("input_dataset: variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("log_warning: bool = false")
                   .Shape(DatasetShape));
  registry.Add(
      OpDefBuilder("ExperimentalDatasetCardinality")
          .Input("input_dataset: variant")
          .Output("cardinality: int64")
          .Doc("Returns the number of elements; -1 if infinite, -2 if unknown.")
          .Shape(shapes::Scalar));
}

void AddOlderFunctions(OpRegistry& registry) {
  registry.Add(Dataset("ExperimentalTakeWhileDataset",
                       "Yields the elements before the first for which the "
                       "predicate is false.")
                   .Input("input_dataset: variant")
                   .Input("other_arguments: Targuments")
                   .Attr("predicate: func")
                   .Attr("Targuments: list(type) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShape));
  registry.Add(
      Dataset("ExperimentalScanDataset",
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
          .Shape(DatasetShape));
  registry.Add(
      Dataset("ExperimentalGroupByWindowDataset",
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
          .Shape(DatasetShape));
}

void AddOlderParallelOnes(OpRegistry& registry) {
  registry.Add(Dataset("ExperimentalMapAndBatchDataset",
                       "Applies f and batches the results.")
                   .Input("input_dataset: variant")
                   .Input("other_arguments: Targuments")
                   .Input("batch_size: int64")
                   .Input("num_parallel_calls: int64")
                   .Input("drop_remainder: bool")
                   .Attr("f: func")
                   .Attr("Targuments: list(type) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("preserve_cardinality: bool = false")
                   .Shape(DatasetShapeOf(-3, 3)));
  registry.Add(Dataset("ExperimentalParallelInterleaveDataset",
                       "Interleaves the elements of the datasets that f "
                       "returns, with prefetching.")
                   .Input("input_dataset: variant")
                   .Input("other_arguments: Targuments")
                   .Input("cycle_length: int64")
                   .Input("block_length: int64")
                   .Input("sloppy: bool")
                   .Input("buffer_output_elements: int64")
                   .Input("prefetch_input_elements: int64")
                   .Attr("f: func")
                   .Attr("Targuments: list(type) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShapeOf(-5, 5)));
  registry.Add(Dataset("ExperimentalParseExampleDataset",
                       "Parses vectors of serialized Examples.")
                   .Input("input_dataset: variant")
                   .Input("num_parallel_calls: int64")
                   .Input("dense_defaults: Tdense")
                   .Attr("sparse_keys: list(string) >= 0")
                   .Attr("dense_keys: list(string) >= 0")
                   .Attr("sparse_types: list({float, int64, string}) >= 0")
                   .Attr("Tdense: list({float, int64, string}) >= 0")
                   .Attr("dense_shapes: list(shape) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("sloppy: bool = false")
                   .Shape(DatasetShapeOf(1, 1)));
}

void AddOlderSources(OpRegistry& registry) {
  registry.Add(
      Dataset("ExperimentalCSVDataset",
              "Yields the rows of CSV files, by column.")
          .Input("filenames: string")
          .Input("compression_type: string")
          .Input("buffer_size: int64")
          .Input("header: bool")
          .Input("field_delim: string")
          .Input("use_quote_delim: bool")
          .Input("na_value: string")
          .Input("select_cols: int64")
          .Input("record_defaults: output_types")
          .Attr("output_types: list({float, double, int32, int64, string}) "
                ">= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Stateful()
          .Shape(DatasetShapeOf(1, 6)));
  registry.Add(
      Dataset("ExperimentalRandomDataset", "Yields random numbers without end.")
          .Input("seed: int64")
          .Input("seed2: int64")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Stateful()
          .Shape(DatasetShapeOf(0, 2)));
}

// Ops that change how TensorFlow runs a pipeline, but not its elements.
void AddOlderPassing(OpRegistry& registry) {
  registry.Add(Dataset("ExperimentalMaxIntraOpParallelismDataset",
                       "Yields the elements; the device provides the threads.")
                   .Input("input_dataset: variant")
                   .Input("max_intra_op_parallelism: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("ExperimentalPrivateThreadPoolDataset",
                       "Yields the elements; the device provides the threads.")
                   .Input("input_dataset: variant")
                   .Input("num_threads: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("ExperimentalNonSerializableDataset", "The elements.")
                   .Input("input_dataset: variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShape));
}

}  // namespace

void RegisterOlderDatasetOps(OpRegistry& registry) {
  AddOlderChoices(registry);
  AddOlderFunctions(registry);
  AddOlderParallelOnes(registry);
  AddOlderSources(registry);
  AddOlderPassing(registry);
}

}  // namespace weft
