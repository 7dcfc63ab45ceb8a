#include "libs/kernels/common/bounded_file.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/fs/admitted_read.h"

namespace weft {

absl::StatusOr<BoundedFile> ReadBoundedFile(FileSystem& files,
                                            absl::string_view path,
                                            Allocator& allocator,
                                            const Cancellation* cancellation) {
  BoundedFile file;
  const auto admit = [&](uint64_t bytes) -> absl::Status {
    if (cancellation != nullptr) RETURN_IF_ERROR(cancellation->status());
    file.place = Tensor();
    if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, " has ", bytes, " bytes, which is too large"));
    }
    auto taken = Tensor::Allocate(allocator, DT_UINT8,
                                  TensorShape({static_cast<int64_t>(bytes)}));
    if (!taken.ok()) {
      return Annotate(taken.status(), absl::StrCat("The contents of ", path));
    }
    file.place = *std::move(taken);
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(file.contents, ReadAdmittedFile(files, path, admit));
  return file;
}

}  // namespace weft
