#include "libs/kernels/parsing/feature_values.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {

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
  // Of the lists that it has not, protobuf gives empty ones.
  return int64_t{feature.float_list().value_size()} +
         feature.int64_list().value_size() + feature.bytes_list().value_size();
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
