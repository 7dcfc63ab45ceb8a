// A table with open addressing over two arrays, one of keys and one of values:
// TensorFlow's MutableDenseHashTable (core/kernels/lookup_table_op.cc), bucket
// for bucket, since its checkpoints hold the arrays as they are. It differs in
// what is wrong there: a key that lies behind a removed one is not set a second
// time, and removed keys are cleared away before they take every bucket, from
// where on TensorFlow's table fails.
//
// Two keys can never be in it: one marks what is empty, one what was removed.
#ifndef WEFT_LIBS_RESOURCE_DENSE_TABLE_H_
#define WEFT_LIBS_RESOURCE_DENSE_TABLE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/resource/lookup_table.h"

namespace weft {

struct DenseTableOptions {
  Tensor empty_key, deleted_key;  // of one shape, scalars or vectors
  DataType value_type = DT_INVALID;
  TensorShape value_shape;
  int64_t num_buckets = 0;  // at first; a power of 2
  float max_load_factor = 0;
  uint64_t (*hash)(absl::string_view) = nullptr;  // of keys that are strings
};

// INVALID_ARGUMENT for options that make no table, RESOURCE_EXHAUSTED where
// there is no memory for the buckets.
absl::StatusOr<std::shared_ptr<LookupTable>> NewDenseTable(
    const DenseTableOptions& options);

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_DENSE_TABLE_H_
