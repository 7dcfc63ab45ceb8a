// SequenceRecords parses serialized sequences (tf.SequenceExample,
// schemas/tf/example.proto) and returns their features as tensors, one feature
// at a time. Context features have one row per sequence, list features one row
// per step.
//
// Errors are INVALID_ARGUMENT with TensorFlow's texts, which identify the
// sequence by its given name, the feature and the step. Not synchronized.
#ifndef WEFT_LIBS_KERNELS_PARSING_SEQUENCE_RECORDS_H_
#define WEFT_LIBS_KERNELS_PARSING_SEQUENCE_RECORDS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/kernels/parsing/example_records.h"
#include "libs/tensor/tensor.h"

namespace weft {

class SequenceRecords {
 public:
  // `serialized` is a vector, or a scalar for a single sequence without a
  // batch. `names` is empty or has an element for each example. Scheduler and
  // allocator must outlive the records.
  static absl::StatusOr<SequenceRecords> Parse(Scheduler& scheduler,
                                               Allocator& allocator,
                                               const Tensor& serialized,
                                               const Tensor& names);

  enum class Part { kContext, kLists };

  // A context feature with the same shape in every sequence. A missing one gets
  // the default, which is empty if the feature is required.
  absl::StatusOr<Tensor> ContextDense(const DenseFeature& feature) const;

  // The steps of all sequences, padded with zeros and empty strings, and the
  // number of steps of each sequence: a scalar for a single sequence.
  struct Steps {
    Tensor values, lengths;
  };
  // A list feature with the same shape in every step. A feature that may be
  // missing then has no steps.
  absl::StatusOr<Steps> ListsDense(const std::string& key, DataType dtype,
                                   const PartialShape& shape,
                                   bool may_be_missing) const;

  // Indices are the sequence (in a batch), the step (in lists), and the
  // position.
  absl::StatusOr<SparseValues> Sparse(Part part, const std::string& key,
                                      DataType dtype) const;

  // Outer splits are those of the sequences, a scalar 0 for a single one; inner
  // splits are those of the steps, for lists only.
  struct Ragged {
    Tensor values, outer_splits, inner_splits;
  };
  absl::StatusOr<Ragged> RaggedRows(Part part, const std::string& key,
                                    DataType dtype, DataType split_type) const;

 private:
  struct Parsed;  // holds protobuf's types
  struct Rows;    // of one feature

  SequenceRecords(Allocator& allocator, const Tensor& serialized,
                  const Tensor& names);

  absl::StatusOr<Rows> Find(Part part, const std::string& key,
                            DataType dtype) const;
  void AddRows(Part part, const std::string& key, int64_t n, Rows& rows) const;
  absl::Status CheckTypes(Part part, absl::string_view key, DataType dtype,
                          const Rows& rows) const;
  absl::StatusOr<Tensor> Values(const Rows& rows, DataType dtype) const;
  // The shape with the batch dimension, if there is one.
  absl::StatusOr<TensorShape> WithBatch(absl::Span<const int64_t> dims) const;
  // "Name: a, " of sequence `n`.
  std::string NameOf(int64_t n) const;

  Allocator* allocator_;
  int64_t count_;
  bool is_single_;
  Tensor names_;
  std::shared_ptr<Parsed> parsed_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_PARSING_SEQUENCE_RECORDS_H_
