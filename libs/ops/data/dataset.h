// Dataset: an input pipeline of the graph, under TensorFlow's names (tf.data):
// elements from tensors or files, and what becomes of them. Iterator
// (iterator.h) takes them out, one each step.
//
//   auto lines = ops::TextLineDataset(root, files);
//   ops::Iterator iterator =
//       lines.Map([](const Scope& s, const std::vector<Output>& v) {
//              return ops::DecodeCSV(s, v[0], {0.0f, 0.0f});
//            }).Shuffle(1000).Repeat().Batch(32).Prefetch(1)
//           .MakeOneShotIterator();
//   std::vector<Output> batch = iterator.GetNext(root);
//
// An element is a list of components, each of a type, a shape and perhaps a
// name: what TensorFlow flattens tuples and dicts to. A component that is a
// variant scalar may be a data set itself (Window).
//
// Where the pipeline runs: where its nodes are, as the scope says: on one task,
// which its iterator is on too, and its files are that task's. A data set is
// neither sent nor saved.
//
// A small value that refers to the graph and holds the scope that it was made
// in; null after an error, which sticks to the scope; what is made of a null
// one is null. Threads: as the scope's. docs/user/datasets.md has the whole of
// it.
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

// Instead of a number: the task decides.
inline constexpr int64_t kAutotune = -1;

struct Component {
  DataType dtype = DT_INVALID;
  PartialShape shape = PartialShape::UnknownRank();
  std::string name;  // may be empty
};
using ElementSpec = std::vector<Component>;

struct MapOptions {
  // So many calls at a time; none: one after the other.
  std::optional<int64_t> num_parallel_calls;
  // False: results in the order in which they are there. None: as asked for
  // elsewhere, else in order.
  std::optional<bool> deterministic;
  // Of the components; empty: they have none.
  std::vector<std::string> names;
};

struct InterleaveOptions {
  int64_t cycle_length = kAutotune;  // data sets at a time
  int64_t block_length = 1;          // elements of each in turn
  std::optional<int64_t> num_parallel_calls;
  std::optional<bool> deterministic;
};

struct BatchOptions {
  // False: the last batch may be smaller.
  bool drop_remainder = false;
};

struct PaddedBatchOptions {
  // One for each component; unknown sizes become those of the longest of the
  // batch. Empty: the shapes of the components.
  std::vector<PartialShape> padded_shapes;
  // One for each component. Empty: zeros and empty strings.
  InputList padding_values;
  bool drop_remainder = false;
};

struct ShuffleOptions {
  // TensorFlow's rule: with the graph's seed, or without (Scope::GetSeeds).
  std::optional<int64_t> seed;
  // Another order in each walk.
  bool reshuffle_each_iteration = true;
};

struct WindowOptions {
  std::optional<Input> shift;  // none: the size
  Input stride = 1;
  bool drop_remainder = false;
};

struct IteratorOptions {
  // Steps of all sessions that have one of that name on the task share it;
  // empty: the session's own.
  std::string shared_name;
  // The initializer is in collection "table_initializer", which
  // MonitoredSession runs. One that must be fed wants false.
  bool initialize_with_tables = true;
};

// What becomes of an element: given its components, those of another one.
using ElementFunction = FunctionBody;

class Dataset {
 public:
  using DatasetFunction = std::function<Dataset(
      const Scope& scope, const std::vector<Output>& components)>;
  using Predicate = std::function<Output(
      const Scope& scope, const std::vector<Output>& components)>;
  // Elements of one key, an int64 scalar, and what becomes of them.
  using GroupFunction = std::function<Dataset(
      const Scope& scope, const Output& key, const Dataset& group)>;
  using KeyFunction = std::function<Output(
      const Scope& scope, const std::vector<Output>& components)>;
  using WindowSizeFunction =
      std::function<Output(const Scope& scope, const Output& key)>;

  Dataset() = default;  // null

  // ---- sources; names are of the components, or empty ----

  // One element.
  static Dataset FromTensors(const Scope& scope, const InputList& tensors,
                             const std::vector<std::string>& names = {});
  // The rows of the tensors, which have as many.
  static Dataset FromTensorSlices(const Scope& scope, const InputList& tensors,
                                  const std::vector<std::string>& names = {});
  // int64 scalars from 0, or `start`, to before `stop`.
  static Dataset Range(const Scope& scope, const Input& stop);
  static Dataset Range(const Scope& scope, const Input& start,
                       const Input& stop, const Input& step = 1);
  // An element of each, side by side, as long as all have one. Null for none.
  static Dataset Zip(const std::vector<Dataset>& datasets);
  // Each element of the data set whose number `choices` gives, an int64 scalar;
  // those that have ended are passed over, or are the end.
  static Dataset ChooseFromDatasets(const std::vector<Dataset>& datasets,
                                    const Dataset& choices,
                                    bool stop_on_empty_dataset = false);
  // Paths that match a pattern, or one of several, in random order unless
  // `shuffle` is false. A step that begins it is INVALID_ARGUMENT where none
  // does.
  struct ListFilesOptions {
    bool shuffle = true;
    std::optional<int64_t> seed;
  };
  static Dataset ListFiles(const Scope& scope, const Input& pattern,
                           const ListFilesOptions& options);
  static Dataset ListFiles(const Scope& scope, const Input& pattern) {
    return ListFiles(scope, pattern, ListFilesOptions());
  }
  // One that is there already: a variant scalar, such as a component of
  // Window's elements. `element` is what it holds.
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
  Dataset Repeat(const Input& count = -1) const;  // -1: without end
  Dataset Take(const Input& count) const;         // -1: all
  Dataset Skip(const Input& count) const;         // -1: all
  Dataset Shard(const Input& num_shards, const Input& index) const;
  Dataset Prefetch(const Input& buffer_size) const;
  // Elements of the first walk, in memory or in files that begin so.
  Dataset Cache(const Input& filename = "") const;
  Dataset Concatenate(const Dataset& other) const;
  // What `fn` makes of each `window_size` elements that have one key, an int64
  // scalar, and of those that are left: TensorFlow's group_by_window.
  Dataset GroupByWindow(const KeyFunction& key, const GroupFunction& fn,
                        const Input& window_size) const;
  // With windows of a size for each key, an int64 scalar.
  Dataset GroupByWindow(const KeyFunction& key, const GroupFunction& fn,
                        const WindowSizeFunction& window_size) const;
  // Padded batches of elements of about one length, an int32 or int64 scalar:
  // bucket_by_sequence_length. Bucket i has those below boundary i, the last
  // one the others; each has batches of a size of its own, so there is one more
  // of these. INVALID_ARGUMENT otherwise.
  Dataset BucketBySequenceLength(const KeyFunction& length,
                                 const std::vector<int64_t>& boundaries,
                                 const std::vector<int64_t>& batch_sizes,
                                 const PaddedBatchOptions& options = {}) const;
  // What `fn` makes of a state and an element, one after the other: it is given
  // the state's tensors, then the components, and gives the next state, then
  // the components of what comes out.
  Dataset Scan(const InputList& initial_state, const ElementFunction& fn) const;
  // Each element once. One int32, int64 or string.
  Dataset Unique() const;
  // Elements whose components are data sets of `size` of those here.
  Dataset Window(const Input& size, const WindowOptions& options = {}) const;
  // A component "index" before the others.
  Dataset Enumerate(const Input& start = 0) const;
  Dataset IgnoreErrors() const;
  // The same with other names.
  Dataset WithNames(const std::vector<std::string>& names) const;
  // What is made of it is made in `scope`, which is of the same graph.
  Dataset In(const Scope& scope) const;

  // ---- what becomes of all ----

  // What `fn` makes of a state and an element, one after the other: it is given
  // the state's tensors, then the components.
  std::vector<Output> Reduce(const InputList& initial_state,
                             const ElementFunction& fn) const;
  // The only element.
  std::vector<Output> GetSingleElement() const;
  // -1: endless; -2: unknown.
  Output Cardinality() const;

  // Begins when its first element is asked for. What the pipeline is made of is
  // copied into a function, as in TensorFlow: INVALID_ARGUMENT, naming the
  // node, for placeholders and what has state.
  Iterator MakeOneShotIterator() const;
  // Begins each time its initializer runs.
  Iterator MakeInitializableIterator(const IteratorOptions& options = {}) const;

  explicit operator bool() const { return static_cast<bool>(variant_); }
  const Output& variant() const { return variant_; }
  operator Output() const { return variant_; }  // NOLINT: as a variant
  const ElementSpec& element() const { return element_; }
  // Of a null one after an error: the scope that has the error.
  // REQUIRES: not `Dataset()`.
  const Scope& scope() const { return *scope_; }

 private:
  friend class DatasetMaker;  // dataset_maker.h

  // DatasetMaker::Null of its element and scope.
  Dataset Null() const;

  // What the methods share; DatasetMaker has the rest.
  Dataset Unary(absl::string_view op, const InputList& more,
                AttrMap attrs = {}) const;

  std::shared_ptr<const Scope> scope_;  // null in Dataset() only
  Output variant_;
  ElementSpec element_;
};

struct FileDatasetOptions {
  std::string compression_type;  // "", "GZIP" or "ZLIB"
  int64_t buffer_size = 256 << 10;
  // So many files at a time, in turns; none: one after the other.
  std::optional<int64_t> num_parallel_reads;
};

// Lines without their ends, records, of one file or several. Each element is a
// string.
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
  bool header = false;  // the first line of each file is none
  std::string field_delim = ",";
  bool use_quote_delim = true;
  std::string na_value;              // as good as an empty field
  std::vector<int64_t> select_cols;  // ascending; empty: all
  std::string compression_type;
  int64_t buffer_size = 4 << 20;
  std::vector<std::string> names;  // of the columns; may be empty
  // For errors about a column's values: why the column has its type, or empty,
  // by column. May be empty.
  std::vector<std::string> type_reasons;
};
// The rows of csv files, a scalar for each column that is selected. A default
// is a scalar, or empty where the field is required.
Dataset CsvDataset(const Scope& scope, const Input& filenames,
                   const InputList& record_defaults,
                   const CsvOptions& options = {});

struct MakeCsvDatasetOptions {
  // The column that comes last in each element, whatever its place in a row.
  std::string label_name;
  CsvOptions csv = {.header = true};
  std::optional<int64_t> num_epochs;  // none: without end
  bool shuffle = true;
  int64_t shuffle_buffer_size = 10000;
  std::optional<int64_t> shuffle_seed;
  int64_t prefetch_buffer_size = 1;
};
// Batches of rows, shuffled and repeated, whose components have the columns'
// names: tf.data.experimental.make_csv_dataset. `column_names` are those of the
// files; what the header says is not looked at, for the files are the task's.
Dataset MakeCsvDataset(const Scope& scope, const Input& file_pattern,
                       const Input& batch_size,
                       const std::vector<std::string>& column_names,
                       const InputList& column_defaults,
                       const MakeCsvDatasetOptions& options = {});

// tf.io.FixedLenFeature, by its key.
struct FixedLenFeature {
  std::string key;
  DataType dtype = DT_INVALID;
  PartialShape shape = PartialShape::Scalar();
  std::optional<Tensor> default_value;  // none: it is required
};
// Batches of serialized Examples taken apart: components named by the keys, in
// their order by name. Sparse features are had by Map and ops::ParseExample.
Dataset ParseExampleDataset(const Dataset& input,
                            const std::vector<FixedLenFeature>& features,
                            int64_t num_parallel_calls = 1);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_DATA_DATASET_H_
