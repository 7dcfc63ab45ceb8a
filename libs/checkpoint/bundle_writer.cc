#include "libs/checkpoint/bundle_writer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "libs/base/crc32c.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/table.h"
#include "libs/checkpoint/variant_bytes.h"
#include "libs/checkpoint/varint.h"
#include "libs/fs/path.h"
#include "libs/tensor/tensor_proto.h"

namespace weft::checkpoint {
namespace {

// The size of the chunks in which bytes are checksummed and written. A chunk
// stays in the CPU cache between these two operations.
constexpr size_t kWrittenAtOnce = size_t{1} << 20;

// Returns TensorFlow's name for a file that is being written. Leftovers of
// TensorFlow have the same pattern.
std::string TemporaryName(const std::string& path, uint64_t number) {
  return absl::StrCat(path, ".tempstate", number);
}

// Returns whether the error comes from a hung disk or an unreachable service.
bool IsSilence(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status);
}

absl::string_view BytesOf(const uint32_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

// Extends a checksum by a length. The checksum uses four bytes for a length, or
// eight if four are too few, even though the file stores a varint.
uint32_t ExtendByLength(uint32_t crc, uint64_t length) {
  const bool small = length <= UINT32_MAX;
  return ExtendCrc32c(crc, {reinterpret_cast<const char*>(&length),
                            small ? sizeof(uint32_t) : sizeof(uint64_t)});
}

// Creates the directory and syncs its parent. The sync is needed even if the
// directory exists, because another task may just have created it without
// syncing it. If this task has no permission to read the parent, the directory
// was not just created by another task (CreateDirectories syncs it).
absl::Status MakeFolder(FileSystem& file_system, absl::string_view folder) {
  RETURN_IF_ERROR(file_system.CreateDirectories(folder));
  const std::string clean = CleanPath(folder);
  const absl::string_view parent = Dirname(clean);
  if (parent.empty() && !SchemeAndHost(clean).empty()) return absl::OkStatus();
  const absl::Status synced =
      file_system.SyncDirectory(parent.empty() ? "." : parent);
  return absl::IsPermissionDenied(synced) ? absl::OkStatus() : synced;
}

// Returns whether the file system is remote. There, operations may complete
// long after their caller got an error.
bool IsElsewhere(absl::string_view prefix) {
  return !SchemeAndHost(prefix).empty();
}

// The number has at most five digits, as in the patterns by which TensorFlow
// deletes files.
constexpr int kMaxDataFileCount = 99'999;

// Returns the count to use in the names of `num_files` data files of `prefix`.
// The result differs from `taken`.
int CountFor(absl::string_view prefix, int num_files, uint64_t number,
             int taken) {
  int count = num_files;
  if (IsElsewhere(prefix) && num_files + 1 < kMaxDataFileCount) {
    const int more = kMaxDataFileCount - 1 - num_files;
    count += 1 + static_cast<int>(number % static_cast<uint64_t>(more));
  }
  return count == taken ? count + 1 : count;
}

}  // namespace

absl::Status WriteIndex(FileSystem& file_system, const std::string& path,
                        const BundleHeader& header,
                        const BundleEntries& entries) {
  ASSIGN_OR_RETURN(auto file, file_system.NewWritableFile(path));
  TableBuilder builder(*file);
  RETURN_IF_ERROR(builder.Add(kHeaderKey, SerializeBundleHeader(header)));
  for (const auto& [key, entry] : entries) {
    RETURN_IF_ERROR(builder.Add(key, SerializeBundleEntry(entry)));
  }
  RETURN_IF_ERROR(builder.Finish());
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

BundleWriter::BundleWriter(FileSystem& file_system, absl::string_view prefix,
                           uint64_t number)
    : file_system_(file_system),
      prefix_(prefix),
      number_(number),
      temporary_data_(TemporaryName(DataFilename(prefix, 0, 1), number)),
      temporary_index_(TemporaryName(IndexFilename(prefix), number)) {}

absl::Status CheckPrefix(absl::string_view prefix) {
  if (!Basename(prefix).empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the prefix of a checkpoint has to end with a name, but it is '", prefix,
      "'"));
}

absl::StatusOr<DataFileCount> ChooseDataFileCount(FileSystem& file_system,
                                                  absl::string_view prefix,
                                                  int num_files,
                                                  uint64_t number) {
  const auto old = BundleReader::Open(file_system, prefix);
  const int taken = old.ok() ? (*old)->header().num_shards : 0;
  const int count = CountFor(prefix, num_files, number, taken);
  if (old.ok()) return DataFileCount{count, true, taken};
  // An old checkpoint that cannot be read may be overwritten.
  switch (old.status().code()) {
    case absl::StatusCode::kNotFound:
      return DataFileCount{count, false};
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kOutOfRange:
      return DataFileCount{count, true};
    default:
      return old.status();
  }
}

void DeleteReplacedData(FileSystem& file_system, absl::string_view prefix,
                        const DataFileCount& files) {
  if (!files.replaces) return;
  const absl::string_view folder = Dirname(prefix);
  const auto names = file_system.ListDirectory(folder.empty() ? "." : folder);
  if (!names.ok()) return;
  const auto ending_of = [](int count) {
    return absl::StrFormat("-of-%05d", count);
  };
  const std::string own = ending_of(files.count);
  // On a remote file system, other data may belong to an interrupted save that
  // may still complete. So only the data of the replaced checkpoint is deleted
  // there.
  const std::string replaced = IsElsewhere(prefix) && files.replaced > 0
                                   ? ending_of(files.replaced)
                                   : "";
  for (const std::string& name : *names) {
    absl::string_view ending = name;
    if (!absl::ConsumePrefix(&ending, Basename(prefix))) continue;
    ConsumeTemporaryEnding(&ending);
    if (!IsDataEnding(ending) || absl::EndsWith(name, own) ||
        !absl::EndsWith(name, replaced)) {
      continue;
    }
    (void)file_system.DeleteFile(JoinPath(folder, name));
  }
}

absl::StatusOr<std::unique_ptr<BundleWriter>> BundleWriter::Create(
    FileSystem& file_system, absl::string_view prefix, Random& random) {
  RETURN_IF_ERROR(CheckPrefix(prefix));
  std::unique_ptr<BundleWriter> writer(
      new BundleWriter(file_system, prefix, random.Next()));
  if (const absl::string_view folder = Dirname(prefix); !folder.empty()) {
    RETURN_IF_ERROR(MakeFolder(file_system, folder));
  }
  ASSIGN_OR_RETURN(writer->data_,
                   file_system.NewWritableFile(writer->temporary_data_));
  return writer;
}

BundleWriter::~BundleWriter() {
  if (finished_) return;
  if (data_ != nullptr) data_->Abandon();
  data_.reset();
  // Errors of the deletion are ignored. The next save deletes remaining files.
  // An unreachable file system is not called a second time.
  const absl::Status deleted = file_system_.DeleteLeftover(temporary_data_);
  if (!has_index_ || IsSilence(deleted)) return;
  (void)file_system_.DeleteLeftover(temporary_index_);
}

absl::Status BundleWriter::Add(absl::string_view name, const Tensor& tensor) {
  const auto append = [&] { return AppendTensor(tensor); };
  return AddEntry(name, {tensor.dtype(), tensor.shape(), append});
}

absl::Status BundleWriter::Add(absl::string_view name,
                               const PiecewiseTensor& tensor) {
  const auto append = [&] { return AppendPieces(tensor); };
  return AddEntry(name, {tensor.dtype, tensor.shape, append});
}

absl::Status BundleWriter::AddSlice(absl::string_view name,
                                    const TensorShape& shape,
                                    const TensorSlice& slice,
                                    const Tensor& tensor) {
  const auto append = [&] { return AppendTensor(tensor); };
  return AddSourceSlice(name, shape, slice,
                        {tensor.dtype(), tensor.shape(), append});
}

absl::Status BundleWriter::AddSlice(absl::string_view name,
                                    const TensorShape& shape,
                                    const TensorSlice& slice,
                                    const PiecewiseTensor& tensor) {
  const auto append = [&] { return AppendPieces(tensor); };
  return AddSourceSlice(name, shape, slice,
                        {tensor.dtype, tensor.shape, append});
}

absl::Status BundleWriter::AddSourceSlice(absl::string_view name,
                                          const TensorShape& shape,
                                          const TensorSlice& slice,
                                          const Source& source) {
  RETURN_IF_ERROR(status_);
  if (name == kHeaderKey) {
    return absl::InvalidArgumentError("a tensor to save has an empty name");
  }
  ASSIGN_OR_RETURN(const TensorShape slice_shape, slice.SliceShape(shape));
  if (!(slice_shape == source.shape)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Slice in shape_and_slice specification does not match the shape of "
        "the tensor to  save: ",
        slice.ToString(), ", tensor: ", source.shape.ToString(),
        " (tensor_name = ", name, ")"));
  }
  if (slice_shape == shape) return AddEntry(name, source);
  if (source.dtype == DT_VARIANT) {
    return absl::UnimplementedError(absl::StrCat(
        "Saving slices of variants is not supported (tensor_name = ", name,
        ")"));
  }

  const auto whole = entries_.find(std::string(name));
  if (whole != entries_.end() &&
      (whole->second.slices.empty() || whole->second.dtype != source.dtype ||
       !(whole->second.shape == shape))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Adding a slice of ", name, " as ", DataTypeName(source.dtype),
        shape.ToString(), ", which was added as ",
        DataTypeName(whole->second.dtype), whole->second.shape.ToString(),
        whole->second.slices.empty() ? " and whole" : ""));
  }
  RETURN_IF_ERROR(AddEntry(EncodeTensorNameSlice(name, slice), source));
  BundleEntry& entry = entries_[std::string(name)];
  entry.dtype = source.dtype;
  entry.shape = shape;
  entry.slices.push_back(slice);
  return absl::OkStatus();
}

absl::Status BundleWriter::AddEntry(absl::string_view key,
                                    const Source& source) {
  RETURN_IF_ERROR(status_);
  if (key == kHeaderKey) {
    return absl::InvalidArgumentError("a tensor to save has an empty name");
  }
  if (key.size() > kMaxKeySize) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the name of a tensor to save, which begins with ",
        absl::CHexEscape(key.substr(0, 80)), ", takes ", key.size(),
        " bytes in the index; ", kMaxKeySize, " are allowed"));
  }
  if (entries_.contains(std::string(key))) {
    return absl::InvalidArgumentError(
        absl::StrCat("Adding duplicate key: ", key));
  }
  if (source.dtype != DT_STRING && source.dtype != DT_VARIANT &&
      DataTypeSize(source.dtype) == 0) {
    return absl::UnimplementedError(
        absl::StrCat("Saving data type ", DataTypeName(source.dtype),
                     " not yet supported (tensor_name = ", key, ")"));
  }
  BundleEntry entry;
  entry.dtype = source.dtype;
  entry.shape = source.shape;
  entry.offset = data_size_;
  const absl::StatusOr<uint32_t> crc = source.append();
  if (!crc.ok()) return status_ = crc.status();
  entry.size = data_size_ - entry.offset;
  entry.masked_crc32c = MaskCrc32c(*crc);
  entries_.emplace(key, std::move(entry));
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> BundleWriter::AppendPieces(
    const PiecewiseTensor& tensor) {
  const auto size = static_cast<int64_t>(DataTypeSize(tensor.dtype));
  if (size == 0) {
    return absl::InternalError(absl::StrCat("a tensor of ",
                                            DataTypeName(tensor.dtype),
                                            " cannot be added in pieces"));
  }
  const int64_t begin = data_size_;
  uint32_t crc = 0;
  RETURN_IF_ERROR(tensor.read([&](absl::string_view piece) -> absl::Status {
    ASSIGN_OR_RETURN(crc, AppendBytes(crc, piece));
    return absl::OkStatus();
  }));
  const int64_t written = data_size_ - begin;
  if (written % size == 0 && written / size == tensor.shape.num_elements()) {
    return crc;
  }
  return absl::InternalError(absl::StrCat(
      "a tensor of ", tensor.shape.num_elements(), " ",
      DataTypeName(tensor.dtype), " was added with ", written, " bytes"));
}

absl::StatusOr<uint32_t> BundleWriter::AppendTensor(const Tensor& tensor) {
  if (tensor.dtype() == DT_STRING) return AppendStrings(tensor);
  if (tensor.dtype() == DT_VARIANT) return AppendVariants(tensor);
  return AppendBytes(
      0, {static_cast<const char*>(tensor.data()), tensor.num_bytes()});
}

// Appends the lengths as varints, their checksum, and then the strings. Returns
// the checksum of the entry, which covers the lengths as fixed-size numbers and
// everything that follows.
absl::StatusOr<uint32_t> BundleWriter::AppendStrings(const Tensor& tensor) {
  std::string lengths;
  uint32_t crc = 0;
  for (const std::string& value : tensor.flat<std::string>()) {
    AppendVarint(value.size(), &lengths);
    crc = ExtendByLength(crc, value.size());
  }
  RETURN_IF_ERROR(AppendBytes(0, lengths).status());
  const uint32_t masked = MaskCrc32c(crc);
  ASSIGN_OR_RETURN(crc, AppendBytes(crc, BytesOf(masked)));
  for (const std::string& value : tensor.flat<std::string>()) {
    ASSIGN_OR_RETURN(crc, AppendBytes(crc, value));
  }
  return crc;
}

absl::StatusOr<uint32_t> BundleWriter::AppendVariants(const Tensor& tensor) {
  uint32_t crc = 0;
  int64_t left = kMaxRepeatedTensorBytes;
  for (const Variant& variant : tensor.flat<Variant>()) {
    ASSIGN_OR_RETURN(const auto pieces, EncodeVariant(variant, &crc, left));
    for (const std::string& piece : pieces) {
      RETURN_IF_ERROR(AppendBytes(0, piece).status());
    }
  }
  return crc;
}

absl::StatusOr<uint32_t> BundleWriter::AppendBytes(uint32_t crc,
                                                   absl::string_view bytes) {
  data_size_ += static_cast<int64_t>(bytes.size());
  while (!bytes.empty()) {
    const absl::string_view piece = bytes.substr(0, kWrittenAtOnce);
    crc = ExtendCrc32c(crc, piece);
    RETURN_IF_ERROR(data_->Append(piece));
    bytes.remove_prefix(piece.size());
  }
  return crc;
}

absl::Status BundleWriter::Finish(const Cancellation* cancellation) {
  RETURN_IF_ERROR(status_);
  status_ = Commit(cancellation);
  if (!status_.ok()) return status_;
  finished_ = true;
  status_ = absl::FailedPreconditionError(
      absl::StrCat("the checkpoint ", prefix_, " is finished"));
  return absl::OkStatus();
}

absl::Status UnavailableIfGone(const absl::Status& status) {
  if (!absl::IsNotFound(status)) return status;
  return absl::UnavailableError(
      absl::StrCat("the files written just before are gone, as after a power "
                   "failure; save again. ",
                   status.message()));
}

absl::Status BundleWriter::Commit(const Cancellation* cancellation) {
  RETURN_IF_ERROR(data_->Sync());
  RETURN_IF_ERROR(data_->Close());
  ASSIGN_OR_RETURN(
      const DataFileCount files,
      ChooseDataFileCount(file_system_, prefix_, /*num_files=*/1, number_));
  has_index_ = true;
  RETURN_IF_ERROR(UnavailableIfGone(WriteIndex(
      file_system_, temporary_index_, {.num_shards = files.count}, entries_)));
  if (cancellation != nullptr) RETURN_IF_ERROR(cancellation->status());
  RETURN_IF_ERROR(UnavailableIfGone(Rename(files)));
  DeleteReplacedData(file_system_, prefix_, files);
  return absl::OkStatus();
}

absl::Status BundleWriter::Rename(const DataFileCount& files) {
  const absl::string_view parent = Dirname(prefix_);
  const absl::string_view folder = parent.empty() ? "." : parent;
  RETURN_IF_ERROR(file_system_.RenameFile(
      temporary_data_, DataFilename(prefix_, 0, files.count)));
  // The name of the data file must be durable before the index gets its name.
  RETURN_IF_ERROR(file_system_.SyncDirectory(folder));
  RETURN_IF_ERROR(
      file_system_.RenameFile(temporary_index_, IndexFilename(prefix_)));
  return file_system_.SyncDirectory(folder);
}

}  // namespace weft::checkpoint
