// IdBounds checks ids against the number of rows of a lookup's table
// (lookup_attrs.h), in kernels that make ids unique.
//
// Threads: immutable.
#ifndef WEFT_LIBS_KERNELS_ARRAY_ID_BOUNDS_H_
#define WEFT_LIBS_KERNELS_ARRAY_ID_BOUNDS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "libs/kernels/op_kernel.h"
#include "libs/ops/nn/lookup_attrs.h"

namespace weft {

class IdBounds {
 public:
  explicit IdBounds(const OpKernelConstruction& construction) {
    const Node& node = construction.node();
    if (const auto* rows = node.attr<int64_t>(kLookupRowsAttr)) rows_ = *rows;
    if (const auto* table = node.attr<std::string>(kLookupTableAttr)) {
      table_ = *table;
    }
  }

  // Returns whether the node knows its table.
  bool is_known() const { return rows_ >= 0; }

  // Returns INVALID_ARGUMENT, naming the first of `ids` that is out of range.
  // Id is an integer type; T is the type to interpret it as.
  template <typename T, typename Id>
  absl::Status Check(absl::Span<const Id> ids) const {
    if (!is_known()) return absl::OkStatus();
    for (const Id id : ids) {
      const auto value = static_cast<int64_t>(static_cast<T>(id));
      if (value < 0 || value >= rows_) return Refuse(value);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Refuse(int64_t id) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "id ", id, " has no row in table '", table_, "', which has ", rows_,
        " rows: ids must be in [0, ", rows_, ")"));
  }

  int64_t rows_ = -1;  // -1: not known
  std::string table_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_ID_BOUNDS_H_
