#include "libs/checkpoint/variant_bytes.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/crc32c.h"
#include "libs/base/status.h"
#include "libs/checkpoint/varint.h"
#include "libs/tensor/tensor_proto.h"

namespace weft::checkpoint {
namespace {

absl::string_view VariantBytesOf(const uint64_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}
absl::string_view VariantBytesOf(const uint32_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

absl::StatusOr<Variant> TakeVariant(absl::string_view* bytes,
                                    Allocator& allocator, uint32_t* crc,
                                    int64_t& left) {
  const std::optional<uint64_t> length = TakeVarint(bytes);
  uint32_t masked = 0;
  if (!length.has_value() || bytes->size() < sizeof(masked) ||
      *length > bytes->size() - sizeof(masked)) {
    return absl::DataLossError("its bytes are truncated");
  }
  const absl::string_view message = bytes->substr(0, *length);
  bytes->remove_prefix(*length);
  std::memcpy(&masked, bytes->data(), sizeof(masked));
  bytes->remove_prefix(sizeof(masked));
  *crc = ExtendCrc32c(ExtendCrc32c(*crc, VariantBytesOf(*length)), message);
  if (UnmaskCrc32c(masked) != *crc) {
    return absl::DataLossError(
        absl::StrCat("its checksum does not match: expected ",
                     UnmaskCrc32c(masked), " but actual is ", *crc));
  }
  *crc = ExtendCrc32c(*crc, VariantBytesOf(masked));
  absl::StatusOr<Variant> variant = ParseVariantProto(message, allocator, left);
  if (!absl::IsInvalidArgument(variant.status())) return variant;
  return absl::DataLossError(variant.status().message());
}

}  // namespace

absl::StatusOr<std::array<std::string, 3>> EncodeVariant(const Variant& variant,
                                                         uint32_t* crc,
                                                         int64_t& left) {
  ASSIGN_OR_RETURN(std::string message, SerializeVariantProto(variant, left));
  const uint64_t length = message.size();
  *crc = ExtendCrc32c(ExtendCrc32c(*crc, VariantBytesOf(length)), message);
  const uint32_t masked = MaskCrc32c(*crc);
  *crc = ExtendCrc32c(*crc, VariantBytesOf(masked));
  std::string varint;
  AppendVarint(length, &varint);
  return std::array<std::string, 3>{std::move(varint), std::move(message),
                                    std::string(VariantBytesOf(masked))};
}

absl::StatusOr<uint32_t> DecodeVariants(absl::string_view bytes,
                                        Allocator& allocator,
                                        absl::Span<Variant> to) {
  uint32_t crc = 0;
  int64_t left = kMaxRepeatedTensorBytes;
  for (size_t i = 0; i < to.size(); ++i) {
    absl::StatusOr<Variant> variant =
        TakeVariant(&bytes, allocator, &crc, left);
    if (!variant.ok()) {
      return Annotate(variant.status(), absl::StrCat("variant ", i));
    }
    to[i] = *std::move(variant);
  }
  if (bytes.empty()) return crc;
  return absl::DataLossError("the entry has more bytes than its variants");
}

}  // namespace weft::checkpoint
