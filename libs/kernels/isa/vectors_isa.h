// Compiler vectors of the instruction set's width. Only for the sources of
// weft_kernels_per_instruction_set, which name the set.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ISA_VECTORS_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_VECTORS_ISA_H_

#include <string.h>

namespace weft::WEFT_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

// The number of elements in a vector.
template <typename T>
inline constexpr int kVectorSize = kVectorBytes / static_cast<int>(sizeof(T));

// Arithmetic and comparisons of vectors are elementwise.
template <typename T, int kSize>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kSize * sizeof(T))));
};
template <typename T, int kSize = kVectorSize<T>>
using Vector = typename VectorOf<T, kSize>::Type;

// V is a vector of T or T itself; x need not be aligned.
template <typename V, typename T>
V Load(const T* x) {
  V vector;
  memcpy(&vector, x, sizeof(V));
  return vector;
}

template <typename V, typename T>
void Store(V vector, T* x) {
  memcpy(x, &vector, sizeof(V));
}

// Returns the sum of a vector's elements, by repeated halving.
template <typename T, int kSize>
T SumOf(Vector<T, kSize> vector) {
  if constexpr (kSize == 2) {
    return vector[0] + vector[1];
  } else {
    Vector<T, kSize / 2> halves[2];
    memcpy(halves, &vector, sizeof(halves));
    return SumOf<T, kSize / 2>(halves[0] + halves[1]);
  }
}

}  // namespace weft::WEFT_ISA

#endif  // WEFT_LIBS_KERNELS_ISA_VECTORS_ISA_H_
