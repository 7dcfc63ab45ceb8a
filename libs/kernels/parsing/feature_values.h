// The features of serialized examples as protobuf has them: what ExampleRecords
// and SequenceRecords share. Internal to this room.
//
// Functions without state.
#ifndef WEFT_LIBS_KERNELS_PARSING_FEATURE_VALUES_H_
#define WEFT_LIBS_KERNELS_PARSING_FEATURE_VALUES_H_

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/arena.h"
#include "libs/base/scheduler.h"
#include "libs/kernels/number_types.h"
#include "libs/tensor/tensor.h"
#include "schemas/tf/feature.pb.h"

namespace weft {

using FeatureTypes = TypeList<float, int64_t, std::string>;

// DT_INVALID of a feature that is none of the three.
DataType TypeOf(const tf::Feature& feature);
// How many values it has.
int64_t SizeOf(const tf::Feature& feature);

template <typename T>
using FeatureValues =
    std::conditional_t<std::is_same_v<T, std::string>,
                       google::protobuf::RepeatedPtrField<std::string>,
                       google::protobuf::RepeatedField<T>>;

// Empty where it is of another type.
template <typename T>
const FeatureValues<T>& ValuesOf(const tf::Feature& feature) {
  if constexpr (std::is_same_v<T, float>) {
    return feature.float_list().value();
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return feature.int64_list().value();
  } else {
    return feature.bytes_list().value();
  }
}

// "Could not parse example input, value: ...": the bytes of a record may be
// anything, and many.
std::string CouldNotParse(absl::string_view bytes);

// A message of the arena for each text, several at a time. The number of the
// first that is none, else -1.
template <typename Message>
int64_t ParseMessages(Scheduler& scheduler,
                      absl::Span<const std::string> serialized,
                      google::protobuf::Arena& arena,
                      std::vector<Message*>& messages) {
  const auto count = static_cast<int64_t>(serialized.size());
  messages.resize(serialized.size());
  std::vector<char> is_valid(serialized.size(), false);
  const auto parse = [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const std::string& bytes = serialized[n];
      messages[n] = google::protobuf::Arena::CreateMessage<Message>(&arena);
      is_valid[n] = bytes.size() <= std::numeric_limits<int>::max() &&
                    messages[n]->ParseFromArray(bytes.data(),
                                                static_cast<int>(bytes.size()));
    }
  };
  constexpr int64_t kRecordsPerThread = 8;  // what pays to wake another one
  if (count <= kRecordsPerThread) {
    parse(0, count);
  } else {
    scheduler.ParallelFor(count, kRecordsPerThread, parse);
  }
  const auto bad = std::find(is_valid.begin(), is_valid.end(), false);
  return bad == is_valid.end() ? -1 : bad - is_valid.begin();
}

// Where each of the rows begins and ends that have so many values: 0, and the
// sums. INVALID_ARGUMENT, naming the feature, where they are too many for the
// type, int32 or int64.
absl::StatusOr<Tensor> RowSplits(Allocator& allocator, DataType split_type,
                                 absl::Span<const int64_t> sizes,
                                 absl::string_view key);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_PARSING_FEATURE_VALUES_H_
