// Datasets that compute elements in parallel, ahead of time, or only once.
#include "libs/graph/inference_context.h"
#include "libs/ops/data/op_groups.h"

namespace weft {
namespace {

void AddMaps(OpRegistry& registry) {
  registry.Add(Dataset("ParallelMapDataset",
                       "Applies f to several elements in parallel.")
                   .Input("input_dataset: variant")
                   .Input("other_arguments: Targuments")
                   .Input("num_parallel_calls: int32")
                   .Attr("f: func")
                   .Attr("Targuments: list(type) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("use_inter_op_parallelism: bool = true")
                   .Attr("sloppy: bool = false")
                   .Attr("preserve_cardinality: bool = false")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(-1, 1)));
  registry.Add(Dataset("ParallelMapDatasetV2",
                       "Applies f to several elements in parallel.")
                   .Input("input_dataset: variant")
                   .Input("other_arguments: Targuments")
                   .Input("num_parallel_calls: int64")
                   .Attr("f: func")
                   .Attr("Targuments: list(type) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("use_inter_op_parallelism: bool = true")
                   .Attr("deterministic: string = 'default'")
                   .Attr("preserve_cardinality: bool = false")
                   .Attr("use_unbounded_threadpool: bool = false")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(-1, 1)));
  registry.Add(Dataset("MapAndBatchDataset",
                       "Applies f in parallel and batches the results.")
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
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(-3, 3)));
  registry.Add(Dataset("ParallelBatchDataset",
                       "Batches elements, several batches in advance.")
                   .Input("input_dataset: variant")
                   .Input("batch_size: int64")
                   .Input("num_parallel_calls: int64")
                   .Input("drop_remainder: bool")
                   .Attr("parallel_copy: bool = false")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("deterministic: string = 'default'")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 3)));
}

void AddInterleaves(OpRegistry& registry) {
  registry.Add(Dataset("ParallelInterleaveDataset",
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
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(-5, 5)));
  registry.Add(Dataset("ParallelInterleaveDatasetV2",
                       "Interleaves the elements of the datasets that f "
                       "returns, in parallel.")
                   .Input("input_dataset: variant")
                   .Input("other_arguments: Targuments")
                   .Input("cycle_length: int64")
                   .Input("block_length: int64")
                   .Input("num_parallel_calls: int64")
                   .Attr("f: func")
                   .Attr("Targuments: list(type) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("sloppy: bool = false")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(-3, 3)));
  registry.Add(Dataset("ParallelInterleaveDatasetV3",
                       "Interleaves the elements of the datasets that f "
                       "returns, in parallel.")
                   .Input("input_dataset: variant")
                   .Input("other_arguments: Targuments")
                   .Input("cycle_length: int64")
                   .Input("block_length: int64")
                   .Input("num_parallel_calls: int64")
                   .Attr("f: func")
                   .Attr("deterministic: string = 'default'")
                   .Attr("Targuments: list(type) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(-3, 3)));
  registry.Add(Dataset("ParallelInterleaveDatasetV4",
                       "Interleaves the elements of the datasets that f "
                       "returns, in parallel.")
                   .Input("input_dataset: variant")
                   .Input("other_arguments: Targuments")
                   .Input("cycle_length: int64")
                   .Input("block_length: int64")
                   .Input("buffer_output_elements: int64")
                   .Input("prefetch_input_elements: int64")
                   .Input("num_parallel_calls: int64")
                   .Attr("f: func")
                   .Attr("deterministic: string = 'default'")
                   .Attr("Targuments: list(type) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(-5, 5)));
  registry.Add(Dataset("LegacyParallelInterleaveDatasetV2",
                       "Interleaves the elements of the datasets that f "
                       "returns, with prefetching.")
                   .Input("input_dataset: variant")
                   .Input("other_arguments: Targuments")
                   .Input("cycle_length: int64")
                   .Input("block_length: int64")
                   .Input("buffer_output_elements: int64")
                   .Input("prefetch_input_elements: int64")
                   .Attr("f: func")
                   .Attr("deterministic: string = 'default'")
                   .Attr("Targuments: list(type) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(-4, 4)));
}

void AddBuffers(OpRegistry& registry) {
  registry.Add(Dataset("PrefetchDataset", "Prefetches elements.")
                   .Input("input_dataset: variant")
                   .Input("buffer_size: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("slack_period: int = 0")
                   .Attr("legacy_autotune: bool = true")
                   .Attr("buffer_size_min: int = 0")
                   .Attr("metadata: string = ''")
                   .Shape(DatasetShapeOf(1, 1)));
  registry.Add(
      Dataset(
          "CacheDataset",
          "Caches the elements in memory or in a file during the first pass.")
          .Input("input_dataset: variant")
          .Input("filename: string")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("metadata: string = ''")
          .Shape(DatasetShapeOf(1, 1)));
  registry.Add(
      Dataset(
          "CacheDatasetV2",
          "Caches the elements in a cache or in a file during the first pass.")
          .Input("input_dataset: variant")
          .Input("filename: string")
          .Input("cache: resource")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("metadata: string = ''")
          .Stateful()
          .Shape(DatasetShapeOf(1, 2)));
}

void AddParsers(OpRegistry& registry) {
  registry.Add(
      Dataset("ParseExampleDataset", "Parses vectors of serialized Examples.")
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
          .Attr("ragged_keys: list(string) >= 0 = []")
          .Attr("ragged_value_types: list({float, int64, string}) >= 0 = []")
          .Attr("ragged_split_types: list({int32, int64}) >= 0 = []")
          .Shape(DatasetShapeOf(1, 1)));
  registry.Add(
      Dataset("ParseExampleDatasetV2", "Parses vectors of serialized Examples.")
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
          .Attr("deterministic: string = 'default'")
          .Attr("ragged_keys: list(string) >= 0 = []")
          .Attr("ragged_value_types: list({float, int64, string}) >= 0 = []")
          .Attr("ragged_split_types: list({int32, int64}) >= 0 = []")
          .Shape(DatasetShapeOf(1, 1)));
}

}  // namespace

void RegisterParallelDatasetOps(OpRegistry& registry) {
  AddMaps(registry);
  AddInterleaves(registry);
  AddBuffers(registry);
  AddParsers(registry);
}

}  // namespace weft
