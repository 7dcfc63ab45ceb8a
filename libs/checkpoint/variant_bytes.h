// The encoding of variant tensors in a data file, as in TensorFlow. Each
// variant is stored as its length (a varint), its VariantTensorDataProto, and
// four bytes with the masked checksum of everything before. Checksums cover
// each length as an eight-byte number, not as a varint. Internal to this
// module.
//
// Threads: functions without state.
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

// The minimum size of an encoded variant.
inline constexpr uint64_t kMinVariantBytes = 1 + sizeof(uint32_t);

// Encodes one variant, which may be large, as three pieces: its length, its
// message, and the checksum. `*crc` is the checksum of the previous variants,
// and is extended by this variant. `left` and errors are those of
// SerializeVariantProto.
absl::StatusOr<std::array<std::string, 3>> EncodeVariant(const Variant& variant,
                                                         uint32_t* crc,
                                                         int64_t& left);

// Decodes variants into `to`, and returns the checksum of all variants.
// DATA_LOSS unless `bytes` contain exactly as many variants as `to`.
// RESOURCE_EXHAUSTED if repeated values would expand to more than
// kMaxRepeatedTensorBytes in total.
absl::StatusOr<uint32_t> DecodeVariants(absl::string_view bytes,
                                        Allocator& allocator,
                                        absl::Span<Variant> to);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_VARIANT_BYTES_H_
