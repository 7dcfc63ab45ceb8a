// NewDenseTable creates a hash table with open addressing over an array of keys
// and an array of values. It corresponds to TensorFlow's MutableDenseHashTable
// (core/kernels/lookup_table_op.cc). Keys are in the same buckets as in
// TensorFlow, because checkpoints contain the arrays of buckets. Two errors of
// TensorFlow's table are fixed. A key in a bucket after a removed key is not
// inserted a second time. Removed keys are cleared before they take all
// buckets, at which point TensorFlow's table fails.
//
// Two keys are reserved: one marks empty buckets, and one marks buckets of
// removed keys.
#ifndef WEFT_LIBS_RESOURCE_DENSE_TABLE_H_
#define WEFT_LIBS_RESOURCE_DENSE_TABLE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/resource/lookup_table.h"

namespace weft {

struct DenseTableOptions {
  Tensor empty_key, deleted_key;  // same shape; scalars or vectors
  DataType value_type = DT_INVALID;
  TensorShape value_shape;
  int64_t num_buckets = 0;  // initial number; a power of 2
  float max_load_factor = 0;
  uint64_t (*hash)(absl::string_view) = nullptr;  // for string keys
};

// Creates a table. Returns INVALID_ARGUMENT for invalid options, and
// RESOURCE_EXHAUSTED if there is not enough memory for the buckets.
absl::StatusOr<std::shared_ptr<LookupTable>> NewDenseTable(
    const DenseTableOptions& options);

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_DENSE_TABLE_H_
