// Datasets made of tensors, numbers and files.
#include "libs/graph/inference_context.h"
#include "libs/ops/data/op_groups.h"

namespace weft {
namespace {

void AddTensors(OpRegistry& registry) {
  registry.Add(Dataset("TensorDataset", "Yields the tensors as one element.")
                   .Input("components: Toutput_types")
                   .Attr("Toutput_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Stateful()
                   .Shape(DatasetShape));
  registry.Add(Dataset("TensorSliceDataset", "Yields the rows of the tensors.")
                   .Input("components: Toutput_types")
                   .Attr("Toutput_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("is_files: bool = false")
                   .Attr("metadata: string = ''")
                   .Attr("replicate_on_split: bool = false")
                   .Stateful()
                   .Shape(DatasetShape));
  registry.Add(Dataset("SparseTensorSliceDataset",
                       "Yields the rows of a sparse tensor as sparse tensors.")
                   .Input("indices: int64")
                   .Input("values: Tvalues")
                   .Input("dense_shape: int64")
                   .Attr("Tvalues: type")
                   .Stateful()
                   .Shape(DatasetShape));
  registry.Add(Dataset("RangeDataset",
                       "Yields the numbers from start to stop, exclusive.")
                   .Input("start: int64")
                   .Input("stop: int64")
                   .Input("step: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Attr("replicate_on_split: bool = false")
                   .Stateful()
                   .Shape(DatasetShapeOf(0, 3)));
  registry.Add(Dataset("RandomDataset", "Yields random numbers without end.")
                   .Input("seed: int64")
                   .Input("seed2: int64")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Stateful()
                   .Shape(DatasetShapeOf(0, 2)));
  registry.Add(
      Dataset(
          "RandomDatasetV2",
          "Yields random numbers without end, from a shared seed generator.")
          .Input("seed: int64")
          .Input("seed2: int64")
          .Input("seed_generator: resource")
          .Attr("rerandomize_each_iteration: bool = false")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("metadata: string = ''")
          .Stateful()
          .Shape(DatasetShapeOf(0, 3)));
}

void AddFiles(OpRegistry& registry) {
  registry.Add(Dataset("TextLineDataset", "Yields the lines of text files.")
                   .Input("filenames: string")
                   .Input("compression_type: string")
                   .Input("buffer_size: int64")
                   .Attr("metadata: string = ''")
                   .Stateful()
                   .Shape(DatasetShapeOf(1, 2)));
  registry.Add(
      Dataset("TFRecordDataset", "Yields the records of TFRecord files.")
          .Input("filenames: string")
          .Input("compression_type: string")
          .Input("buffer_size: int64")
          .Attr("metadata: string = ''")
          .Stateful()
          .Shape(DatasetShapeOf(1, 2)));
  registry.Add(Dataset("TFRecordDatasetV2",
                       "Yields the records of TFRecord files, starting at an "
                       "offset in each.")
                   .Input("filenames: string")
                   .Input("compression_type: string")
                   .Input("buffer_size: int64")
                   .Input("byte_offsets: int64")
                   .Attr("metadata: string = ''")
                   .Stateful()
                   .Shape(DatasetShapeOf(1, 2)));
  registry.Add(Dataset("FixedLengthRecordDataset",
                       "Yields fixed-length records of files.")
                   .Input("filenames: string")
                   .Input("header_bytes: int64")
                   .Input("record_bytes: int64")
                   .Input("footer_bytes: int64")
                   .Input("buffer_size: int64")
                   .Attr("metadata: string = ''")
                   .Stateful()
                   .Shape(DatasetShapeOf(1, 4)));
  registry.Add(
      Dataset("FixedLengthRecordDatasetV2",
              "Yields fixed-length records of files, which may be compressed.")
          .Input("filenames: string")
          .Input("header_bytes: int64")
          .Input("record_bytes: int64")
          .Input("footer_bytes: int64")
          .Input("buffer_size: int64")
          .Input("compression_type: string")
          .Attr("metadata: string = ''")
          .Stateful()
          .Shape(DatasetShapeOf(1, 5)));
}

void AddCsv(OpRegistry& registry) {
  registry.Add(
      Dataset("CSVDataset",
              "Yields the rows of CSV files, with one tensor per column.")
          .Input("filenames: string")
          .Input("compression_type: string")
          .Input("buffer_size: int64")
          .Input("header: bool")
          .Input("field_delim: string")
          .Input("use_quote_delim: bool")
          .Input("na_value: string")
          .Input("select_cols: int64")
          .Input("record_defaults: output_types")
          .Attr(
              "output_types: list({float, double, int32, int64, string}) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Stateful()
          .Shape(DatasetShapeOf(1, 6)));
  registry.Add(
      Dataset(
          "CSVDatasetV2",
          "Yields the rows of CSV files, with one tensor per selected column.")
          .Input("filenames: string")
          .Input("compression_type: string")
          .Input("buffer_size: int64")
          .Input("header: bool")
          .Input("field_delim: string")
          .Input("use_quote_delim: bool")
          .Input("na_value: string")
          .Input("select_cols: int64")
          .Input("record_defaults: output_types")
          .Input("exclude_cols: int64")
          .Attr(
              "output_types: list({float, double, int32, int64, string}) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Stateful()
          .Shape(DatasetShapeOf(1, 6)));
}

}  // namespace

void RegisterSourceDatasetOps(OpRegistry& registry) {
  AddTensors(registry);
  AddFiles(registry);
  AddCsv(registry);
}

}  // namespace weft
