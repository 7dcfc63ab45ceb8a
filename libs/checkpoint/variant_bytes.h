// Encoding of variant tensors in a data file, as in TensorFlow: for each
// variant its length as a varint, its VariantTensorDataProto, and four bytes,
// the masked checksum of everything so far. Checksums cover each length as an
// eight-byte number, not as a varint. Internal to this module.
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

// Minimum size of an encoded variant.
inline constexpr uint64_t kMinVariantBytes = 1 + sizeof(uint32_t);

// Encodes one variant, which may be large, as three pieces: its length, its
// message, the checksum. `*crc` is the checksum of the previous ones and is
// extended by this one; `left` and errors are SerializeVariantProto's.
absl::StatusOr<std::array<std::string, 3>> EncodeVariant(const Variant& variant,
                                                         uint32_t* crc,
                                                         int64_t& left);

// Fills `to`; returns the checksum of all variants. DATA_LOSS unless `bytes`
// contain exactly that many variants; RESOURCE_EXHAUSTED if repeated values
// would expand to more than kMaxRepeatedTensorBytes in total.
absl::StatusOr<uint32_t> DecodeVariants(absl::string_view bytes,
                                        Allocator& allocator,
                                        absl::Span<Variant> to);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_VARIANT_BYTES_H_
