// BareCopies copies between pinned memory and a GPU with plain CUDA calls.
// Benchmarks use it to compare the speed of a session with the hardware's.
#ifndef WEFT_LIBS_DEVICE_CUDA_BARE_COPIES_H_
#define WEFT_LIBS_DEVICE_CUDA_BARE_COPIES_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"

namespace weft {

// Not thread-safe. The class is defined only in builds with CUDA.
class BareCopies {
 public:
  // Allocates buffers of `bytes` each.
  static absl::StatusOr<std::unique_ptr<BareCopies>> Create(int ordinal,
                                                            size_t bytes);
  virtual ~BareCopies() = default;

  // Returns when the copy has ended.
  virtual absl::Status ToDevice() = 0;
  virtual absl::Status ToHost() = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_BARE_COPIES_H_
