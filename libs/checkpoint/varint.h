// Varint encoding: seven bits in each byte, lowest first, with the high bit set
// in all bytes except the last. Internal to this module.
#ifndef WEFT_LIBS_CHECKPOINT_VARINT_H_
#define WEFT_LIBS_CHECKPOINT_VARINT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace weft::checkpoint {

inline void AppendVarint(uint64_t value, std::string* bytes) {
  for (; value >= 0x80; value >>= 7) {
    bytes->push_back(static_cast<char>(value | 0x80));
  }
  bytes->push_back(static_cast<char>(value));
}

// Consumes a varint from the front of `bytes` and returns it. Returns nothing
// if the varint is truncated or exceeds `bits`.
inline std::optional<uint64_t> TakeVarint(absl::string_view* bytes,
                                          int bits = 64) {
  uint64_t value = 0;
  for (int shift = 0; shift < bits && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>((*bytes)[0]);
    bytes->remove_prefix(1);
    const uint64_t part = byte & 0x7f;
    if (shift + 7 > bits && part >> (bits - shift) != 0) return std::nullopt;
    value |= part << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_VARINT_H_
