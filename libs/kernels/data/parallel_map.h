// ParallelMap: an iterator of what a function makes of each element of another
// one, several at a time.
#ifndef WEFT_LIBS_KERNELS_DATA_PARALLEL_MAP_H_
#define WEFT_LIBS_KERNELS_DATA_PARALLEL_MAP_H_

#include <functional>
#include <memory>

#include "libs/kernels/data/captured_function.h"
#include "libs/kernels/data/dataset.h"
#include "libs/kernels/data/dataset_kernel.h"

namespace weft {

// TensorFlow's AUTOTUNE: as many as there are cores.
inline constexpr int64_t kAutotune = -1;

struct ParallelMapOptions {
  // Calls `done` once, perhaps before it returns; does not wait. Called on
  // Pool::kCompute.
  std::function<void(const IteratorContext& context, DatasetElement element,
                     CapturedFunction::Done done)>
      map;
  int64_t parallel_calls = 1;  // or kAutotune
  bool keeps_order = true;
  // Whether what `map` gives of code OUT_OF_RANGE is the end, and no error.
  bool ends_out_of_range = false;
};

// Results that nobody took yet are no more than calls at a time. `owner` is
// held: the dataset whose iterator it is.
std::unique_ptr<DatasetIterator> NewParallelMapIterator(
    DatasetPtr owner, std::unique_ptr<DatasetIterator> input,
    ParallelMapOptions options, const IteratorContext& context);

// OK for a number of parallel calls that there can be.
absl::Status CheckParallelCalls(int64_t parallel_calls);
// Whether order matters, by an attr `deterministic` ("true", "false",
// "default") or else `sloppy` (a bool).
absl::StatusOr<bool> KeepsOrder(const DatasetOp& op);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_PARALLEL_MAP_H_
