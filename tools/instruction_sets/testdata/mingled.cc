// Test data: both mistakes that the checker is there for.
#include <immintrin.h>

#include "tools/instruction_sets/testdata/kernel.h"

namespace weft {

template <typename T>
[[gnu::noinline]] T OutsideItsNamespace(T factor, T value) {
  return factor * value;
}

namespace WEFT_ISA {

[[gnu::target("avx")]] static void Clear(float* values) {
  _mm256_storeu_ps(values, _mm256_setzero_ps());
}

void Scale(float factor, float* values, int count) {
  if (factor == 0 && count == 8) return Clear(values);
  for (int i = 0; i < count; ++i) {
    values[i] = OutsideItsNamespace(factor, values[i]);
  }
}

}  // namespace WEFT_ISA
}  // namespace weft
