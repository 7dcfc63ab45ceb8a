// Sums and products of untrusted sizes, which saturate at the maximum of
// int64_t instead of overflowing.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_BASE_SATURATED_H_
#define WEFT_LIBS_BASE_SATURATED_H_

#include <cstdint>
#include <limits>

namespace weft {

// Return the sum or the product, or the maximum of int64_t if it would
// overflow. REQUIRES: neither argument is negative.
inline int64_t SaturatedAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return std::numeric_limits<int64_t>::max();
}
inline int64_t SaturatedMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return std::numeric_limits<int64_t>::max();
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SATURATED_H_
