// ExampleRecords: serialized examples (tf.Example, schemas/tf/example.proto)
// and their features as tensors, one feature at a time.
//
// Errors are INVALID_ARGUMENT in TensorFlow's words, which name the example by
// the name that was given for it, and the feature. Not synchronized.
#ifndef WEFT_LIBS_KERNELS_PARSING_EXAMPLE_RECORDS_H_
#define WEFT_LIBS_KERNELS_PARSING_EXAMPLE_RECORDS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/base/scheduler.h"
#include "libs/tensor/tensor.h"

namespace weft {

// A feature that has the same shape in every example; with -1 as first size
// examples differ in it, and are filled up.
struct DenseFeature {
  std::string key;
  PartialShape shape;
  // What an example that lacks the feature gets, or what fills it up. Empty
  // where every example must have it.
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
  // `serialized` is a vector, or a scalar: one example that is no batch of one.
  // `names` is empty or has as many elements. Scheduler and allocator outlive
  // the records.
  static absl::StatusOr<ExampleRecords> Parse(Scheduler& scheduler,
                                              Allocator& allocator,
                                              const Tensor& serialized,
                                              const Tensor& names);

  // `i` is the feature's number among the dense ones, for errors.
  absl::StatusOr<Tensor> Dense(const DenseFeature& feature, size_t i) const;
  // Of a type that a feature may have: float, int64 or string.
  absl::StatusOr<SparseValues> Sparse(const std::string& key,
                                      DataType dtype) const;
  // Row splits are int32 or int64; one example alone has none.
  absl::StatusOr<RaggedValues> Ragged(const std::string& key, DataType dtype,
                                      DataType split_type) const;

 private:
  struct Parsed;  // in protobuf's types
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

  // The shape of what every example has one of.
  absl::StatusOr<TensorShape> WithBatch(absl::Span<const int64_t> dims) const;
  // "Name: a, " of example `n`, or nothing for one example alone.
  std::string NameOf(int64_t n) const;
  // What errors on a feature begin with.
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
