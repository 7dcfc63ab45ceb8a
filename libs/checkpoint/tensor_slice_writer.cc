#include "libs/checkpoint/tensor_slice_writer.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/checkpoint/table.h"
#include "libs/fs/path.h"

namespace weft::checkpoint {
namespace {

absl::Status Refuse(absl::string_view name, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("tensor ", name, " cannot be saved: ", why));
}

}  // namespace

TensorSliceWriter::TensorSliceWriter(FileSystem& file_system,
                                     absl::string_view path, Random& random)
    : file_system_(file_system),
      path_(path),
      temporary_path_(absl::StrCat(path, ".tempstate", random.Next())) {}

absl::Status TensorSliceWriter::Add(absl::string_view name,
                                    const TensorShape& whole,
                                    const TensorSlice& slice,
                                    const Tensor& values) {
  ASSIGN_OR_RETURN(const TensorShape shape, slice.SliceShape(whole));
  if (shape != values.shape()) {
    return Refuse(name,
                  absl::StrCat("its slice has shape ", shape.ToString(),
                               ", its values ", values.shape().ToString()));
  }
  RETURN_IF_ERROR(CheckSliceCanBeSerialized(name, slice, values));
  SlicesOfTensor& tensor = tensors_[std::string(name)];
  if (tensor.info.slices.empty()) {
    tensor.name = std::string(name);
    tensor.info.dtype = values.dtype();
    tensor.info.shape = whole;
  }
  if (tensor.info.dtype != values.dtype() || tensor.info.shape != whole) {
    return Refuse(name, "its slices differ in type or in the whole's shape");
  }
  std::string key = EncodeTensorNameSlice(name, slice);
  if (key.size() > kMaxKeySize) return Refuse(name, "its name is too long");
  Slice added = {std::string(name), slice, values};
  if (!slices_.emplace(std::move(key), std::move(added)).second) {
    return Refuse(
        name, absl::StrCat("slice ", slice.ToString(), " was added before"));
  }
  tensor.info.slices.push_back(slice);
  return absl::OkStatus();
}

absl::Status TensorSliceWriter::Finish(const Cancellation* cancellation) {
  const std::string folder(Dirname(path_));
  if (!folder.empty()) {
    RETURN_IF_ERROR(file_system_.CreateDirectories(folder));
  }
  absl::Status status = WriteTable(temporary_path_, cancellation);
  if (status.ok()) status = file_system_.RenameFile(temporary_path_, path_);
  if (!status.ok()) {
    (void)file_system_.DeleteLeftover(temporary_path_);
    return status;
  }
  return file_system_.SyncDirectory(folder.empty() ? "." : folder);
}

absl::Status TensorSliceWriter::WriteTable(
    const std::string& path, const Cancellation* cancellation) const {
  ASSIGN_OR_RETURN(auto file, file_system_.NewWritableFile(path));
  TableBuilder builder(*file);
  std::vector<SlicesOfTensor> tensors;
  for (const auto& [name, tensor] : tensors_) tensors.push_back(tensor);
  RETURN_IF_ERROR(builder.Add(kSliceListKey, SerializeSliceList(tensors)));
  for (const auto& [key, slice] : slices_) {
    if (cancellation != nullptr) RETURN_IF_ERROR(cancellation->status());
    RETURN_IF_ERROR(builder.Add(
        key, SerializeSlice(slice.name, slice.slice, slice.values)));
  }
  if (cancellation != nullptr) RETURN_IF_ERROR(cancellation->status());
  RETURN_IF_ERROR(builder.Finish());
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

}  // namespace weft::checkpoint
