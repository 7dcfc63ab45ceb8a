// Access to the features of serialized examples in protobuf's types, for
// ExampleRecords and SequenceRecords. Internal to this folder.
//
// Functions without state, and ArenaCharge: one thread at a time.
#ifndef WEFT_LIBS_KERNELS_PARSING_FEATURE_VALUES_H_
#define WEFT_LIBS_KERNELS_PARSING_FEATURE_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/kernels/common/number_types.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"

namespace weft {

namespace tf {
class Feature;
}  // namespace tf

using FeatureTypes = TypeList<float, int64_t, std::string>;

// DT_INVALID for a feature of none of the three types.
DataType TypeOf(const tf::Feature& feature);
// The number of values.
int64_t SizeOf(const tf::Feature& feature);
// Copies the values, and returns the end of the output. REQUIRES: T is one of
// FeatureTypes, and that of the feature; there is room for SizeOf values.
template <typename T>
T* CopyValues(const tf::Feature& feature, T* out);

// ArenaCharge counts the memory of parsed records: their arena, and the strings
// in them, which are outside of the arena. Returns RESOURCE_EXHAUSTED beyond
// the memory bound.
class ArenaCharge {
 public:
  explicit ArenaCharge(Allocator& allocator) : charge_(allocator) {}

  // Must be called before the records are parsed.
  absl::Status AddTexts(absl::Span<const std::string> serialized);
  // Sets the current size of the arena.
  absl::Status Update(size_t arena_bytes);

 private:
  HeapCharge charge_;
  size_t arena_bytes_ = 0;
};

// Charges the strings that CopyValues copies, outside of their objects; numbers
// need nothing. Returns RESOURCE_EXHAUSTED beyond the memory bound.
absl::Status ChargeValues(HeapCharge& charge, const tf::Feature& feature);
// Charges `copies` of default values. REQUIRES: T is one of FeatureTypes.
template <typename T>
absl::Status ChargeDefaults(HeapCharge& charge, absl::Span<const T> values,
                            size_t copies);

// Calls `parse` with the index of each record, on several threads. Returns the
// first record for which it returns false, or -1. Calls `charge` after each
// 1,024 records, and after each 32 MiB of records, to count their memory, and
// returns its error. Memory that is not yet counted is thus limited to that of
// a few records: at most 40 times their size, for empty strings.
absl::StatusOr<int64_t> FindBadRecord(Scheduler& scheduler,
                                      absl::Span<const std::string> records,
                                      absl::FunctionRef<bool(int64_t n)> parse,
                                      absl::FunctionRef<absl::Status()> charge);
// "Could not parse example input, value: ...", with the record's bytes escaped
// and truncated.
std::string CouldNotParse(absl::string_view bytes);

// The row splits for rows with these numbers of values: 0, and the partial
// sums. Returns INVALID_ARGUMENT, naming the feature, if the sums do not fit
// the type, int32 or int64.
absl::StatusOr<Tensor> RowSplits(Allocator& allocator, DataType split_type,
                                 absl::Span<const int64_t> sizes,
                                 absl::string_view key);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_PARSING_FEATURE_VALUES_H_
