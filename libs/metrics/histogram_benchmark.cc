// Measures the cost of one observation, with one thread and with many threads
// at the same time. Run with --config=opt.
#include <benchmark/benchmark.h>

#include "libs/metrics/histogram.h"

namespace weft {
namespace {

void BM_Observe(benchmark::State& state) {
  static Histogram* const histogram = new Histogram(SecondsOfSteps());
  for (auto _ : state) histogram->Observe(2e-4);
  state.SetLabel("goal: no more with 16 threads than with one");
}
BENCHMARK(BM_Observe)->Threads(1)->Threads(2)->Threads(16)->UseRealTime();

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
