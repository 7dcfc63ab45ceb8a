// Measures the GFLOP/s of the products of a 784-128-10 MLP with batches of 64,
// and of a large product: by instruction set, and with OpenBLAS if it is
// installed.
#include <vector>

#include "benchmark/benchmark.h"
#include "libs/base/clock.h"
#include "libs/kernels/math/gemm.h"

namespace weft {
namespace {

struct Shape {
  const char* name;
  int64_t m, k, n;
  bool transpose_a, transpose_b;
};

constexpr Shape kShapes[] = {
    {"forward_64x784x128", 64, 784, 128, false, false},
    {"forward_64x128x10", 64, 128, 10, false, false},
    {"weights_784x64x128", 784, 64, 128, true, false},
    {"weights_128x64x10", 128, 64, 10, true, false},
    {"inputs_64x10x128", 64, 10, 128, false, true},
    {"large_512x512x512", 512, 512, 512, false, false}};

void Run(benchmark::State& state, const Shape& shape,
         const MatMulFunctions& functions, int threads) {
  const SystemClock clock;
  const auto scheduler =
      NewThreadScheduler(clock, {.compute_threads = threads});
  const std::vector<float> a(shape.m * shape.k, 0.5f);
  const std::vector<float> b(shape.k * shape.n, 0.25f);
  std::vector<float> c(shape.m * shape.n);
  const MatMulArgs args{shape.m,
                        shape.n,
                        shape.k,
                        shape.transpose_a,
                        shape.transpose_b,
                        shape.transpose_a ? shape.m : shape.k,
                        shape.transpose_b ? shape.k : shape.n,
                        shape.n};
  for (auto iteration : state) {
    Gemm(*scheduler, args, a.data(), b.data(), c.data(), &functions);
    benchmark::DoNotOptimize(c.data());
  }
  const double flops = 2.0 * static_cast<double>(shape.m * shape.k * shape.n);
  state.counters["GFLOP/s"] = benchmark::Counter(
      flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void RegisterAll() {
  std::vector<std::pair<std::string, MatMulFunctions>> all;
  constexpr const char* kNames[] = {"v1", "v3", "v4"};
  for (InstructionSet set : SupportedInstructionSets()) {
    all.emplace_back(kNames[static_cast<int>(set)], MatMulFor(set));
  }
  absl::StatusOr<MatMulFunctions> blas = OpenBlas("libopenblas.so.0");
  if (blas.ok()) all.emplace_back("openblas", *blas);
  for (const Shape& shape : kShapes) {
    for (const auto& [name, functions] : all) {
      for (int threads : {1, 2}) {
        benchmark::RegisterBenchmark(
            (std::string(shape.name) + "/" + name +
             "/threads:" + std::to_string(threads))
                .c_str(),
            [&shape, functions = functions, threads](benchmark::State& state) {
              Run(state, shape, functions, threads);
            })
            ->UseRealTime();
      }
    }
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::RegisterAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
