// ReadBoundedFile: a whole file, unless it is more than tensors may hold.
#ifndef WEFT_LIBS_KERNELS_BOUNDED_FILE_H_
#define WEFT_LIBS_KERNELS_BOUNDED_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/cancellation.h"
#include "libs/fs/file_system.h"
#include "libs/tensor/tensor.h"

namespace weft {

struct BoundedFile {
  std::string contents;
  // Texts lie outside of the pool that knows how much is left: a tensor that
  // nobody writes to takes their place in it, as long as it is held.
  Tensor place;
};

// RESOURCE_EXHAUSTED, before memory is taken for the contents, where the
// allocator has no place for them; ends with the step. Blocks.
absl::StatusOr<BoundedFile> ReadBoundedFile(FileSystem& files,
                                            absl::string_view path,
                                            Allocator& allocator,
                                            const Cancellation* cancellation);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_BOUNDED_FILE_H_
