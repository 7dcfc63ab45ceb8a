// The features of serialized examples as protobuf has them: what ExampleRecords
// and SequenceRecords share. Internal to this room.
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
#include "libs/base/scheduler.h"
#include "libs/kernels/number_types.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"

namespace weft {

namespace tf {
class Feature;
}  // namespace tf

using FeatureTypes = TypeList<float, int64_t, std::string>;

// DT_INVALID of a feature that is none of the three.
DataType TypeOf(const tf::Feature& feature);
// How many values it has.
int64_t SizeOf(const tf::Feature& feature);
// Copies them, and gives the end of what was written. REQUIRES: T is one of
// FeatureTypes, and the feature's; there is room for SizeOf.
template <typename T>
T* CopyValues(const tf::Feature& feature, T* out);

// ArenaCharge counts parsed records: their arena, and the texts in them, which
// are outside of it. RESOURCE_EXHAUSTED where there is no room for them.
class ArenaCharge {
 public:
  explicit ArenaCharge(Allocator& allocator) : charge_(allocator) {}

  // Before the records are parsed.
  absl::Status AddTexts(absl::Span<const std::string> serialized);
  // The arena takes so many bytes now.
  absl::Status Update(size_t arena_bytes);

 private:
  HeapCharge charge_;
  size_t arena_bytes_ = 0;
};

// Charges the strings that CopyValues copies, outside of their objects. Numbers
// take nothing. RESOURCE_EXHAUSTED where there is no room for them.
absl::Status ChargeValues(HeapCharge& charge, const tf::Feature& feature);
// The same for `copies` of default values. REQUIRES: T is one of FeatureTypes.
template <typename T>
absl::Status ChargeDefaults(HeapCharge& charge, absl::Span<const T> values,
                            size_t copies);

// Calls `parse` with the number of each record, on several threads. The first
// record for which it returns false, or -1 if there is none. Calls `charge`
// after each 1,024 records, and after each 32 MiB of them, to count the memory
// that they take, and returns its error. So what is taken before it is counted
// is what a few records take: at most 40 times their size, for empty texts.
absl::StatusOr<int64_t> FindBadRecord(Scheduler& scheduler,
                                      absl::Span<const std::string> records,
                                      absl::FunctionRef<bool(int64_t n)> parse,
                                      absl::FunctionRef<absl::Status()> charge);
// "Could not parse example input, value: ...": the bytes of a record may be
// anything, and many.
std::string CouldNotParse(absl::string_view bytes);

// Where each of the rows begins and ends that have so many values: 0, and the
// sums. INVALID_ARGUMENT, naming the feature, where they are too many for the
// type, int32 or int64.
absl::StatusOr<Tensor> RowSplits(Allocator& allocator, DataType split_type,
                                 absl::Span<const int64_t> sizes,
                                 absl::string_view key);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_PARSING_FEATURE_VALUES_H_
