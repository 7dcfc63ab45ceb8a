// Dataset is an input pipeline of the graph, with TensorFlow's names (tf.data):
// sources of elements, such as tensors or files, and transformations. An
// Iterator (iterator.h) returns one element per step.
//
//   auto lines = ops::TextLineDataset(root, files);
//   ops::Iterator iterator =
//       lines.Map([](const Scope& s, const std::vector<Output>& v) {
//              return ops::DecodeCSV(s, v[0], {0.0f, 0.0f});
//            }).Shuffle(1000).Repeat().Batch(32).Prefetch(1)
//           .MakeOneShotIterator();
//   std::vector<Output> batch = iterator.GetNext(root);
//
// An element is a list of components, each with a type, a shape and an optional
// name; TensorFlow flattens tuples and dicts to such lists. A component that is
// a variant scalar may itself be a dataset (Window).
//
// A pipeline runs on the task of its nodes, as given by the scope. Its iterator
// must be on the same task, and its files are that task's. Datasets are neither
// sent to other tasks nor saved.
//
// A Dataset is a small value that refers to the graph and holds the scope in
// which it was created. It is null after an error, which sticks to the scope;
// everything derived from a null dataset is null. Threads: as for the scope.
// docs/user/datasets.md describes datasets in detail.
#ifndef WEFT_LIBS_OPS_DATA_DATASET_H_
#define WEFT_LIBS_OPS_DATA_DATASET_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libs/ops/control/function.h"
#include "libs/ops/scope.h"

namespace weft::ops {

class Iterator;  // iterator.h

// For options whose number the task chooses.
inline constexpr int64_t kAutotune = -1;

struct Component {
  DataType dtype = DT_INVALID;
  PartialShape shape = PartialShape::UnknownRank();
  std::string name;  // may be empty
};
using ElementSpec = std::vector<Component>;

struct MapOptions {
  // The number of concurrent calls; not set: one at a time.
  std::optional<int64_t> num_parallel_calls;
  // If false, results are returned as they become available. If not set, they
  // are returned in order, unless options that are set elsewhere allow another
  // order.
  std::optional<bool> deterministic;
  // Names of the components; empty: they have none.
  std::vector<std::string> names;
};

struct InterleaveOptions {
  int64_t cycle_length = kAutotune;  // datasets read at a time
  int64_t block_length = 1;          // consecutive elements of each
  std::optional<int64_t> num_parallel_calls;
  std::optional<bool> deterministic;
};

struct BatchOptions {
  // If false, the last batch may be smaller.
  bool drop_remainder = false;
};

struct PaddedBatchOptions {
  // One shape for each component; unknown sizes become the largest in the
  // batch. Empty: the shapes of the components.
  std::vector<PartialShape> padded_shapes;
  // One value for each component. Empty: zeros and empty strings.
  InputList padding_values;
  bool drop_remainder = false;
};

struct ShuffleOptions {
  // The op seed, combined with the graph's by TensorFlow's rule
  // (Scope::GetSeeds).
  std::optional<int64_t> seed;
  // If true, each pass has another order.
  bool reshuffle_each_iteration = true;
};

struct WindowOptions {
  std::optional<Input> shift;  // not set: the size
  Input stride = 1;
  bool drop_remainder = false;
};

struct IteratorOptions {
  // Sessions that use the same name on a task share the iterator; empty: it is
  // private to the session.
  std::string shared_name;
  // Adds the initializer to the collection "table_initializer", which
  // MonitoredSession runs. Must be false for an initializer that needs feeds.
  bool initialize_with_tables = true;
};

// An ElementFunction maps the components of an element to those of another.
using ElementFunction = FunctionBody;

class Dataset {
 public:
  using DatasetFunction = std::function<Dataset(
      const Scope& scope, const std::vector<Output>& components)>;
  using Predicate = std::function<Output(
      const Scope& scope, const std::vector<Output>& components)>;
  // A GroupFunction transforms the elements of one key, which is an int64
  // scalar.
  using GroupFunction = std::function<Dataset(
      const Scope& scope, const Output& key, const Dataset& group)>;
  using KeyFunction = std::function<Output(
      const Scope& scope, const std::vector<Output>& components)>;
  using WindowSizeFunction =
      std::function<Output(const Scope& scope, const Output& key)>;

  Dataset() = default;  // null

  // ---- sources; names are of the components, or empty ----

  // Returns a dataset of one element.
  static Dataset FromTensors(const Scope& scope, const InputList& tensors,
                             const std::vector<std::string>& names = {});
  // Returns a dataset of the rows of the tensors, which must have equally many
  // rows.
  static Dataset FromTensorSlices(const Scope& scope, const InputList& tensors,
                                  const std::vector<std::string>& names = {});
  // Returns a dataset of the int64 scalars from 0 or `start` up to, but
  // excluding, `stop`.
  static Dataset Range(const Scope& scope, const Input& stop);
  static Dataset Range(const Scope& scope, const Input& start,
                       const Input& stop, const Input& step = 1);
  // Combines one element of each dataset, until one of them ends. Null for an
  // empty list.
  static Dataset Zip(const std::vector<Dataset>& datasets);
  // Takes each element from the dataset whose number `choices` returns, an
  // int64 scalar. Exhausted datasets are skipped, or end the result.
  static Dataset ChooseFromDatasets(const std::vector<Dataset>& datasets,
                                    const Dataset& choices,
                                    bool stop_on_empty_dataset = false);
  // Paths that match one of the patterns, in random order unless `shuffle` is
  // false. Starting an iterator fails with INVALID_ARGUMENT if no path matches.
  struct ListFilesOptions {
    bool shuffle = true;
    std::optional<int64_t> seed;
  };
  static Dataset ListFiles(const Scope& scope, const Input& pattern,
                           const ListFilesOptions& options);
  static Dataset ListFiles(const Scope& scope, const Input& pattern) {
    return ListFiles(scope, pattern, ListFilesOptions());
  }
  // Wraps an existing dataset: a variant scalar, such as a component of
  // Window's elements. `element` describes its elements.
  static Dataset FromVariant(const Scope& scope, const Output& variant,
                             ElementSpec element);

  // ---- transformations ----

  Dataset Map(const ElementFunction& fn, const MapOptions& options = {}) const;
  Dataset FlatMap(const DatasetFunction& fn) const;
  Dataset Interleave(const DatasetFunction& fn,
                     const InterleaveOptions& options = {}) const;
  Dataset Filter(const Predicate& predicate) const;
  Dataset TakeWhile(const Predicate& predicate) const;
  Dataset Batch(const Input& batch_size,
                const BatchOptions& options = {}) const;
  Dataset PaddedBatch(const Input& batch_size,
                      const PaddedBatchOptions& options = {}) const;
  Dataset Unbatch() const;
  Dataset Shuffle(const Input& buffer_size,
                  const ShuffleOptions& options = {}) const;
  Dataset Repeat(const Input& count = -1) const;  // -1: endless
  Dataset Take(const Input& count) const;         // -1: all
  Dataset Skip(const Input& count) const;         // -1: all
  Dataset Shard(const Input& num_shards, const Input& index) const;
  Dataset Prefetch(const Input& buffer_size) const;
  // Caches the elements of the first pass, in memory or in files with this
  // prefix.
  Dataset Cache(const Input& filename = "") const;
  Dataset Concatenate(const Dataset& other) const;
  // Applies `fn` to each `window_size` elements with the same key, an int64
  // scalar, and to the remaining ones: TensorFlow's group_by_window.
  Dataset GroupByWindow(const KeyFunction& key, const GroupFunction& fn,
                        const Input& window_size) const;
  // With a window size for each key, an int64 scalar.
  Dataset GroupByWindow(const KeyFunction& key, const GroupFunction& fn,
                        const WindowSizeFunction& window_size) const;
  // Padded batches of elements of similar length, an int32 or int64 scalar:
  // bucket_by_sequence_length. Bucket i holds lengths below boundary i, the
  // last bucket the remaining ones. Each bucket has its own batch size, so
  // there must be one more batch size than boundaries; otherwise
  // INVALID_ARGUMENT.
  Dataset BucketBySequenceLength(const KeyFunction& length,
                                 const std::vector<int64_t>& boundaries,
                                 const std::vector<int64_t>& batch_sizes,
                                 const PaddedBatchOptions& options = {}) const;
  // Applies `fn` to a state and each element in order. `fn` gets the state's
  // tensors followed by the components, and returns the next state followed by
  // the components of the new element.
  Dataset Scan(const InputList& initial_state, const ElementFunction& fn) const;
  // Distinct elements. They must be one int32, int64 or string.
  Dataset Unique() const;
  // Elements whose components are datasets of `size` elements each.
  Dataset Window(const Input& size, const WindowOptions& options = {}) const;
  // Prepends a component "index".
  Dataset Enumerate(const Input& start = 0) const;
  Dataset IgnoreErrors() const;
  // The same dataset with other component names.
  Dataset WithNames(const std::vector<std::string>& names) const;
  // The same dataset, with derived nodes created in `scope` of the same graph.
  Dataset In(const Scope& scope) const;

  // ---- reductions ----

  // Applies `fn` to a state and each element in order, and returns the last
  // state. `fn` gets the state's tensors followed by the components.
  std::vector<Output> Reduce(const InputList& initial_state,
                             const ElementFunction& fn) const;
  // The components of the only element.
  std::vector<Output> GetSingleElement() const;
  // -1: endless; -2: unknown.
  Output Cardinality() const;

  // The iterator starts when its first element is requested. As in TensorFlow,
  // the pipeline is copied into a function: INVALID_ARGUMENT, naming the node,
  // for placeholders and stateful nodes.
  Iterator MakeOneShotIterator() const;
  // The iterator restarts each time its initializer runs.
  Iterator MakeInitializableIterator(const IteratorOptions& options = {}) const;

  explicit operator bool() const { return static_cast<bool>(variant_); }
  const Output& variant() const { return variant_; }
  operator Output() const { return variant_; }  // NOLINT: as a variant
  const ElementSpec& element() const { return element_; }
  // For a null dataset after an error: the scope that has the error. REQUIRES:
  // not `Dataset()`.
  const Scope& scope() const { return *scope_; }

 private:
  friend class DatasetMaker;  // dataset_maker.h

  // DatasetMaker::Null with this dataset's element and scope.
  Dataset Null() const;

  // Implements several methods; DatasetMaker has the other helpers.
  Dataset Unary(absl::string_view op, const InputList& more,
                AttrMap attrs = {}) const;

  std::shared_ptr<const Scope> scope_;  // null in Dataset() only
  Output variant_;
  ElementSpec element_;
};

struct FileDatasetOptions {
  std::string compression_type;  // "", "GZIP" or "ZLIB"
  int64_t buffer_size = 256 << 10;
  // The number of files read at a time, round robin; not set: one file after
  // another.
  std::optional<int64_t> num_parallel_reads;
};

// Lines without their line ends, or records, of one or several files. Each
// element is a string.
Dataset TextLineDataset(const Scope& scope, const Input& filenames,
                        const FileDatasetOptions& options = {});
Dataset TFRecordDataset(const Scope& scope, const Input& filenames,
                        const FileDatasetOptions& options = {});
struct FixedLengthOptions {
  int64_t header_bytes = 0;
  int64_t footer_bytes = 0;
  FileDatasetOptions files;
};
Dataset FixedLengthRecordDataset(const Scope& scope, const Input& filenames,
                                 int64_t record_bytes,
                                 const FixedLengthOptions& options = {});

struct CsvOptions {
  bool header = false;  // true: skips the first line of each file
  std::string field_delim = ",";
  bool use_quote_delim = true;
  std::string na_value;              // treated like an empty field
  std::vector<int64_t> select_cols;  // ascending; empty: all
  std::string compression_type;
  int64_t buffer_size = 4 << 20;
  std::vector<std::string> names;  // of the columns; may be empty
  // For errors about a column's values: why the column has its type, by column;
  // entries, or the whole list, may be empty.
  std::vector<std::string> type_reasons;
};
// The rows of CSV files, with a scalar for each selected column. A default is a
// scalar, or empty if the field is required.
Dataset CsvDataset(const Scope& scope, const Input& filenames,
                   const InputList& record_defaults,
                   const CsvOptions& options = {});

struct MakeCsvDatasetOptions {
  // The column that comes last in each element, wherever it is in a row.
  std::string label_name;
  CsvOptions csv = {.header = true};
  std::optional<int64_t> num_epochs;  // not set: endless
  bool shuffle = true;
  int64_t shuffle_buffer_size = 10000;
  std::optional<int64_t> shuffle_seed;
  int64_t prefetch_buffer_size = 1;
};
// Shuffled and repeated batches of rows, whose components have the columns'
// names: tf.data.experimental.make_csv_dataset. `column_names` are those of the
// files; the header is not read, because the files are on the task.
Dataset MakeCsvDataset(const Scope& scope, const Input& file_pattern,
                       const Input& batch_size,
                       const std::vector<std::string>& column_names,
                       const InputList& column_defaults,
                       const MakeCsvDatasetOptions& options = {});

// The key and description of a tf.io.FixedLenFeature.
struct FixedLenFeature {
  std::string key;
  DataType dtype = DT_INVALID;
  PartialShape shape = PartialShape::Scalar();
  std::optional<Tensor> default_value;  // not set: it is required
};
// Batches of parsed Examples, with components named by the keys and sorted by
// name. For sparse features use Map and ops::ParseExample.
Dataset ParseExampleDataset(const Dataset& input,
                            const std::vector<FixedLenFeature>& features,
                            int64_t num_parallel_calls = 1);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_DATA_DATASET_H_
