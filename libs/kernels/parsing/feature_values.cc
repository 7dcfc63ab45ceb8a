#include "libs/kernels/parsing/feature_values.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/string_charge.h"
#include "schemas/tf/feature.pb.h"

namespace weft {
namespace {

int64_t FindBadOfBatch(Scheduler& scheduler, int64_t count,
                       absl::FunctionRef<bool(int64_t n)> parse) {
  std::vector<char> is_valid(static_cast<size_t>(count), false);
  const auto parse_some = [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) is_valid[n] = parse(n);
  };
  constexpr int64_t kRecordsPerThread = 8;  // minimum for waking a thread
  if (count <= kRecordsPerThread) {
    parse_some(0, count);
  } else {
    scheduler.ParallelFor(count, kRecordsPerThread, parse_some);
  }
  const auto bad = std::find(is_valid.begin(), is_valid.end(), 0);
  return bad == is_valid.end() ? -1 : bad - is_valid.begin();
}

// The number of records to parse before their memory is counted: at least one.
size_t SizeOfBatch(absl::Span<const std::string> records) {
  constexpr size_t kMostRecords = 1024;
  constexpr size_t kMostBytes = size_t{32} << 20;
  const size_t most = std::min(records.size(), kMostRecords);
  size_t size = 0, bytes = 0;
  while (size < most && bytes < kMostBytes) bytes += records[size++].size();
  return size;
}

}  // namespace

DataType TypeOf(const tf::Feature& feature) {
  switch (feature.kind_case()) {
    case tf::Feature::kFloatList:
      return DT_FLOAT;
    case tf::Feature::kInt64List:
      return DT_INT64;
    case tf::Feature::kBytesList:
      return DT_STRING;
    case tf::Feature::KIND_NOT_SET:
      break;
  }
  return DT_INVALID;
}

int64_t SizeOf(const tf::Feature& feature) {
  // For a missing list, protobuf returns an empty one.
  return int64_t{feature.float_list().value_size()} +
         feature.int64_list().value_size() + feature.bytes_list().value_size();
}

template <typename T>
T* CopyValues(const tf::Feature& feature, T* out) {
  const auto copy = [&out](const auto& values) {
    return std::copy(values.begin(), values.end(), out);
  };
  if constexpr (std::is_same_v<T, float>) {
    return copy(feature.float_list().value());
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return copy(feature.int64_list().value());
  } else {
    return copy(feature.bytes_list().value());
  }
}
template float* CopyValues(const tf::Feature& feature, float* out);
template int64_t* CopyValues(const tf::Feature& feature, int64_t* out);
template std::string* CopyValues(const tf::Feature& feature, std::string* out);

absl::Status ArenaCharge::AddTexts(absl::Span<const std::string> serialized) {
  return charge_.Add(HeapBytesOf(serialized));
}

absl::Status ArenaCharge::Update(size_t arena_bytes) {
  RETURN_IF_ERROR(charge_.Add(arena_bytes - arena_bytes_));
  arena_bytes_ = arena_bytes;
  return absl::OkStatus();
}

absl::Status ChargeValues(HeapCharge& charge, const tf::Feature& feature) {
  size_t bytes = 0;
  for (const std::string& text : feature.bytes_list().value()) {
    bytes += HeapCharge::BytesOfString(text.size());
  }
  return charge.Add(bytes);
}

template <typename T>
absl::Status ChargeDefaults(HeapCharge& charge, absl::Span<const T> values,
                            size_t copies) {
  if constexpr (std::is_same_v<T, std::string>) {
    return charge.AddObjects(copies, HeapBytesOf(values));
  }
  return absl::OkStatus();
}
template absl::Status ChargeDefaults(HeapCharge& charge,
                                     absl::Span<const float> values,
                                     size_t copies);
template absl::Status ChargeDefaults(HeapCharge& charge,
                                     absl::Span<const int64_t> values,
                                     size_t copies);
template absl::Status ChargeDefaults(HeapCharge& charge,
                                     absl::Span<const std::string> values,
                                     size_t copies);

absl::StatusOr<int64_t> FindBadRecord(
    Scheduler& scheduler, absl::Span<const std::string> records,
    absl::FunctionRef<bool(int64_t n)> parse,
    absl::FunctionRef<absl::Status()> charge) {
  for (size_t first = 0; first < records.size();) {
    const size_t size = SizeOfBatch(records.subspan(first));
    const int64_t bad = FindBadOfBatch(
        scheduler, static_cast<int64_t>(size),
        [&](int64_t n) { return parse(static_cast<int64_t>(first) + n); });
    if (bad >= 0) return static_cast<int64_t>(first) + bad;
    RETURN_IF_ERROR(charge());
    first += size;
  }
  return -1;
}

std::string CouldNotParse(absl::string_view bytes) {
  constexpr size_t kMost = 200;
  return absl::StrCat("Could not parse example input, value: '",
                      absl::CHexEscape(bytes.substr(0, kMost)),
                      bytes.size() > kMost ? "..." : "", "'");
}

absl::StatusOr<Tensor> RowSplits(Allocator& allocator, DataType split_type,
                                 absl::Span<const int64_t> sizes,
                                 absl::string_view key) {
  int64_t total = 0;
  for (const int64_t size : sizes) total += size;
  const auto count = static_cast<int64_t>(sizes.size());
  ASSIGN_OR_RETURN(Tensor splits, Tensor::Allocate(allocator, split_type,
                                                   TensorShape({count + 1})));
  RETURN_IF_ERROR(DispatchType(
      IndexTypes{}, split_type, [&]<typename T>(TypeTag<T>) -> absl::Status {
        if (total > std::numeric_limits<T>::max()) {
          return absl::InvalidArgumentError(
              absl::StrCat("Key: ", key, ".  ", total,
                           " values are too many for row splits of type ",
                           DataTypeName(split_type)));
        }
        T* out = splits.template mutable_flat<T>().data();
        T sum = 0;
        *out++ = sum;
        for (const int64_t size : sizes) {
          sum += static_cast<T>(size);
          *out++ = sum;
        }
        return absl::OkStatus();
      }));
  return splits;
}

}  // namespace weft
