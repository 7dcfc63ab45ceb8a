// ReadBoundedFile reads a whole file, unless it exceeds the memory bound of
// tensors.
#ifndef WEFT_LIBS_KERNELS_COMMON_BOUNDED_FILE_H_
#define WEFT_LIBS_KERNELS_COMMON_BOUNDED_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/async/cancellation.h"
#include "libs/fs/file_system.h"
#include "libs/tensor/tensor.h"

namespace weft {

struct BoundedFile {
  std::string contents;
  // Strings are outside the pool that knows how much memory is left. This
  // unused tensor reserves their size in the pool as long as it is held.
  Tensor place;
};

// Returns RESOURCE_EXHAUSTED, before allocating memory for the contents, if the
// allocator has no room for them. Ends with the step. Blocks.
absl::StatusOr<BoundedFile> ReadBoundedFile(FileSystem& files,
                                            absl::string_view path,
                                            Allocator& allocator,
                                            const Cancellation* cancellation);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_COMMON_BOUNDED_FILE_H_
