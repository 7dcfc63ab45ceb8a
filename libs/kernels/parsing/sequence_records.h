// SequenceRecords: serialized sequences (tf.SequenceExample,
// schemas/tf/example.proto) and their features as tensors, one feature at a
// time: those of the context, which are one row in each sequence, and those of
// the lists, which are a row for each step.
//
// Errors are INVALID_ARGUMENT in TensorFlow's words, which name the sequence by
// the name that was given for it, the feature and the step. Not synchronized.
#ifndef WEFT_LIBS_KERNELS_PARSING_SEQUENCE_RECORDS_H_
#define WEFT_LIBS_KERNELS_PARSING_SEQUENCE_RECORDS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/scheduler.h"
#include "libs/kernels/parsing/example_records.h"
#include "libs/tensor/tensor.h"

namespace weft {

class SequenceRecords {
 public:
  // `serialized` is a vector, or a scalar: one sequence that is no batch of
  // one. `names` is empty or has as many elements. Scheduler and allocator
  // outlive the records.
  static absl::StatusOr<SequenceRecords> Parse(Scheduler& scheduler,
                                               Allocator& allocator,
                                               const Tensor& serialized,
                                               const Tensor& names);

  enum class Part { kContext, kLists };

  // A feature of the context that has the same shape in every sequence. One
  // that is missing gets the default, which is empty where it must be there.
  absl::StatusOr<Tensor> ContextDense(const DenseFeature& feature) const;

  // The steps of all sequences, filled up with zeros and empty texts, and how
  // many there are of each: a scalar of one sequence alone.
  struct Steps {
    Tensor values, lengths;
  };
  // A feature of the lists that has the same shape in every step. One that may
  // be missing has no steps then.
  absl::StatusOr<Steps> ListsDense(const std::string& key, DataType dtype,
                                   const PartialShape& shape,
                                   bool may_be_missing) const;

  // Indices are the sequence (of a batch), the step (of lists), and the place.
  absl::StatusOr<SparseValues> Sparse(Part part, const std::string& key,
                                      DataType dtype) const;

  // Outer splits are those of the sequences, a scalar 0 of one alone; inner
  // ones those of the steps, and only lists have some.
  struct Ragged {
    Tensor values, outer_splits, inner_splits;
  };
  absl::StatusOr<Ragged> RaggedRows(Part part, const std::string& key,
                                    DataType dtype, DataType split_type) const;

 private:
  struct Parsed;  // in protobuf's types
  struct Rows;    // of one feature

  SequenceRecords(Allocator& allocator, const Tensor& serialized,
                  const Tensor& names);

  absl::StatusOr<Rows> Find(Part part, const std::string& key,
                            DataType dtype) const;
  void AddRows(Part part, const std::string& key, int64_t n, Rows& rows) const;
  absl::Status CheckTypes(Part part, absl::string_view key, DataType dtype,
                          const Rows& rows) const;
  absl::StatusOr<Tensor> Values(const Rows& rows, DataType dtype) const;
  // The shape of what every sequence has one of.
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
