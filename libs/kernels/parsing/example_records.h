// ExampleRecords parses serialized examples (tf.Example,
// schemas/tf/example.proto) and returns their features as tensors, one feature
// at a time.
//
// Errors are INVALID_ARGUMENT with TensorFlow's texts, which identify the
// example by its given name, and the feature. Not synchronized.
#ifndef WEFT_LIBS_KERNELS_PARSING_EXAMPLE_RECORDS_H_
#define WEFT_LIBS_KERNELS_PARSING_EXAMPLE_RECORDS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/tensor/tensor.h"

namespace weft {

// A feature with the same shape in every example; with -1 as first size,
// examples may differ in it and are padded.
struct DenseFeature {
  std::string key;
  PartialShape shape;
  // The value for examples without the feature, or for padding. Empty if every
  // example must have the feature.
  Tensor default_value;
};

struct SparseValues {
  Tensor indices, values, shape;
};

struct RaggedValues {
  Tensor values, row_splits;
};

class ExampleRecords {
 public:
  // `serialized` is a vector, or a scalar for a single example without a batch.
  // `names` is empty or has an element for each example. Scheduler and
  // allocator must outlive the records.
  static absl::StatusOr<ExampleRecords> Parse(Scheduler& scheduler,
                                              Allocator& allocator,
                                              const Tensor& serialized,
                                              const Tensor& names);

  // `i` is the feature's number among the dense ones, for errors.
  absl::StatusOr<Tensor> Dense(const DenseFeature& feature, size_t i) const;
  // `dtype` must be a type of features: float, int64 or string.
  absl::StatusOr<SparseValues> Sparse(const std::string& key,
                                      DataType dtype) const;
  // Row splits are int32 or int64; a single example has none.
  absl::StatusOr<RaggedValues> Ragged(const std::string& key, DataType dtype,
                                      DataType split_type) const;

 private:
  struct Parsed;  // holds protobuf's types
  template <typename T>
  class Column;

  ExampleRecords(Allocator& allocator, const Tensor& serialized,
                 const Tensor& names);

  absl::Status ParseAll(Scheduler& scheduler,
                        absl::Span<const std::string> serialized);
  template <typename T>
  absl::StatusOr<Column<T>> Find(absl::string_view key,
                                 absl::string_view mismatch) const;
  template <typename T>
  absl::StatusOr<Tensor> FixedDense(const DenseFeature& feature) const;
  template <typename T>
  absl::StatusOr<Tensor> VariableDense(const DenseFeature& feature) const;
  template <typename T>
  absl::StatusOr<SparseValues> SparseOf(const std::string& key) const;
  template <typename T>
  absl::StatusOr<RaggedValues> RaggedOf(const std::string& key,
                                        DataType split_type) const;

  // The shape with the batch dimension, if there is one.
  absl::StatusOr<TensorShape> WithBatch(absl::Span<const int64_t> dims) const;
  // "Name: a, " for example `n`, or nothing for a single example.
  std::string NameOf(int64_t n) const;
  // The prefix of errors about a feature.
  std::string Where(int64_t n, absl::string_view key) const;
  absl::Status Missing(int64_t n, absl::string_view key, DataType dtype) const;

  Allocator* allocator_;
  int64_t count_;
  bool is_single_;
  Tensor names_;
  std::shared_ptr<Parsed> parsed_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_PARSING_EXAMPLE_RECORDS_H_
