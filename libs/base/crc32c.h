// CRC-32C (Castagnoli's polynomial), with which TensorFlow's files say whether
// their bytes are still what was written, and its masked form, in which they
// store it: a checksum over bytes that hold checksums would be weak (LevelDB,
// util/crc32c.h, and doc/table_format.md).
//
// Threads: functions without state. ISA-L computes, with the processor's
// instructions where it has them.
#ifndef WEFT_LIBS_BASE_CRC32C_H_
#define WEFT_LIBS_BASE_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace weft {

// The checksum of some bytes followed by `data`; `crc` is that of the former, 0
// for none.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view data);

inline uint32_t Crc32c(absl::string_view data) { return ExtendCrc32c(0, data); }

// How files store a checksum.
inline uint32_t MaskCrc32c(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}
inline uint32_t UnmaskCrc32c(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_CRC32C_H_
