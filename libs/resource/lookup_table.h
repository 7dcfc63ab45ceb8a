// LookupTable: a map from keys to values on a device, as TensorFlow's hash
// tables are. One kind is filled once and then only read; the other changes.
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
#include "libs/base/cancellation.h"
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
  // Of one key and of one value: scalars, unless a table says otherwise.
  virtual TensorShape key_shape() const { return TensorShape(); }
  virtual TensorShape value_shape() const { return TensorShape(); }
  virtual bool is_mutable() const = 0;
  // Whether it is a table of libs/resource/dense_table.h.
  virtual bool is_dense() const { return false; }
  virtual int64_t size() const = 0;

  // For all: REQUIRES tensors of the table's types, as many values as keys.

  // The value of each key, into `values`, or that of `fallback`, which is one
  // value or one for each key. `charge` counts the strings.
  // FAILED_PRECONDITION where a table that is filled once was not;
  // RESOURCE_EXHAUSTED where there is no room for the strings.
  virtual absl::Status Find(const Tensor& keys, const Tensor& fallback,
                            Tensor& values, HeapCharge& charge) const = 0;
  // Whatever changes a table asks under the lock whether `step` was cancelled.

  // Fills a table that is filled once; again is fine with as many entries.
  virtual absl::Status Initialize(const Cancellation& step, const Tensor& keys,
                                  const Tensor& values) = 0;
  // These are for tables that change; UNIMPLEMENTED for others.
  virtual absl::Status Insert(const Cancellation& step, const Tensor& keys,
                              const Tensor& values) = 0;
  virtual absl::Status Remove(const Cancellation& step, const Tensor& keys) = 0;
  // Replaces everything; the same as Initialize for a table filled once.
  virtual absl::Status Import(const Cancellation& step, const Tensor& keys,
                              const Tensor& values) = 0;

  // All keys, sorted, and their values, as vectors; what Import takes. A dense
  // table shows all of its buckets, as TensorFlow's does. `charge` counts the
  // strings, as for Find.
  virtual absl::StatusOr<std::pair<Tensor, Tensor>> Export(
      HeapCharge& charge) const = 0;
};

// UNIMPLEMENTED for types that no table has.
absl::StatusOr<std::shared_ptr<LookupTable>> NewLookupTable(DataType key_type,
                                                            DataType value_type,
                                                            bool is_mutable);

// A table that changes, from keys to vectors. INVALID_ARGUMENT for other rows.
absl::StatusOr<std::shared_ptr<LookupTable>> NewTableOfTensors(
    DataType key_type, DataType value_type, const PartialShape& row);

// The types that keys and values may have.
std::vector<DataType> TableKeyTypes();
std::vector<DataType> TableValueTypes();

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_LOOKUP_TABLE_H_
