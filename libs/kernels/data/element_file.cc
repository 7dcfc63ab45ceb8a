#include "libs/kernels/data/element_file.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor_proto.h"

namespace weft {
namespace {

absl::Status Damaged(const std::string& path, uint64_t offset,
                     absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat(path, ": the element at ", offset, " of this cache ", what));
}

bool TakeComponent(absl::string_view& rest, absl::string_view* bytes) {
  uint64_t size = 0;
  if (rest.size() < sizeof(size)) return false;
  std::memcpy(&size, rest.data(), sizeof(size));
  rest.remove_prefix(sizeof(size));
  if (rest.size() < size) return false;
  *bytes = rest.substr(0, static_cast<size_t>(size));
  rest.remove_prefix(static_cast<size_t>(size));
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ElementFileWriter>> ElementFileWriter::Create(
    FileSystem& files, const std::string& path, const std::string& suffix) {
  std::unique_ptr<ElementFileWriter> writer(
      new ElementFileWriter(files, path, absl::StrCat(path, suffix)));
  RETURN_IF_ERROR(writer->Open());
  return writer;
}

ElementFileWriter::~ElementFileWriter() { Abandon(); }

absl::Status ElementFileWriter::Open() {
  ASSIGN_OR_RETURN(auto file, files_.NewWritableFile(temporary_));
  file_ = file.get();
  writer_ = std::make_unique<summary::RecordWriter>(std::move(file));
  return absl::OkStatus();
}

void ElementFileWriter::Abandon() {
  if (writer_ == nullptr) return;
  file_->Abandon();
  writer_.reset();
  // A leftover file that cannot be deleted is harmless.
  files_.DeleteLeftover(temporary_).IgnoreError();
}

absl::Status ElementFileWriter::Write(const DatasetElement& element) {
  std::string record;
  for (const Tensor& tensor : element) {
    if (tensor.dtype() == DT_VARIANT || tensor.dtype() == DT_RESOURCE) {
      return absl::UnimplementedError(absl::StrCat(
          path_, ": elements with a ", DataTypeName(tensor.dtype()),
          " cannot be cached in a file"));
    }
    const std::string bytes = SerializeTensorProto(tensor);
    if (bytes.empty()) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path_, ": a tensor of ", tensor.TotalBytes(),
                       " bytes is too large to be cached in a file"));
    }
    const uint64_t size = bytes.size();
    record.append(reinterpret_cast<const char*>(&size), sizeof(size));
    record.append(bytes);
  }
  return writer_->WriteRecord(record);
}

// Synced before the rename: otherwise, after a power failure, a truncated file
// could be mistaken for a complete one.
absl::Status ElementFileWriter::Finish() {
  RETURN_IF_ERROR(writer_->Flush());
  RETURN_IF_ERROR(file_->Sync());
  RETURN_IF_ERROR(writer_->Close());
  RETURN_IF_ERROR(files_.RenameFile(temporary_, path_));
  writer_.reset();
  return absl::OkStatus();
}

absl::StatusOr<bool> ElementFileReader::Read(Allocator& allocator,
                                             const ElementSpec& expected,
                                             DatasetElement* element) {
  const uint64_t offset = reader_.offset();
  const absl::Status status = reader_.ReadRecord(record_);
  if (absl::IsOutOfRange(status)) return false;
  RETURN_IF_ERROR(Annotate(status, path_));
  element->clear();
  HeapCharge charge(allocator);
  absl::string_view rest = record_;
  absl::string_view bytes;
  for (DataType type : expected.types) {
    if (!TakeComponent(rest, &bytes)) {
      return Damaged(path_, offset, "has too few components");
    }
    auto tensor = ParseTensorProto(bytes, allocator, charge);
    if (!tensor.ok()) {
      return Damaged(path_, offset, tensor.status().message());
    }
    if (tensor->dtype() != type) {
      return Damaged(path_, offset,
                     absl::StrCat("has a ", DataTypeName(tensor->dtype()),
                                  ", not a ", DataTypeName(type),
                                  "; was it written by another dataset?"));
    }
    element->push_back(*std::move(tensor));
  }
  if (rest.empty()) return true;
  return Damaged(path_, offset, "has too many components");
}

}  // namespace weft
