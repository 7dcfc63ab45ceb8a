#include "libs/checkpoint/checkpoint_reader.h"

#include <utility>
#include <vector>

#include "libs/base/status.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/tensor_slice_reader.h"

namespace weft::checkpoint {

absl::StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::Open(
    FileSystem& file_system, absl::string_view prefix,
    const Cancellation* cancellation) {
  absl::StatusOr<std::unique_ptr<CheckpointReader>> reader =
      BundleReader::Open(file_system, prefix, cancellation);
  if (!absl::IsNotFound(reader.status())) return reader;
  ASSIGN_OR_RETURN(std::vector<std::string> paths,
                   SliceTablePaths(file_system, prefix));
  // Most checkpoints are of format V2: its error says what is missing.
  if (paths.empty()) return reader;
  return TensorSliceReader::Open(file_system, prefix, std::move(paths),
                                 cancellation);
}

absl::StatusOr<bool> CheckpointExists(FileSystem& file_system,
                                      absl::string_view prefix) {
  const absl::Status found = file_system.FileExists(IndexFilename(prefix));
  if (!absl::IsNotFound(found)) {
    RETURN_IF_ERROR(found);
    return true;
  }
  ASSIGN_OR_RETURN(const auto paths, SliceTablePaths(file_system, prefix));
  return !paths.empty();
}

}  // namespace weft::checkpoint
