#include "libs/kernels/nn/convolution_parts.h"

#include <algorithm>
#include <functional>

#include "libs/kernels/isa/nn_loops.h"

namespace weft {
namespace {

// The number of operations that justifies a separate part.
constexpr double kFlopsOfPart = 1e6;
// The maximum number of parts of a sum over images; adding more would cost more
// than it gains.
constexpr int64_t kMaxSums = 16;
// The minimum number of windows for one of these sums.
constexpr int64_t kWindowsOfSum = 96;
// The maximum number of elements in all these sums.
constexpr int64_t kMaxNumbersOfSums = 1 << 24;

double FlopsOf(const Convolution& c) {
  return 2.0 * static_cast<double>(c.all_windows()) *
         static_cast<double>(c.taps()) * static_cast<double>(c.filters);
}

}  // namespace

int64_t PartsWorthOf(const Convolution& c) {
  return std::max<int64_t>(
      1, static_cast<int64_t>(std::min(FlopsOf(c) / kFlopsOfPart, 1e6)));
}

int64_t SumsWorthOf(const Convolution& c) {
  const int64_t memory = std::max<int64_t>(
      1, kMaxNumbersOfSums / std::max<int64_t>(1, c.taps() * c.filters));
  // Separate sums of few windows cost as much to add as they gain.
  const int64_t worth = std::max<int64_t>(2, c.all_windows() / kWindowsOfSum);
  return std::min({PartsWorthOf(c), memory, worth, kMaxSums});
}

template <typename T>
void AddUp(Scheduler& scheduler, const T* rows, int64_t count, int64_t numbers,
           T* sum) {
  if (count == 0) return;
  const std::function<void(int64_t, int64_t)> add = [&](int64_t begin,
                                                        int64_t end) {
    for (int64_t i = 0; i < count; ++i) {
      BestNnLoops<T>().add_rows(rows + i * numbers + begin, sum + begin, 1,
                                end - begin);
    }
  };
  scheduler.ParallelFor(numbers, std::max<int64_t>(1024, 65536 / (count + 1)),
                        add);
}

template void AddUp(Scheduler&, const float*, int64_t, int64_t, float*);
template void AddUp(Scheduler&, const double*, int64_t, int64_t, double*);

}  // namespace weft
