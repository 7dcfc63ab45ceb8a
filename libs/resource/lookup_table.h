// LookupTable is a map from keys to values on a device, like TensorFlow's hash
// tables. One kind of table is initialized once and then read-only. Another
// kind is mutable.
//
// Rules and error texts are TensorFlow's (core/kernels/lookup_table_op.cc,
// initializable_lookup_table.cc).
//
// Threads: all methods may be called from any thread.
#ifndef WEFT_LIBS_RESOURCE_LOOKUP_TABLE_H_
#define WEFT_LIBS_RESOURCE_LOOKUP_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/async/cancellation.h"
#include "libs/resource/resource.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"

namespace weft {

class LookupTable : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "LookupTable";

  absl::string_view type_name() const override { return kTypeName; }

  virtual DataType key_type() const = 0;
  virtual DataType value_type() const = 0;
  // Return the shape of one key and the shape of one value. They are scalars,
  // unless a table overrides these methods.
  virtual TensorShape key_shape() const { return TensorShape(); }
  virtual TensorShape value_shape() const { return TensorShape(); }
  virtual bool is_mutable() const = 0;
  // Returns whether the table is one of libs/resource/dense_table.h.
  virtual bool is_dense() const { return false; }
  virtual int64_t size() const = 0;

  // For all methods: REQUIRES that tensors have the types of the table, and
  // that the numbers of keys and values are equal.

  // Writes the value of each key to `values`. For missing keys it writes the
  // value in `fallback`, which holds one value, or one for each key. `charge`
  // counts the memory of strings. Returns FAILED_PRECONDITION if a table that
  // is initialized once has no values yet, and RESOURCE_EXHAUSTED if the
  // strings exceed the memory limit.
  virtual absl::Status Find(const Tensor& keys, const Tensor& fallback,
                            Tensor& values, HeapCharge& charge) const = 0;
  // Every method that changes a table checks, under the lock, that `step` is
  // not cancelled.

  // Fills a table that is initialized once. A second call succeeds if it has
  // the same number of entries.
  virtual absl::Status Initialize(const Cancellation& step, const Tensor& keys,
                                  const Tensor& values) = 0;
  // Inserts entries, and replaces the values of keys that exist. Only mutable
  // tables support it; others return UNIMPLEMENTED.
  virtual absl::Status Insert(const Cancellation& step, const Tensor& keys,
                              const Tensor& values) = 0;
  virtual absl::Status Remove(const Cancellation& step, const Tensor& keys) = 0;
  // Replaces all entries. For a table that is initialized once, it does the
  // same as Initialize.
  virtual absl::Status Import(const Cancellation& step, const Tensor& keys,
                              const Tensor& values) = 0;

  // Returns all keys, sorted, and their values, as vectors that Import accepts.
  // A dense table returns all its buckets, as in TensorFlow. `charge` counts
  // the strings, as in Find.
  virtual absl::StatusOr<std::pair<Tensor, Tensor>> Export(
      HeapCharge& charge) const = 0;
};

// Creates a table. Returns UNIMPLEMENTED for types that no table supports.
absl::StatusOr<std::shared_ptr<LookupTable>> NewLookupTable(DataType key_type,
                                                            DataType value_type,
                                                            bool is_mutable);

// Creates a mutable table from keys to vectors. Returns INVALID_ARGUMENT if
// `row` is not the shape of a vector.
absl::StatusOr<std::shared_ptr<LookupTable>> NewTableOfTensors(
    DataType key_type, DataType value_type, const PartialShape& row);

// Return the types that keys and values may have.
std::vector<DataType> TableKeyTypes();
std::vector<DataType> TableValueTypes();

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_LOOKUP_TABLE_H_
