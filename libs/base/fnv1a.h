// ExtendFnv1a computes the 64-bit FNV-1a hash, for hashes on which all tasks
// and all builds must agree. Anyone can construct inputs with the same hash, so
// it must not be used for security.
//
//   uint64_t hash = ExtendFnv1a(kFnv1aOffset, text);
//
// Threads: functions without state.
#ifndef WEFT_LIBS_BASE_FNV1A_H_
#define WEFT_LIBS_BASE_FNV1A_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace weft {

// The hash of an empty text.
constexpr uint64_t kFnv1aOffset = 0xcbf29ce484222325;
constexpr uint64_t kFnv1aPrime = 0x100000001b3;

// Returns the hash of the bytes hashed so far, followed by `bytes`.
constexpr uint64_t ExtendFnv1a(uint64_t hash, absl::string_view bytes) {
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * kFnv1aPrime;
  }
  return hash;
}

// Extends the hash by the eight bytes of a number, in little-endian order.
constexpr uint64_t ExtendFnv1aWithNumber(uint64_t hash, uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) {
    hash = (hash ^ (number >> shift & 0xff)) * kFnv1aPrime;
  }
  return hash;
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_FNV1A_H_
