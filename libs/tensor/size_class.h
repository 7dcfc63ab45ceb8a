// Size classes of BufferPool: multiples of 64 bytes up to 256, then four per
// octave, so that a block wastes at most a fifth of its size.
#ifndef WEFT_LIBS_TENSOR_SIZE_CLASS_H_
#define WEFT_LIBS_TENSOR_SIZE_CLASS_H_

#include <bit>
#include <cstddef>

namespace weft::internal {

// Larger than any address space; keeps sums of sizes from overflowing.
inline constexpr size_t kMaxBufferBytes = size_t{1} << 46;
inline constexpr int kNumSizeClasses = 4 + (46 - 8) * 4;

// The smallest class for `bytes`. REQUIRES: bytes <= kMaxBufferBytes.
inline int SizeClassOf(size_t bytes) {
  const size_t n = bytes == 0 ? 0 : bytes - 1;
  if (n < 256) return static_cast<int>(n >> 6);
  const int octave = static_cast<int>(std::bit_width(n)) - 1;
  return 4 + (octave - 8) * 4 + static_cast<int>((n >> (octave - 2)) & 3);
}

inline size_t SizeOfClass(int size_class) {
  if (size_class < 4) return static_cast<size_t>(size_class + 1) << 6;
  const int octave = 8 + (size_class - 4) / 4;
  return static_cast<size_t>(5 + (size_class - 4) % 4) << (octave - 2);
}

}  // namespace weft::internal

#endif  // WEFT_LIBS_TENSOR_SIZE_CLASS_H_
