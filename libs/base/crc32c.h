// CRC-32C (Castagnoli's polynomial), the checksum of TensorFlow's files, and
// the masked form in which files store it. Masking is needed because a checksum
// over bytes that contain checksums is weak (LevelDB, util/crc32c.h and
// doc/table_format.md).
//
// Threads: functions without state. ISA-L computes the checksum, with hardware
// instructions if available.
#ifndef WEFT_LIBS_BASE_CRC32C_H_
#define WEFT_LIBS_BASE_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace weft {

// Returns the checksum of some earlier bytes followed by `data`. `crc` is the
// checksum of the earlier bytes, or 0 if there are no earlier bytes.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view data);

inline uint32_t Crc32c(absl::string_view data) { return ExtendCrc32c(0, data); }

// Returns the masked form in which files store a checksum.
inline uint32_t MaskCrc32c(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}
inline uint32_t UnmaskCrc32c(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_CRC32C_H_
