#include "libs/checkpoint/bundle_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "libs/base/crc32c.h"
#include "libs/base/saturated.h"
#include "libs/base/status.h"
#include "libs/checkpoint/variant_bytes.h"
#include "libs/checkpoint/varint.h"

namespace weft::checkpoint {
namespace {

using Run = SharedRuns::Run;

// The size of the chunks in which an entry is read, unless it is read directly
// into its destination.
constexpr uint64_t kReadAtOnce = uint64_t{8} << 20;

// Converts the bytes of bools to 0 or 1. In a file any nonzero byte means true,
// but a bool in memory must be 0 or 1.
void MakeBools(Tensor& tensor) {
  auto* const bytes = static_cast<uint8_t*>(tensor.mutable_data());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    bytes[i] = bytes[i] != 0 ? 1 : 0;
  }
}

// PieceCopier gets the bytes of an entry in chunks, in order, and copies the
// requested parts of them.
class PieceCopier {
 public:
  // `to` points to memory for the box `wanted`, whose elements have
  // `element_size` bytes.
  PieceCopier(const Box& stored, const Box& wanted, size_t element_size,
              char* to)
      : runs_(stored, wanted),
        run_(runs_.Next()),
        element_size_(element_size),
        to_(to) {}

  // Copies the requested bytes of a chunk. `begin` is the offset of the chunk
  // in the entry.
  void Add(uint64_t begin, absl::string_view piece) {
    const uint64_t end = begin + piece.size();
    for (; run_.has_value(); run_ = runs_.Next()) {
      const uint64_t from = static_cast<uint64_t>(run_->from) * element_size_;
      const uint64_t size = static_cast<uint64_t>(run_->length) * element_size_;
      if (from >= end) return;
      const uint64_t copy_begin = std::max(from, begin);
      const uint64_t copy_end = std::min(from + size, end);
      std::memcpy(to_ + static_cast<uint64_t>(run_->to) * element_size_ +
                      (copy_begin - from),
                  piece.data() + (copy_begin - begin), copy_end - copy_begin);
      if (from + size > end) return;  // the rest is in the next chunk
    }
  }

 private:
  SharedRuns runs_;
  std::optional<Run> run_;
  const uint64_t element_size_;
  char* const to_;
};

// The encoded bytes of an entry of strings. BundleWriter::AppendStrings
// describes the format.
struct Strings {
  absl::string_view lengths;  // validated varints
  absl::string_view characters;
  uint32_t crc = 0;
};

absl::StatusOr<Strings> ParseStrings(absl::string_view bytes, int64_t count) {
  Strings strings;
  strings.lengths = bytes;
  absl::uint128 characters = 0;
  for (int64_t i = 0; i < count; ++i) {
    const std::optional<uint64_t> length = TakeVarint(&bytes);
    if (!length.has_value())
      return absl::DataLossError("invalid string length");
    characters += *length;
    const bool small = *length <= UINT32_MAX;
    strings.crc = ExtendCrc32c(strings.crc,
                               {reinterpret_cast<const char*>(&*length),
                                small ? sizeof(uint32_t) : sizeof(uint64_t)});
  }
  uint32_t masked = 0;
  if (bytes.size() < sizeof(masked)) {
    return absl::DataLossError(
        "the checksum of the string lengths is truncated");
  }
  std::memcpy(&masked, bytes.data(), sizeof(masked));
  if (UnmaskCrc32c(masked) != strings.crc) {
    return absl::DataLossError(
        absl::StrCat("The length checksum does not match: expected ",
                     UnmaskCrc32c(masked), " but actual is ", strings.crc));
  }
  strings.crc = ExtendCrc32c(strings.crc, bytes);
  strings.characters = bytes.substr(sizeof(masked));
  if (characters != strings.characters.size()) {
    return absl::DataLossError(absl::StrCat(
        "strings are ",
        characters > strings.characters.size() ? "longer" : "shorter",
        " than their entry"));
  }
  return strings;
}

// How often a reader retries if a save replaced the index while it was being
// opened.
constexpr int kMaxReplaced = 3;

}  // namespace

BundleReader::BundleReader(FileSystem& file_system, absl::string_view prefix,
                           const Cancellation* cancellation,
                           Allocator& allocator)
    : file_system_(file_system),
      prefix_(prefix),
      cancellation_(cancellation),
      allocator_(allocator) {}

BundleReader::~BundleReader() = default;

absl::StatusOr<std::unique_ptr<BundleReader>> BundleReader::Open(
    FileSystem& file_system, absl::string_view prefix,
    const Cancellation* cancellation, Allocator& allocator) {
  std::unique_ptr<BundleReader> reader(
      new BundleReader(file_system, prefix, cancellation, allocator));
  RETURN_IF_ERROR(reader->OpenIndex());
  RETURN_IF_ERROR(reader->ReadHeader());
  return reader;
}

absl::Status BundleReader::OpenIndex() {
  const std::string path = IndexFilename(prefix_);
  ASSIGN_OR_RETURN(uint64_t size, file_system_.GetFileSize(path));
  for (int tries = 0;; ++tries) {
    ASSIGN_OR_RETURN(auto file, file_system_.NewRandomAccessFile(path));
    auto index = Table::Open(std::move(file), size, path, cancellation_);
    if (index.ok()) {
      index_ = *std::move(index);
      return absl::OkStatus();
    }
    // Another save may have replaced the file after its size was read.
    const uint64_t size_before = size;
    ASSIGN_OR_RETURN(size, file_system_.GetFileSize(path));
    // An object store returns FAILED_PRECONDITION if the file was replaced,
    // even by a file of the same size.
    const bool is_same =
        size == size_before && !absl::IsFailedPrecondition(index.status());
    if (is_same || tries == kMaxReplaced) return index.status();
  }
}

absl::Status BundleReader::ReadHeader() {
  const auto bytes = index_->Find(kHeaderKey);
  absl::Status status = bytes.status();
  if (status.ok() && !bytes->has_value()) {
    status = absl::DataLossError("the index has no header");
  }
  if (status.ok()) {
    auto header = ParseBundleHeader(**bytes);
    status = header.status();
    if (status.ok()) header_ = *std::move(header);
  }
  if (absl::IsDataLoss(status)) {
    return absl::DataLossError(absl::StrCat(
        "Unable to read file (", index_->path(),
        "). Perhaps the file is corrupt or was produced by a newer version of "
        "TensorFlow with format changes (failed to seek to header entry): ",
        status.message()));
  }
  RETURN_IF_ERROR(status);
  return Annotate(CheckReadable(header_), prefix_);
}

absl::StatusOr<BundleEntry> BundleReader::Parse(absl::string_view key) {
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, index_->Find(key));
  if (!bytes.has_value() || key == kHeaderKey) {
    return absl::NotFoundError(absl::StrCat(
        "Key ", absl::CHexEscape(key), " not found in checkpoint ", prefix_));
  }
  absl::StatusOr<BundleEntry> entry = ParseBundleEntry(key, *bytes, allocator_);
  if (!entry.ok()) return Annotate(entry.status(), index_->path());
  slices_parsed_ += static_cast<int64_t>(entry->slices.size());
  return entry;
}

absl::StatusOr<std::shared_ptr<const BundleEntry>> BundleReader::Find(
    absl::string_view key) {
  ASSIGN_OR_RETURN(const auto whole, FindWhole(key));
  return whole->entry;
}

absl::StatusOr<std::shared_ptr<const TensorInfo>> BundleReader::FindTensor(
    absl::string_view name) {
  ASSIGN_OR_RETURN(const auto whole, FindWhole(name));
  return whole->entry;
}

absl::StatusOr<std::map<std::string, CheckpointReader::Listed>>
BundleReader::ListTensors() {
  std::map<std::string, Listed> tensors;
  // The entries of slices come before the entries of their tensors, which state
  // the shape of the whole tensor.
  RETURN_IF_ERROR(ForEach(
      [&](absl::string_view key, const BundleEntry& entry) -> absl::Status {
        const bool is_slice = !key.empty() && key.front() == '\0';
        std::string name(key);
        if (is_slice) {
          ASSIGN_OR_RETURN(auto slice, DecodeTensorNameSlice(key));
          name = std::move(slice.name);
        }
        Listed& listed = tensors[name];
        if (entry.slices.empty()) {
          listed.bytes = SaturatedAdd(listed.bytes, entry.size);
          listed.files.insert(entry.shard);
        }
        if (!is_slice) static_cast<TensorInfo&>(listed) = entry;
        return absl::OkStatus();
      }));
  return tensors;
}

absl::StatusOr<std::shared_ptr<const BundleReader::Whole>>
BundleReader::FindWhole(absl::string_view name) {
  if (last_ != nullptr && last_->name == name) return last_;
  ASSIGN_OR_RETURN(BundleEntry entry, Parse(name));
  std::vector<Box> boxes;
  for (const TensorSlice& slice : entry.slices) {
    boxes.push_back(BoxOf(slice, entry.shape));
  }
  last_ = std::make_shared<const Whole>(Whole{
      std::string(name), std::make_shared<const BundleEntry>(std::move(entry)),
      BoxesInOrder(std::move(boxes))});
  return last_;
}

absl::Status BundleReader::ForEach(
    absl::FunctionRef<absl::Status(absl::string_view key,
                                   const BundleEntry& entry)>
        visit) {
  return index_->ForEach(
      [&](absl::string_view key, absl::string_view value) -> absl::Status {
        if (key == kHeaderKey) return absl::OkStatus();
        const auto entry = ParseBundleEntry(key, value, allocator_);
        if (!entry.ok()) return Annotate(entry.status(), index_->path());
        return visit(key, *entry);
      });
}

absl::StatusOr<Tensor> BundleReader::Read(absl::string_view name,
                                          Allocator& allocator) {
  ASSIGN_OR_RETURN(const auto whole, FindWhole(name));
  const TensorShape& shape = whole->entry->shape;
  return ReadBox(*whole, BoxOf(TensorSlice(shape.rank()), shape), shape,
                 allocator);
}

absl::StatusOr<Tensor> BundleReader::ReadSlice(absl::string_view name,
                                               const TensorSlice& slice,
                                               Allocator& allocator) {
  ASSIGN_OR_RETURN(const auto whole, FindWhole(name));
  const TensorShape& all = whole->entry->shape;
  const absl::StatusOr<TensorShape> shape = slice.SliceShape(all);
  if (!shape.ok()) {
    return Append(shape.status(), absl::StrCat("(tensor_name = ", name, ")"));
  }
  return ReadBox(*whole, BoxOf(slice, all), *shape, allocator);
}

absl::Status BundleReader::Verify(absl::string_view name,
                                  Allocator& allocator) {
  ASSIGN_OR_RETURN(const auto whole, FindWhole(name));
  const TensorShape& shape = whole->entry->shape;
  const Box all = BoxOf(TensorSlice(shape.rank()), shape);
  RETURN_IF_ERROR(CheckType(*whole, all));
  ASSIGN_OR_RETURN(const std::vector<Stored> stored, FindStored(*whole, all));
  for (const Stored& part : stored) RETURN_IF_ERROR(FileOf(part).status());
  for (const Stored& part : stored) {
    RETURN_IF_ERROR(VerifyStored(part, allocator));
  }
  return absl::OkStatus();
}

absl::Status BundleReader::CheckType(const Whole& whole,
                                     const Box& wanted) const {
  const DataType dtype = whole.entry->dtype;
  // Variants are stored only as whole tensors.
  const bool has_slices =
      !whole.entry->slices.empty() ||
      wanted.num_elements() != whole.entry->shape.num_elements();
  if (dtype != DT_STRING && DataTypeSize(dtype) == 0 &&
      (dtype != DT_VARIANT || has_slices)) {
    return absl::UnimplementedError(
        absl::StrCat("Restoring data type ", DataTypeName(dtype),
                     " not yet supported (tensor_name = ", whole.name, ")"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> BundleReader::ReadBox(const Whole& whole,
                                             const Box& wanted,
                                             const TensorShape& shape,
                                             Allocator& allocator) {
  RETURN_IF_ERROR(CheckType(whole, wanted));
  const DataType dtype = whole.entry->dtype;
  ASSIGN_OR_RETURN(const std::vector<Stored> stored, FindStored(whole, wanted));
  // Check the sizes of all files before memory is reserved.
  for (const Stored& part : stored) RETURN_IF_ERROR(FileOf(part).status());
  ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(allocator, dtype, shape));
  for (const Stored& part : stored) {
    RETURN_IF_ERROR(CopyStored(part, wanted, allocator, result));
  }
  if (dtype == DT_BOOL) MakeBools(result);
  return result;
}

absl::StatusOr<std::vector<BundleReader::Stored>> BundleReader::FindStored(
    const Whole& whole, const Box& wanted) {
  const std::string& name = whole.name;
  const BundleEntry& entry = *whole.entry;
  if (entry.slices.empty()) {
    const TensorSlice all(entry.shape.rank());
    return std::vector<Stored>{{name, entry, BoxOf(all, entry.shape)}};
  }
  std::vector<Stored> stored;
  std::vector<Box> boxes;
  for (const size_t i : whole.boxes.Sharing(wanted, &boxes_compared_)) {
    if (cancellation_ != nullptr) RETURN_IF_ERROR(cancellation_->status());
    const TensorSlice& slice = entry.slices[i];
    boxes.push_back(whole.boxes[i]);
    std::string key = EncodeTensorNameSlice(name, slice);
    ASSIGN_OR_RETURN(BundleEntry part, Parse(key));
    const auto shape = slice.SliceShape(entry.shape);
    if (part.dtype != entry.dtype || !shape.ok() || !(part.shape == *shape) ||
        !part.slices.empty()) {
      return absl::DataLossError(
          absl::StrCat(index_->path(), ": the slice ", slice.ToString(), " of ",
                       name, " has another type or shape than the whole"));
    }
    stored.push_back({std::move(key), std::move(part), boxes.back()});
  }
  ASSIGN_OR_RETURN(const bool any_overlap, AnyOverlap(boxes, cancellation_));
  if (any_overlap) {
    return absl::DataLossError(
        absl::StrCat(index_->path(), ": Overlapping slices of ", name));
  }
  int64_t covered = 0;
  for (const Box& box : boxes) {
    covered += Intersection(box, wanted)->num_elements();
  }
  if (covered != wanted.num_elements()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Does not have sufficient slices for partitioned tensor ",
                     name, " to restore: those in ", prefix_, " hold ", covered,
                     " of ", wanted.num_elements(), " elements"));
  }
  RETURN_IF_ERROR(CheckPlaces(name, stored));
  return stored;
}

absl::Status BundleReader::CheckPlaces(
    absl::string_view name, const std::vector<Stored>& stored) const {
  std::vector<const BundleEntry*> places;
  for (const Stored& part : stored) {
    if (part.entry.size > 0) places.push_back(&part.entry);
  }
  std::sort(places.begin(), places.end(), [](const auto* a, const auto* b) {
    return std::tie(a->shard, a->offset) < std::tie(b->shard, b->offset);
  });
  for (size_t i = 1; i < places.size(); ++i) {
    const BundleEntry& before = *places[i - 1];
    if (before.shard != places[i]->shard ||
        before.offset + before.size <= places[i]->offset) {
      continue;
    }
    return absl::DataLossError(
        absl::StrCat(index_->path(), ": two slices of ", name,
                     " lie in the same bytes of data file ", before.shard,
                     ", from byte ", places[i]->offset));
  }
  return absl::OkStatus();
}

absl::Status BundleReader::ReadAll(const RandomAccessFile& file,
                                   uint64_t offset, uint64_t size,
                                   char* to) const {
  for (uint64_t begin = 0; begin < size; begin += kReadAtOnce) {
    if (cancellation_ != nullptr) RETURN_IF_ERROR(cancellation_->status());
    const uint64_t length = std::min(kReadAtOnce, size - begin);
    ASSIGN_OR_RETURN(const size_t read,
                     file.Read(offset + begin, length, to + begin));
    if (read < length) {
      return absl::OutOfRangeError("Read less bytes than requested");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<BundleReader::DataFile*> BundleReader::FileOf(
    const Stored& stored) {
  const BundleEntry& entry = stored.entry;
  const auto damaged = [&](absl::string_view what) {
    return absl::DataLossError(absl::StrCat(
        index_->path(), ": Invalid size in bundle entry: key ",
        absl::CHexEscape(stored.key), "; stored size ", entry.size, what));
  };
  const auto elements = static_cast<uint64_t>(entry.shape.num_elements());
  const auto size = static_cast<uint64_t>(entry.size);
  const uint64_t element_size = DataTypeSize(entry.dtype);
  if (entry.dtype == DT_VARIANT) {
    if (size / kMinVariantBytes < elements) {
      return damaged(absl::StrCat("; expected size is at least ", elements,
                                  " x ", kMinVariantBytes));
    }
  } else if (element_size == 0) {
    // Each length takes at least one byte, so this is a lower limit of the
    // size.
    if (size < sizeof(uint32_t) || size - sizeof(uint32_t) < elements) {
      return damaged(absl::StrCat("; expected size is at least ", elements,
                                  " + ", sizeof(uint32_t)));
    }
  } else if (size % element_size != 0 || size / element_size != elements) {
    return damaged(
        absl::StrCat("; expected size ", elements, " x ", element_size));
  }
  const std::string path =
      DataFilename(prefix_, entry.shard, header_.num_shards);
  auto it = data_.find(entry.shard);
  if (it == data_.end()) {
    DataFile found;
    ASSIGN_OR_RETURN(found.size, file_system_.GetFileSize(path));
    it = data_.emplace(entry.shard, std::move(found)).first;
  }
  const auto offset = static_cast<uint64_t>(entry.offset);
  if (offset > it->second.size || size > it->second.size - offset) {
    return absl::OutOfRangeError(absl::StrCat(
        "Read less bytes than requested: ", path, " has ", it->second.size,
        " bytes, and ", absl::CHexEscape(stored.key), " should end at byte ",
        offset + size));
  }
  return &it->second;
}

absl::Status BundleReader::OpenFile(int shard, DataFile& file) {
  if (file.file != nullptr) {
    std::erase(open_, shard);
    open_.push_back(shard);
    return absl::OkStatus();
  }
  if (open_.size() == kMaxOpenFiles) {
    data_.at(open_.front()).file = nullptr;
    open_.pop_front();
  }
  ASSIGN_OR_RETURN(file.file, file_system_.NewRandomAccessFile(DataFilename(
                                  prefix_, shard, header_.num_shards)));
  open_.push_back(shard);
  return absl::OkStatus();
}

absl::Status BundleReader::CopyStored(const Stored& stored, const Box& wanted,
                                      Allocator& allocator, Tensor& to) {
  ASSIGN_OR_RETURN(DataFile* const file, FileOf(stored));
  RETURN_IF_ERROR(OpenFile(stored.entry.shard, *file));
  const absl::Status status =
      to.dtype() == DT_STRING
          ? CopyStrings(*file, stored, wanted, allocator, to)
      : to.dtype() == DT_VARIANT ? CopyVariants(*file, stored, allocator, to)
                                 : CopyNumbers(*file, stored, wanted, to);
  return WithPlace(status, stored);
}

absl::Status BundleReader::WithPlace(const absl::Status& status,
                                     const Stored& stored) const {
  return Annotate(status, absl::StrCat(DataFilename(prefix_, stored.entry.shard,
                                                    header_.num_shards),
                                       ", ", absl::CHexEscape(stored.key),
                                       ", from byte ", stored.entry.offset));
}

absl::Status BundleReader::VerifyStored(const Stored& stored,
                                        Allocator& allocator) {
  const BundleEntry& entry = stored.entry;
  if (entry.dtype == DT_STRING || entry.dtype == DT_VARIANT) {
    ASSIGN_OR_RETURN(Tensor tensor,
                     Tensor::Allocate(allocator, entry.dtype, entry.shape));
    return CopyStored(stored, stored.box, allocator, tensor);
  }
  ASSIGN_OR_RETURN(DataFile* const file, FileOf(stored));
  RETURN_IF_ERROR(OpenFile(entry.shard, *file));
  const auto pass = [](uint64_t, absl::string_view) {};
  return WithPlace(ReadPieces(*file, stored, pass), stored);
}

absl::Status BundleReader::CopyNumbers(const DataFile& file,
                                       const Stored& stored, const Box& wanted,
                                       Tensor& to) {
  const auto offset = static_cast<uint64_t>(stored.entry.offset);
  const auto size = static_cast<uint64_t>(stored.entry.size);
  char* const bytes = static_cast<char*>(to.mutable_data());
  if (stored.box == wanted) {
    uint32_t crc = 0;
    for (uint64_t begin = 0; begin < size; begin += kReadAtOnce) {
      const uint64_t length = std::min(kReadAtOnce, size - begin);
      RETURN_IF_ERROR(
          ReadAll(*file.file, offset + begin, length, bytes + begin));
      crc = ExtendCrc32c(crc, {bytes + begin, length});
    }
    return CheckSum(stored, crc);
  }
  PieceCopier copier(stored.box, wanted, DataTypeSize(to.dtype()), bytes);
  return ReadPieces(file, stored, [&](uint64_t begin, absl::string_view piece) {
    copier.Add(begin, piece);
  });
}

absl::Status BundleReader::ReadPieces(
    const DataFile& file, const Stored& stored,
    absl::FunctionRef<void(uint64_t begin, absl::string_view piece)> take)
    const {
  const auto offset = static_cast<uint64_t>(stored.entry.offset);
  const auto size = static_cast<uint64_t>(stored.entry.size);
  std::string buffer(std::min(kReadAtOnce, size), '\0');
  uint32_t crc = 0;
  for (uint64_t begin = 0; begin < size; begin += kReadAtOnce) {
    const uint64_t length = std::min(kReadAtOnce, size - begin);
    RETURN_IF_ERROR(ReadAll(*file.file, offset + begin, length, buffer.data()));
    const absl::string_view piece(buffer.data(), length);
    crc = ExtendCrc32c(crc, piece);
    take(begin, piece);
  }
  return CheckSum(stored, crc);
}

absl::StatusOr<BufferPtr> BundleReader::ReadWhole(const DataFile& file,
                                                  const Stored& stored,
                                                  Allocator& allocator) {
  const auto size = static_cast<size_t>(stored.entry.size);
  BufferPtr buffer = allocator.Allocate(size);
  if (!buffer) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", size, " bytes of ",
                     DataTypeName(stored.entry.dtype), "s"));
  }
  RETURN_IF_ERROR(ReadAll(*file.file, stored.entry.offset, size,
                          static_cast<char*>(buffer->data())));
  return buffer;
}

absl::Status BundleReader::CopyVariants(const DataFile& file,
                                        const Stored& stored,
                                        Allocator& allocator, Tensor& to) {
  ASSIGN_OR_RETURN(const BufferPtr buffer, ReadWhole(file, stored, allocator));
  ASSIGN_OR_RETURN(const uint32_t crc,
                   DecodeVariants({static_cast<const char*>(buffer->data()),
                                   static_cast<size_t>(stored.entry.size)},
                                  allocator, to.mutable_flat<Variant>()));
  return CheckSum(stored, crc);
}

absl::Status BundleReader::CopyStrings(const DataFile& file,
                                       const Stored& stored, const Box& wanted,
                                       Allocator& allocator, Tensor& to) {
  ASSIGN_OR_RETURN(const BufferPtr buffer, ReadWhole(file, stored, allocator));
  ASSIGN_OR_RETURN(Strings strings,
                   ParseStrings({static_cast<const char*>(buffer->data()),
                                 static_cast<size_t>(stored.entry.size)},
                                stored.entry.shape.num_elements()));
  RETURN_IF_ERROR(CheckSum(stored, strings.crc));
  const absl::Span<std::string> values = to.mutable_flat<std::string>();
  SharedRuns runs(stored.box, wanted);
  int64_t position = 0;
  while (const std::optional<Run> run = runs.Next()) {
    for (; position < run->from + run->length; ++position) {
      const uint64_t length = *TakeVarint(&strings.lengths);
      if (position >= run->from) {
        values[run->to + position - run->from] =
            std::string(strings.characters.substr(0, length));
      }
      strings.characters.remove_prefix(length);
    }
  }
  return absl::OkStatus();
}

absl::Status BundleReader::CheckSum(const Stored& stored, uint32_t crc) const {
  const uint32_t expected = UnmaskCrc32c(stored.entry.masked_crc32c);
  if (crc == expected) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("TensorBundle at ", prefix_, " shard ", stored.entry.shard,
                   " (", stored.entry.size, " bytes from byte ",
                   stored.entry.offset, "): Checksum does not match: stored ",
                   expected, " vs. calculated on the restored bytes ", crc));
}

}  // namespace weft::checkpoint
