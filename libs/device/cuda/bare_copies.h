// BareCopies: copies between pinned memory and a GPU by CUDA's calls alone,
// for benchmarks: what the hardware does, beside what a session makes of it.
#ifndef WEFT_LIBS_DEVICE_CUDA_BARE_COPIES_H_
#define WEFT_LIBS_DEVICE_CUDA_BARE_COPIES_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"

namespace weft {

// For one thread at a time. Defined only where this was built with CUDA.
class BareCopies {
 public:
  // Of so many bytes each.
  static absl::StatusOr<std::unique_ptr<BareCopies>> Create(int ordinal,
                                                            size_t bytes);
  virtual ~BareCopies() = default;

  // Return when the copy has ended.
  virtual absl::Status ToDevice() = 0;
  virtual absl::Status ToHost() = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_BARE_COPIES_H_
