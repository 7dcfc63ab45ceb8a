#include "libs/kernels/isa/narrow_isa.h"

#include <string.h>

#include "libs/kernels/isa/narrow_vectors_isa.h"

namespace weft::WEFT_ISA {
namespace {

template <typename T>
void WidenLoop(const T* x, float* out, int64_t n) {
  Widen(x, out, n);
}

template <typename T>
void NarrowLoop(const float* x, T* out, int64_t n) {
  Narrow(x, out, n);
}

// kColumns sums at a time stay floats rounded to T: enough to hide the latency
// of additions.
template <typename T, int kColumns>
void AddColumns(const T* x, int64_t rows, int64_t stride, T* sums) {
  float wide[kColumns], next[kColumns];
  T rounded[kColumns];
  Widen(sums, wide, kColumns);
  for (int64_t i = 0; i < rows; ++i, x += stride) {
    Widen(x, next, kColumns);
    for (int j = 0; j < kColumns; ++j) wide[j] += next[j];
    Narrow(wide, rounded, kColumns);
    Widen(rounded, wide, kColumns);
  }
  memcpy(sums, rounded, rows > 0 ? sizeof(rounded) : 0);
}

template <typename T>
void AddRows(const T* x, int64_t rows, int64_t stride, int64_t n, T* sums) {
  int64_t j = 0;
  for (; j + 64 <= n; j += 64) {
    AddColumns<T, 64>(x + j, rows, stride, sums + j);
  }
  for (; j + 32 <= n; j += 32) {
    AddColumns<T, 32>(x + j, rows, stride, sums + j);
  }
  for (; j + 8 <= n; j += 8) AddColumns<T, 8>(x + j, rows, stride, sums + j);
  for (; j < n; ++j) AddColumns<T, 1>(x + j, rows, stride, sums + j);
}

}  // namespace

void FillNarrowLoops(NarrowLoops<half>* loops) {
  *loops = {&WidenLoop<half>, &NarrowLoop<half>, &AddRows<half>};
}

void FillNarrowLoops(NarrowLoops<bfloat16>* loops) {
  *loops = {&WidenLoop<bfloat16>, &NarrowLoop<bfloat16>, &AddRows<bfloat16>};
}

}  // namespace weft::WEFT_ISA
