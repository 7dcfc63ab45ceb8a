// Sums of products that stay in registers. No std:: template may be used: see
// weft_kernels_per_instruction_set.
#include "libs/kernels/isa/depthwise_isa.h"

#include "libs/kernels/isa/vectors_isa.h"

namespace weft::WEFT_ISA {
namespace {

// The number of vectors of sums at a time: enough of them, if a run is long
// enough, to hide the latency of additions, and few enough for the registers of
// every instruction set. The pixels of this many windows stay in the
// first-level cache while their channels are processed.
constexpr int kMostWindows = 8;
// A window of 3 x 3 is processed at once. For larger ones, loading and storing
// the sums takes little of the time.
constexpr int kMostTaps = 9;
constexpr int kManyWindows = 64;

// Calls `visit.operator()<V>(c)` for channels [c, channels) in vectors V:
// full-width ones, and narrower ones at the end, so that each channel is
// visited once.
template <typename T, int kSize, typename Visit>
void ForVectors(int64_t c, int64_t channels, const Visit& visit) {
  for (; c + kSize <= channels; c += kSize) {
    visit.template operator()<Vector<T, kSize>>(c);
  }
  if constexpr (kSize > 1) ForVectors<T, kSize / 2>(c, channels, visit);
}

// Calls `visit(begin, size)` for ranges of similar size that cover [0, n):
// small ranges wait for their own sums.
template <typename Visit>
void ForBlocks(int64_t n, int most, const Visit& visit) {
  int64_t blocks = (n + most - 1) / most;
  for (int64_t begin = 0; blocks > 0; --blocks) {
    const int size = static_cast<int>((n - begin + blocks - 1) / blocks);
    visit(begin, size);
    begin += size;
  }
}

// Processes as many channels as V has elements, for `windows` <= kWindows
// windows.
template <typename V, int kWindows, typename T>
void ProductsOf(int windows, const DepthwiseRun& run, const T* pixels,
                const T* filter, T* result) {
  if (windows < kWindows) {
    if constexpr (kWindows > 1) {
      ProductsOf<V, kWindows - 1>(windows, run, pixels, filter, result);
    }
    return;
  }
  const int64_t step = run.pixel_step;
  V sums[kWindows] = {};
  for (int64_t t = 0; t < run.num_taps; ++t) {
    const T* const from = pixels + run.taps[t].pixel;
    const V by = Load<V>(filter + run.taps[t].filter);
#pragma GCC unroll 8
    for (int x = 0; x < kWindows; ++x) sums[x] += Load<V>(from + x * step) * by;
  }
  const int64_t result_step = run.result_step;
#pragma GCC unroll 8
  for (int x = 0; x < kWindows; ++x) Store(sums[x], result + x * result_step);
}

template <typename T>
void ProductsOfRow(const DepthwiseRun& run, const T* pixels, const T* filter,
                   T* result) {
  ForBlocks(run.windows, kMostWindows, [&](int64_t x, int windows) {
    const T* const from = pixels + x * run.pixel_step;
    T* const to = result + x * run.result_step;
    ForVectors<T, kVectorSize<T>>(0, run.channels, [&]<typename V>(int64_t c) {
      ProductsOf<V, kMostWindows>(windows, run, from + c, filter + c, to + c);
    });
  });
}

template <typename T>
void Products(const DepthwiseRun& run, const T* pixels, const T* filter,
              T* result) {
  for (int64_t y = 0; y < run.rows; ++y) {
    ProductsOfRow(run, pixels + y * run.pixel_row, filter,
                  result + y * run.result_row);
  }
}

// Processes as many channels as V has elements, for `num` <= kTaps taps, in
// `rows` rows.
template <typename V, int kTaps, typename T>
void AddToTaps(int num, const DepthwiseTap* taps, int rows,
               const DepthwiseRun& run, const T* pixels, const T* result,
               T* filter) {
  if (num < kTaps) {
    if constexpr (kTaps > 1) {
      AddToTaps<V, kTaps - 1>(num, taps, rows, run, pixels, result, filter);
    }
    return;
  }
  V sums[kTaps];
  const T* from[kTaps];
#pragma GCC unroll 9
  for (int t = 0; t < kTaps; ++t) {
    sums[t] = Load<V>(filter + taps[t].filter);
    from[t] = pixels + taps[t].pixel;
  }
  for (int y = 0; y < rows; ++y) {
    int64_t at = y * run.pixel_row, by = y * run.result_row;
    for (int64_t x = 0; x < run.windows; ++x) {
      const V gradient = Load<V>(result + by);
#pragma GCC unroll 9
      for (int t = 0; t < kTaps; ++t)
        sums[t] += Load<V>(from[t] + at) * gradient;
      at += run.pixel_step;
      by += run.result_step;
    }
  }
#pragma GCC unroll 9
  for (int t = 0; t < kTaps; ++t) Store(sums[t], filter + taps[t].filter);
}

template <typename T>
void AddRowsToFilter(int rows, const DepthwiseRun& run, const T* pixels,
                     const T* result, T* filter) {
  ForBlocks(run.num_taps, kMostTaps, [&](int64_t t, int num) {
    ForVectors<T, kVectorSize<T>>(0, run.channels, [&]<typename V>(int64_t c) {
      AddToTaps<V, kMostTaps>(num, run.taps + t, rows, run, pixels + c,
                              result + c, filter + c);
    });
  });
}

template <typename T>
void AddToFilter(const DepthwiseRun& run, const T* pixels, const T* result,
                 T* filter) {
  const int most = run.windows < kManyWindows
                       ? kManyWindows / static_cast<int>(run.windows)
                       : 1;
  ForBlocks(run.rows, most, [&](int64_t y, int rows) {
    AddRowsToFilter(rows, run, pixels + y * run.pixel_row,
                    result + y * run.result_row, filter);
  });
}

template <typename T>
void Fill(DepthwiseLoops<T>* loops) {
  *loops = {&Products<T>, &AddToFilter<T>};
}

}  // namespace

void FillDepthwiseLoops(DepthwiseLoops<float>* loops) { Fill(loops); }
void FillDepthwiseLoops(DepthwiseLoops<double>* loops) { Fill(loops); }

}  // namespace weft::WEFT_ISA
