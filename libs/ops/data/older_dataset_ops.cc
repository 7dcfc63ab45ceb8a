// Dataset ops with the names used by tf.data.experimental in TensorFlow 1.13
// and 1.14. Each equals the op without "Experimental" in its name.
#include "libs/graph/inference_context.h"
#include "libs/ops/data/op_groups.h"

namespace weft {
namespace {

void AddOlderChoices(OpRegistry& registry) {
  registry.Add(Dataset("ExperimentalUniqueDataset", "The elements, each once.")
                   .Input("input_dataset: variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShape));
  registry.Add(Dataset("ExperimentalDirectedInterleaveDataset",
                       "Each element of the data set that another one names.")
                   .Input("selector_input_dataset: variant")
                   .Input("data_input_datasets: N * variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("N: int >= 1")
                   .Shape(DatasetShape));
  registry.Add(
      Dataset("ExperimentalUnbatchDataset", "The rows of the elements.")
          .Input("input_dataset: variant")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Shape(DatasetShape));
  registry.Add(Dataset("ExperimentalIgnoreErrorsDataset",
                       "The elements that are not errors.")
                   .Input("input_dataset: variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("log_warning: bool = false")
                   .Shape(DatasetShape));
  registry.Add(
      OpDefBuilder("ExperimentalDatasetCardinality")
          .Input("input_dataset: variant")
          .Output("cardinality: int64")
          .Doc("How many elements there are: -1 without end, -2 unknown.")
          .Shape(shapes::Scalar));
}

void AddOlderFunctions(OpRegistry& registry) {
  registry.Add(
      Dataset(
          "ExperimentalTakeWhileDataset",
          "The elements up to the first that the predicate does not hold for.")
          .Input("input_dataset: variant")
          .Input("other_arguments: Targuments")
          .Attr("predicate: func")
          .Attr("Targuments: list(type) >= 0")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Shape(DatasetShape));
  registry.Add(
      Dataset("ExperimentalScanDataset",
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
          .Shape(DatasetShape));
  registry.Add(
      Dataset("ExperimentalGroupByWindowDataset",
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
          .Shape(DatasetShape));
}

void AddOlderParallelOnes(OpRegistry& registry) {
  registry.Add(Dataset("ExperimentalMapAndBatchDataset",
                       "So many results of f at a time as one.")
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
  registry.Add(
      Dataset(
          "ExperimentalParallelInterleaveDataset",
          "The elements of the data sets that f makes, in turns, read ahead.")
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
                       "What vectors of serialized Examples hold.")
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
      Dataset("ExperimentalCSVDataset", "The rows of csv files, by columns.")
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
  registry.Add(Dataset("ExperimentalRandomDataset", "Random numbers, no end.")
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
                       "The elements; threads are the device's.")
                   .Input("input_dataset: variant")
                   .Input("max_intra_op_parallelism: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(Dataset("ExperimentalPrivateThreadPoolDataset",
                       "The elements; threads are the device's.")
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
