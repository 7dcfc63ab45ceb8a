// ParallelMap is an iterator that applies a function to several elements of
// another iterator concurrently.
#ifndef WEFT_LIBS_KERNELS_DATA_DATASETS_PARALLEL_MAP_H_
#define WEFT_LIBS_KERNELS_DATA_DATASETS_PARALLEL_MAP_H_

#include <functional>
#include <memory>

#include "libs/kernels/data/captured_function.h"
#include "libs/kernels/data/dataset.h"
#include "libs/kernels/data/dataset_kernel.h"

namespace weft {

// TensorFlow's AUTOTUNE: one call per core.
inline constexpr int64_t kAutotune = -1;

struct ParallelMapOptions {
  // Calls `done` once, possibly before it returns, and does not wait. Called on
  // Pool::kCompute.
  std::function<void(const IteratorContext& context, DatasetElement element,
                     CapturedFunction::Done done)>
      map;
  int64_t parallel_calls = 1;  // or kAutotune
  bool keeps_order = true;
  // True: an OUT_OF_RANGE result of `map` is the end, not an error.
  bool ends_out_of_range = false;
};

// The number of buffered results is limited to that of concurrent calls.
// `owner`, the dataset of the iterator, is kept alive.
std::unique_ptr<DatasetIterator> NewParallelMapIterator(
    DatasetPtr owner, std::unique_ptr<DatasetIterator> input,
    ParallelMapOptions options, const IteratorContext& context);

// Checks that the number of parallel calls is valid.
absl::Status CheckParallelCalls(int64_t parallel_calls);
// Returns whether the order must be kept, by attr `deterministic` ("true",
// "false", "default"), else by attr `sloppy` (a bool).
absl::StatusOr<bool> KeepsOrder(const DatasetOp& op);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_DATASETS_PARALLEL_MAP_H_
