// The bytes of a tensor of variants in a data file, TensorFlow's: of each
// variant the length as a varint, its VariantTensorDataProto, and four bytes,
// the masked checksum of all up to there. In checksums a length counts as a
// number of eight bytes, whatever it takes as a varint. Internal to this room.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_CHECKPOINT_VARIANT_BYTES_H_
#define WEFT_LIBS_CHECKPOINT_VARIANT_BYTES_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/variant.h"

namespace weft::checkpoint {

// What a variant takes at least.
inline constexpr uint64_t kMinVariantBytes = 1 + sizeof(uint32_t);

// One variant, which may be large, as three pieces: its length, its message,
// the checksum. `*crc` is the checksum of those before, and then of this, too;
// `left` and errors are SerializeVariantProto's.
absl::StatusOr<std::array<std::string, 3>> EncodeVariant(const Variant& variant,
                                                         uint32_t* crc,
                                                         int64_t& left);

// Fills `to`; the checksum of all. DATA_LOSS unless `bytes` are as many
// variants;
// RESOURCE_EXHAUSTED where what repeats in all of them together would take more
// than kMaxRepeatedTensorBytes.
absl::StatusOr<uint32_t> DecodeVariants(absl::string_view bytes,
                                        Allocator& allocator,
                                        absl::Span<Variant> to);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_VARIANT_BYTES_H_
