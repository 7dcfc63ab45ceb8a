// Sums and products of sizes that may come from anywhere: what would be more
// than an int64_t holds is its largest number.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_BASE_SATURATED_H_
#define WEFT_LIBS_BASE_SATURATED_H_

#include <cstdint>
#include <limits>

namespace weft {

// REQUIRES: neither is negative; so of both.
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
