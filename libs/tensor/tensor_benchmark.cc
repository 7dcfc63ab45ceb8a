// Measures the cost of tensors for a node. Goals: an executor spends at most
// 100 ns on a trivial node, so allocating and dropping a scalar should take
// under 40 ns, copying and dropping a Tensor under 15 ns.
#include "benchmark/benchmark.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/tensor.h"

namespace weft {
namespace {

BufferPool& SharedPool() {
  static auto& pool = *new BufferPool;
  return pool;
}

void AllocateScalar(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        Tensor::Allocate(SharedPool(), DT_FLOAT, TensorShape()));
  }
}
BENCHMARK(AllocateScalar)->ThreadRange(1, 8);

void AllocateScalarOnHeap(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        Tensor::Allocate(HeapAllocator(), DT_FLOAT, TensorShape()));
  }
}
BENCHMARK(AllocateScalarOnHeap);

void AllocateBytes(benchmark::State& state) {
  BufferPool pool;
  for (auto _ : state) {
    benchmark::DoNotOptimize(pool.Allocate(state.range(0)));
  }
}
BENCHMARK(AllocateBytes)->RangeMultiplier(64)->Range(64, 64 << 20);

// A consumer frees what another thread's kernel allocated.
void AllocateManyThenDrop(benchmark::State& state) {
  std::vector<BufferPtr> buffers(1000);
  for (auto _ : state) {
    for (BufferPtr& buffer : buffers) buffer = SharedPool().Allocate(256);
    for (BufferPtr& buffer : buffers) buffer = BufferPtr();
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(AllocateManyThenDrop)->ThreadRange(1, 8);

Tensor OfRank(int rank) {
  TensorShape shape;
  for (int i = 0; i < rank; ++i) shape.AddDim(2);
  return Tensor(DT_FLOAT, shape);
}

void CopyTensor(benchmark::State& state) {
  const Tensor tensor = OfRank(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    Tensor copy = tensor;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(CopyTensor)->Arg(0)->Arg(2)->Arg(4)->Arg(6);

void AssignTensor(benchmark::State& state) {
  const Tensor tensor = OfRank(static_cast<int>(state.range(0)));
  Tensor target = tensor;
  for (auto _ : state) {
    target = tensor;
    benchmark::DoNotOptimize(target);
  }
}
BENCHMARK(AssignTensor)->Arg(0)->Arg(2)->Arg(4)->Arg(6);

void MoveTensor(benchmark::State& state) {
  Tensor a = OfRank(static_cast<int>(state.range(0)));
  Tensor b;
  for (auto _ : state) {
    b = std::move(a);
    benchmark::DoNotOptimize(b);
    a = std::move(b);
    benchmark::DoNotOptimize(a);
  }
}
BENCHMARK(MoveTensor)->Arg(0)->Arg(2)->Arg(6);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
