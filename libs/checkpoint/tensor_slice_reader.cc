#include "libs/checkpoint/tensor_slice_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "libs/base/saturated.h"
#include "libs/base/status.h"

namespace weft::checkpoint {
namespace {

using Run = SharedRuns::Run;

// The maximum ratio of the size of a table's records to the size of the table,
// which follows from Snappy's maximum compression.
constexpr int64_t kMaxRecordPerByte = 22;

// Returns the minimum number of bytes that an element takes in a record.
// Integers are varints, and a string has a tag and a length.
int64_t MinRecordBytes(DataType dtype) {
  switch (dtype) {
    case DT_COMPLEX128:
      return 16;
    case DT_DOUBLE:
    case DT_COMPLEX64:
      return 8;
    case DT_FLOAT:
      return 4;
    case DT_STRING:
      return 2;
    default:
      return 1;
  }
}

// Copies the intersection, which is the box `from` of `part`, to the box `to`
// of `result`.
template <typename T>
void CopyElements(const Tensor& part, const Box& from, const Box& to,
                  Tensor& result) {
  const absl::Span<const T> in = part.flat<T>();
  const absl::Span<T> out = result.mutable_flat<T>();
  SharedRuns runs(from, to);
  while (const std::optional<Run> run = runs.Next()) {
    std::copy_n(in.begin() + run->from, run->length, out.begin() + run->to);
  }
}

void CopyBytes(const Tensor& part, const Box& from, const Box& to,
               Tensor& result) {
  const size_t element = DataTypeSize(part.dtype());
  const auto* const in = static_cast<const char*>(part.data());
  auto* const out = static_cast<char*>(result.mutable_data());
  SharedRuns runs(from, to);
  while (const std::optional<Run> run = runs.Next()) {
    std::memcpy(out + run->to * element, in + run->from * element,
                run->length * element);
  }
}

void CopyShared(const Tensor& part, const Box& from, const Box& to,
                Tensor& result) {
  if (part.dtype() == DT_STRING) {
    CopyElements<std::string>(part, from, to, result);
  } else {
    CopyBytes(part, from, to, result);
  }
}

Box WholeBox(const TensorShape& shape) {
  return BoxOf(TensorSlice(shape.rank()), shape);
}

absl::Status Incompatible(absl::string_view what, const std::string& name,
                          const std::string& existing, const std::string& more,
                          const std::string& path) {
  return absl::DataLossError(
      absl::StrCat("Incompatible tensor ", what, " detected for tensor ", name,
                   ": existing = ", existing, ", new = ", more, " in ", path));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SliceTablePaths(
    FileSystem& file_system, absl::string_view prefix) {
  ASSIGN_OR_RETURN(std::vector<std::string> paths,
                   file_system.GetMatchingPaths(prefix));
  // A name with glob characters may be a plain file name.
  if (paths.empty() && prefix.find_first_of("*?[\\") != prefix.npos &&
      file_system.FileExists(prefix).ok()) {
    paths.emplace_back(prefix);
  }
  std::erase_if(paths, [&](const std::string& path) {
    return file_system.IsDirectory(path).value_or(false);
  });
  return paths;
}

TensorSliceReader::TensorSliceReader(FileSystem& file_system,
                                     absl::string_view prefix,
                                     std::vector<std::string> paths,
                                     const Cancellation* cancellation,
                                     Allocator& allocator)
    : file_system_(file_system),
      prefix_(prefix),
      cancellation_(cancellation),
      charge_(allocator) {
  for (std::string& path : paths) {
    tables_.emplace_back().path = std::move(path);
  }
}

absl::StatusOr<std::unique_ptr<TensorSliceReader>> TensorSliceReader::Open(
    FileSystem& file_system, absl::string_view prefix,
    std::vector<std::string> paths, const Cancellation* cancellation,
    Allocator& allocator) {
  std::unique_ptr<TensorSliceReader> reader(new TensorSliceReader(
      file_system, prefix, std::move(paths), cancellation, allocator));
  for (size_t file = 0; file < reader->tables_.size(); ++file) {
    RETURN_IF_ERROR(reader->LoadList(file));
  }
  for (auto& [name, tensor] : reader->tensors_) {
    RETURN_IF_ERROR(reader->CheckCancelled());
    Finish(tensor);
  }
  return reader;
}

absl::Status TensorSliceReader::CheckCancelled() const {
  return cancellation_ == nullptr ? absl::OkStatus() : cancellation_->status();
}

absl::StatusOr<Table*> TensorSliceReader::OpenTable(size_t file) {
  TableFile& at = tables_[file];
  if (!open_.empty() && open_.back() != file) {
    tables_[open_.back()].table->DropBlock();
  }
  std::erase(open_, file);
  if (at.table == nullptr) {
    RETURN_IF_ERROR(CheckCancelled());
    if (open_.size() == kMaxOpenFiles) {
      tables_[open_.front()].table = nullptr;
      open_.pop_front();
    }
    ASSIGN_OR_RETURN(at.size, file_system_.GetFileSize(at.path));
    ASSIGN_OR_RETURN(auto opened, file_system_.NewRandomAccessFile(at.path));
    auto table =
        Table::Open(std::move(opened), at.size, at.path, cancellation_);
    if (absl::IsDataLoss(table.status())) {
      return absl::DataLossError(absl::StrCat(
          "Unable to open table file ", at.path, ": ", table.status().message(),
          ": perhaps your file is in a different file format"));
    }
    RETURN_IF_ERROR(table.status());
    at.table = *std::move(table);
  }
  open_.push_back(file);
  return at.table.get();
}

absl::Status TensorSliceReader::LoadList(size_t file) {
  const std::string& path = tables_[file].path;
  ASSIGN_OR_RETURN(Table* const table, OpenTable(file));
  ASSIGN_OR_RETURN(const auto bytes, table->FindView(kSliceListKey));
  absl::StatusOr<std::vector<SlicesOfTensor>> list =
      ParseSliceList(bytes.value_or(""), charge_);
  if (absl::IsDataLoss(list.status())) {
    return absl::DataLossError(absl::StrCat(
        "Failed to find the saved tensor slices at the beginning of the "
        "checkpoint file: ",
        path, ": ", list.status().message()));
  }
  if (!list.ok()) return Annotate(list.status(), path);
  for (SlicesOfTensor& tensor : *list) {
    RETURN_IF_ERROR(Add(file, std::move(tensor)));
  }
  return absl::OkStatus();
}

absl::Status TensorSliceReader::Add(size_t file, SlicesOfTensor tensor) {
  TensorInfo& info = tensor.info;
  if (info.slices.empty()) return absl::OkStatus();
  SavedTensor& all = tensors_[tensor.name];
  if (all.info == nullptr) {
    all.name = tensor.name;
    all.info = std::make_shared<TensorInfo>();
    all.info->dtype = info.dtype;
    all.info->shape = info.shape;
  }
  const std::string& path = tables_[file].path;
  if (all.info->shape != info.shape) {
    return Incompatible("shapes", tensor.name, all.info->shape.ToString(),
                        info.shape.ToString(), path);
  }
  if (all.info->dtype != info.dtype) {
    return Incompatible("types", tensor.name, DataTypeName(all.info->dtype),
                        DataTypeName(info.dtype), path);
  }
  // Reject a list with more elements than the tensor has at once, before it
  // fills the memory.
  for (const TensorSlice& slice : info.slices) {
    const int64_t claimed = MinElements(slice, info.shape);
    all.claimed = SaturatedAdd(all.claimed, claimed);
  }
  if (all.claimed > MinElements(TensorSlice(info.shape.rank()), info.shape)) {
    return Overlapping(tensor.name);
  }
  for (TensorSlice& slice : info.slices) {
    all.slices.push_back(std::move(slice));
    all.files.push_back(file);
  }
  return absl::OkStatus();
}

absl::Status TensorSliceReader::Overlapping(absl::string_view name) const {
  return absl::DataLossError(
      absl::StrCat(prefix_, ": Overlapping slices of ", name));
}

void TensorSliceReader::Finish(SavedTensor& tensor) {
  std::vector<Box> boxes;
  for (const TensorSlice& slice : tensor.slices) {
    boxes.push_back(BoxOf(slice, tensor.info->shape));
  }
  tensor.boxes = BoxesInOrder(std::move(boxes));
}

std::vector<TensorSlice> TensorSliceReader::SlicesOf(
    const SavedTensor& tensor) {
  const bool is_whole = tensor.slices.size() == 1 && tensor.slices[0].IsFull();
  return is_whole ? std::vector<TensorSlice>() : tensor.slices;
}

absl::StatusOr<const TensorSliceReader::SavedTensor*> TensorSliceReader::Find(
    absl::string_view name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return &found->second;
  return absl::NotFoundError(absl::StrCat(
      "Tensor name \"", name, "\" not found in checkpoint files ", prefix_));
}

absl::StatusOr<std::shared_ptr<const TensorInfo>> TensorSliceReader::FindTensor(
    absl::string_view name) {
  ASSIGN_OR_RETURN(const SavedTensor* const tensor, Find(name));
  if (tensor->info->slices.empty()) tensor->info->slices = SlicesOf(*tensor);
  return tensor->info;
}

absl::StatusOr<std::map<std::string, CheckpointReader::Listed>>
TensorSliceReader::ListTensors() {
  std::map<std::string, Listed> list;
  for (const auto& [name, tensor] : tensors_) {
    Listed& listed = list[name];
    static_cast<TensorInfo&>(listed) = *tensor.info;
    listed.slices = SlicesOf(tensor);
    for (size_t i = 0; i < tensor.slices.size(); ++i) {
      ASSIGN_OR_RETURN(const int64_t bytes, StoredBytes(tensor, i));
      listed.bytes = SaturatedAdd(listed.bytes, bytes);
      listed.files.insert(static_cast<int>(tensor.files[i]));
    }
  }
  return list;
}

// Returns the size of a slice, or of its record if elements do not have a fixed
// size.
absl::StatusOr<int64_t> TensorSliceReader::StoredBytes(
    const SavedTensor& tensor, size_t i) {
  const auto size = static_cast<int64_t>(DataTypeSize(tensor.info->dtype));
  if (size > 0) {
    return SaturatedMultiply(tensor.boxes[i].num_elements(), size);
  }
  ASSIGN_OR_RETURN(const absl::string_view record, FindRecord(tensor, i));
  return static_cast<int64_t>(record.size());
}

absl::StatusOr<Tensor> TensorSliceReader::Read(absl::string_view name,
                                               Allocator& allocator) {
  ASSIGN_OR_RETURN(const SavedTensor* const tensor, Find(name));
  const TensorShape& shape = tensor->info->shape;
  return ReadBox(*tensor, WholeBox(shape), shape, allocator);
}

absl::StatusOr<Tensor> TensorSliceReader::ReadSlice(absl::string_view name,
                                                    const TensorSlice& slice,
                                                    Allocator& allocator) {
  ASSIGN_OR_RETURN(const SavedTensor* const tensor, Find(name));
  const TensorShape& all = tensor->info->shape;
  const absl::StatusOr<TensorShape> shape = slice.SliceShape(all);
  if (!shape.ok()) {
    return Append(shape.status(), absl::StrCat("(tensor_name = ", name, ")"));
  }
  return ReadBox(*tensor, BoxOf(slice, all), *shape, allocator);
}

absl::Status TensorSliceReader::Verify(absl::string_view name,
                                       Allocator& allocator) {
  ASSIGN_OR_RETURN(const SavedTensor* const tensor, Find(name));
  RETURN_IF_ERROR(CheckType(*tensor));
  ASSIGN_OR_RETURN(const std::vector<size_t> slices,
                   FindSlices(*tensor, WholeBox(tensor->info->shape)));
  for (const size_t i : slices) {
    RETURN_IF_ERROR(ReadStored(*tensor, i, allocator).status());
  }
  return absl::OkStatus();
}

absl::Status TensorSliceReader::CheckType(const SavedTensor& tensor) const {
  const DataType dtype = tensor.info->dtype;
  if (dtype == DT_STRING || DataTypeSize(dtype) > 0) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("Restoring data type ", DataTypeName(dtype),
                   " not yet supported (tensor_name = ", tensor.name, ")"));
}

absl::StatusOr<Tensor> TensorSliceReader::ReadBox(const SavedTensor& tensor,
                                                  const Box& wanted,
                                                  const TensorShape& shape,
                                                  Allocator& allocator) {
  RETURN_IF_ERROR(CheckType(tensor));
  ASSIGN_OR_RETURN(const std::vector<size_t> slices,
                   FindSlices(tensor, wanted));
  if (slices.size() == 1 && tensor.boxes[slices[0]] == wanted) {
    return ReadStored(tensor, slices[0], allocator);
  }
  ASSIGN_OR_RETURN(Tensor result,
                   Tensor::Allocate(allocator, tensor.info->dtype, shape));
  for (const size_t i : slices) {
    ASSIGN_OR_RETURN(const Tensor part, ReadStored(tensor, i, allocator));
    CopyShared(part, tensor.boxes[i], wanted, result);
  }
  return result;
}

absl::StatusOr<std::vector<size_t>> TensorSliceReader::FindSlices(
    const SavedTensor& tensor, const Box& wanted) {
  std::vector<size_t> slices = tensor.boxes.Sharing(wanted, &boxes_compared_);
  std::vector<Box> boxes;
  int64_t covered = 0;
  for (const size_t i : slices) {
    boxes.push_back(tensor.boxes[i]);
    covered = SaturatedAdd(covered,
                           Intersection(boxes.back(), wanted)->num_elements());
  }
  ASSIGN_OR_RETURN(const bool any_overlap, AnyOverlap(boxes, cancellation_));
  if (any_overlap) return Overlapping(tensor.name);
  if (covered != wanted.num_elements()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Does not have sufficient slices for partitioned tensor ",
                     tensor.name, " to restore: those in ", prefix_, " hold ",
                     covered, " of ", wanted.num_elements(), " elements"));
  }
  RETURN_IF_ERROR(CheckFileSizes(tensor, slices));
  return slices;
}

absl::Status TensorSliceReader::CheckFileSizes(
    const SavedTensor& tensor, const std::vector<size_t>& slices) {
  std::map<size_t, int64_t> elements;
  for (const size_t i : slices) {
    int64_t& of_file = elements[tensor.files[i]];
    of_file = SaturatedAdd(of_file, tensor.boxes[i].num_elements());
  }
  const int64_t least = MinRecordBytes(tensor.info->dtype);
  for (const auto& [file, count] : elements) {
    const TableFile& at = tables_[file];
    const int64_t bytes = SaturatedMultiply(count, least);
    if (static_cast<uint64_t>(bytes / kMaxRecordPerByte) <= at.size) continue;
    return absl::DataLossError(
        absl::StrCat(at.path, ": ", count, " elements of ", tensor.name,
                     " cannot be in a file of ", at.size, " bytes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> TensorSliceReader::FindRecord(
    const SavedTensor& tensor, size_t i) {
  const std::string key = EncodeTensorNameSlice(tensor.name, tensor.slices[i]);
  const size_t file = tensor.files[i];
  ASSIGN_OR_RETURN(Table* const table, OpenTable(file));
  const auto record = table->FindView(key);
  const std::string place =
      absl::StrCat(tables_[file].path, ", ", absl::CHexEscape(key));
  RETURN_IF_ERROR(Annotate(record.status(), place));
  if (record->has_value()) return **record;
  return absl::DataLossError(absl::StrCat(
      place, ": the file lists the slice ", tensor.slices[i].ToString(), " of ",
      tensor.name, ", but does not hold it"));
}

absl::StatusOr<Tensor> TensorSliceReader::ReadStored(const SavedTensor& tensor,
                                                     size_t i,
                                                     Allocator& allocator) {
  RETURN_IF_ERROR(CheckCancelled());
  ASSIGN_OR_RETURN(const absl::string_view record, FindRecord(tensor, i));
  ASSIGN_OR_RETURN(const TensorShape shape,
                   tensor.slices[i].SliceShape(tensor.info->shape));
  auto values = ParseSlice(record, tensor.info->dtype, shape, allocator);
  if (values.ok()) return values;
  return Annotate(values.status(),
                  absl::StrCat(tables_[tensor.files[i]].path, ", ",
                               absl::CHexEscape(EncodeTensorNameSlice(
                                   tensor.name, tensor.slices[i]))));
}

}  // namespace weft::checkpoint
