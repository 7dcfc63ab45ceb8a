// The features of serialized examples as protobuf has them: what ExampleRecords
// and SequenceRecords share. Internal to this room.
//
// Functions without state.
#ifndef WEFT_LIBS_KERNELS_PARSING_FEATURE_VALUES_H_
#define WEFT_LIBS_KERNELS_PARSING_FEATURE_VALUES_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/base/scheduler.h"
#include "libs/kernels/number_types.h"
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

// Calls `parse` for each of `count` numbers, several at a time; the first that
// it gives false for, else -1.
int64_t FindBadRecord(Scheduler& scheduler, int64_t count,
                      absl::FunctionRef<bool(int64_t n)> parse);
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
