#include "libs/checkpoint/checkpoint_reader.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/tensor_slice_reader.h"

namespace weft::checkpoint {
namespace {

// Returns the prefix of the checkpoint to which the file `path` seems to
// belong. Returns "" if its name does not look like the name of a checkpoint
// file.
absl::string_view PrefixOfFile(absl::string_view path) {
  for (const char* ending : {".index", ".meta"}) {
    if (absl::ConsumeSuffix(&path, ending)) return path;
  }
  const size_t data = path.rfind(".data-");
  return data == absl::string_view::npos ? "" : path.substr(0, data);
}

// Returns NOT_FOUND if the path is a file of a checkpoint or a directory,
// because it was probably given by mistake instead of a prefix.
absl::Status CheckIsPrefix(FileSystem& file_system, absl::string_view path) {
  const absl::string_view prefix = PrefixOfFile(path);
  if (!prefix.empty() && file_system.FileExists(IndexFilename(prefix)).ok()) {
    return absl::NotFoundError(
        absl::StrCat(path,
                     " is a file of a checkpoint. Expected the prefix of "
                     "its files, ",
                     prefix));
  }
  if (file_system.IsDirectory(path).value_or(false)) {
    return absl::NotFoundError(absl::StrCat(
        path,
        " is a directory. Expected the prefix of a checkpoint's files, "
        "such as ",
        absl::StripSuffix(path, "/"),
        "/model.ckpt-100 (checkpoint::LatestCheckpoint finds the newest)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::Open(
    FileSystem& file_system, absl::string_view prefix,
    const Cancellation* cancellation, Allocator& allocator) {
  absl::StatusOr<std::unique_ptr<CheckpointReader>> reader =
      BundleReader::Open(file_system, prefix, cancellation, allocator);
  if (!absl::IsNotFound(reader.status())) return reader;
  RETURN_IF_ERROR(CheckIsPrefix(file_system, prefix));
  ASSIGN_OR_RETURN(std::vector<std::string> paths,
                   SliceTablePaths(file_system, prefix));
  // If there are no V1 files either, return the error of format V2, because
  // most checkpoints have that format.
  if (paths.empty()) return reader;
  return TensorSliceReader::Open(file_system, prefix, std::move(paths),
                                 cancellation, allocator);
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
