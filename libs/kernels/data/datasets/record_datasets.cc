// Datasets of the lines and records of files: TextLine, TFRecord, FixedLength.
// buffer_size is only checked: files have their own buffers.
#include <algorithm>
#include <utility>

#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/record_files.h"
#include "libs/summary/record_reader.h"

namespace weft {
namespace {

// True unless `status` is the end of the file.
absl::StatusOr<bool> HasRecord(const absl::Status& status) {
  if (absl::IsOutOfRange(status)) return false;
  RETURN_IF_ERROR(status);
  return true;
}

class LineFile : public TextFile {
 public:
  LineFile(std::unique_ptr<InputStream> stream, uint64_t position)
      : stream_(std::move(stream)),
        lines_(*stream_, {.drops_returns = true}),
        begin_(position) {}

  absl::StatusOr<bool> ReadText(std::string& line) override {
    return HasRecord(lines_.ReadLine(line));
  }
  uint64_t position() const override { return begin_ + lines_.offset(); }
  bool IsGivenUpAfterError() const override { return false; }

 private:
  const std::unique_ptr<InputStream> stream_;
  LineReader lines_;
  const uint64_t begin_;
};

class TFRecordFile : public TextFile {
 public:
  TFRecordFile(std::unique_ptr<RandomAccessFile> file, Compression compression)
      : version_(file->version()),
        reader_(std::move(file), {.compression = compression}) {}

  // Returns OUT_OF_RANGE if the file is shorter.
  absl::Status GoTo(uint64_t position) { return reader_.GoTo(position); }

  absl::StatusOr<bool> ReadText(std::string& record) override {
    return HasRecord(reader_.ReadRecord(record));
  }
  uint64_t position() const override { return reader_.offset(); }
  bool IsGivenUpAfterError() const override { return true; }
  std::string version() const override { return version_; }

 private:
  const std::string version_;
  summary::RecordReader reader_;
};

// The same limit as for lines and TFRecords.
constexpr uint64_t kMostFixedRecordBytes = uint64_t{2} << 30;

// All sizes are in bytes.
struct FixedLayout {
  uint64_t header = 0, record = 0, footer = 0;
};

// Appends up to `count` bytes; fewer at the end.
absl::Status AppendUpTo(InputStream& stream, uint64_t count, std::string& to) {
  constexpr uint64_t kPiece = 1 << 20;
  while (count > 0) {
    const size_t had = to.size();
    const auto piece = static_cast<size_t>(std::min(count, kPiece));
    to.resize(had + piece);
    const absl::StatusOr<size_t> n = stream.Read(&to[had], piece);
    to.resize(had + n.value_or(0));
    RETURN_IF_ERROR(n.status());
    if (*n < piece) break;
    count -= piece;
  }
  return absl::OkStatus();
}

// Records between a header and a footer. The position of the footer is known
// only at the end of the file.
class FixedLengthFile : public TextFile {
 public:
  FixedLengthFile(std::string path, std::string version,
                  std::unique_ptr<InputStream> stream,
                  const FixedLayout& layout, uint64_t position)
      : path_(std::move(path)),
        version_(std::move(version)),
        stream_(std::move(stream)),
        layout_(layout),
        position_(position) {}

  static absl::Status WrongLength(const std::string& path,
                                  const FixedLayout& layout, uint64_t size) {
    const uint64_t ends = layout.header + layout.footer;
    const std::string body = size < ends ? absl::StrCat("-", ends - size)
                                         : absl::StrCat(size - ends);
    return absl::InvalidArgumentError(absl::StrCat(
        "Excluding the header (", layout.header, " bytes) and footer (",
        layout.footer, " bytes), input file \"", path, "\" has body length ",
        body, " bytes, which is not an exact multiple of the record length (",
        layout.record, " bytes)."));
  }

  absl::StatusOr<bool> ReadText(std::string& record) override {
    if (position_ < layout_.header) RETURN_IF_ERROR(SkipHeader());
    const uint64_t wanted = layout_.record + layout_.footer;
    if (ahead_.size() < wanted) {
      RETURN_IF_ERROR(AppendUpTo(*stream_, wanted - ahead_.size(), ahead_));
    }
    if (ahead_.size() < wanted) return End();
    const auto size = static_cast<size_t>(layout_.record);
    if (layout_.footer == 0) {
      record = std::exchange(ahead_, {});
    } else {
      record.assign(ahead_, 0, size);
      ahead_.erase(0, size);
    }
    position_ += layout_.record;
    return true;
  }
  uint64_t position() const override { return position_; }
  bool IsGivenUpAfterError() const override { return true; }
  std::string version() const override { return version_; }

 private:
  // Called by the first read, so that a file without a complete header is an
  // error of this file only.
  absl::Status SkipHeader() {
    const absl::Status status = SkipBytes(*stream_, layout_.header - position_);
    if (absl::IsOutOfRange(status)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the file ends within its header of ", layout_.header, " bytes"));
    }
    RETURN_IF_ERROR(status);
    position_ = layout_.header;
    return absl::OkStatus();
  }

  absl::StatusOr<bool> End() const {
    const absl::Status end = stream_->End();
    if (!absl::IsOutOfRange(end)) return end;
    if (ahead_.size() == layout_.footer) return false;
    return absl::DataLossError(
        WrongLength(path_, layout_, position_ + ahead_.size()).message());
  }

  const std::string path_;
  const std::string version_;
  const std::unique_ptr<InputStream> stream_;
  const FixedLayout layout_;
  std::string ahead_;  // read, but not returned yet
  uint64_t position_;
};

ElementSpec OneText() { return {{DT_STRING}, {PartialShape::Scalar()}}; }

class TextLineDataset : public FilesDataset {
 public:
  TextLineDataset(const DatasetOp& op, std::vector<std::string> files,
                  Compression compression)
      : FilesDataset(op.name, OneText(), std::move(files)),
        compression_(compression) {}

 private:
  bool HoldsTexts() const override { return true; }
  absl::StatusOr<std::unique_ptr<RecordFile>> Open(
      FileSystem& files, size_t index, uint64_t position) const override {
    ASSIGN_OR_RETURN(auto stream,
                     OpenStream(files, file(index), compression_, position));
    return std::make_unique<LineFile>(std::move(stream), position);
  }

  const Compression compression_;
};

class TFRecordDataset : public FilesDataset {
 public:
  TFRecordDataset(const DatasetOp& op, std::vector<std::string> files,
                  std::vector<int64_t> offsets, Compression compression)
      : FilesDataset(op.name, OneText(), std::move(files)),
        offsets_(std::move(offsets)),
        compression_(compression) {}

 private:
  bool HoldsTexts() const override { return true; }
  absl::StatusOr<std::unique_ptr<RecordFile>> Open(
      FileSystem& files, size_t index, uint64_t position) const override {
    ASSIGN_OR_RETURN(auto opened, files.NewRandomAccessFile(file(index)));
    auto result =
        std::make_unique<TFRecordFile>(std::move(opened), compression_);
    if (position == 0 && !offsets_.empty()) {
      position = static_cast<uint64_t>(offsets_[index]);
    }
    if (position > 0) {
      const absl::Status status = result->GoTo(position);
      // There are no records after the end.
      if (!absl::IsOutOfRange(status)) RETURN_IF_ERROR(status);
    }
    return result;
  }

  const std::vector<int64_t> offsets_;  // none, or one for each file
  const Compression compression_;
};

class FixedLengthDataset : public FilesDataset {
 public:
  FixedLengthDataset(const DatasetOp& op, std::vector<std::string> files,
                     const FixedLayout& layout, Compression compression)
      : FilesDataset(op.name, OneText(), std::move(files)),
        layout_(layout),
        compression_(compression) {}

 private:
  bool HoldsTexts() const override { return true; }
  absl::StatusOr<std::unique_ptr<RecordFile>> Open(
      FileSystem& files, size_t index, uint64_t position) const override {
    const std::string& path = file(index);
    if (compression_ == Compression::kNone) {
      ASSIGN_OR_RETURN(const uint64_t size, files.GetFileSize(path));
      const uint64_t ends = layout_.header + layout_.footer;
      if (size < ends || (size - ends) % layout_.record != 0) {
        return FixedLengthFile::WrongLength(path, layout_, size);
      }
      position = std::max(position, layout_.header);
    }
    ASSIGN_OR_RETURN(auto opened, files.NewRandomAccessFile(path));
    std::string version = opened->version();
    ASSIGN_OR_RETURN(auto stream,
                     OpenStream(std::move(opened), compression_, position));
    return std::make_unique<FixedLengthFile>(
        path, std::move(version), std::move(stream), layout_, position);
  }

  const FixedLayout layout_;
  const Compression compression_;
};

absl::Status CheckBufferSize(const OpKernelContext& context, int i) {
  ASSIGN_OR_RETURN(const int64_t size,
                   ScalarInput<int64_t>(context, i, "buffer_size"));
  if (size >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "`buffer_size` must be >= 0 (0 == default)");
}

absl::StatusOr<DatasetPtr> MakeTextLine(const DatasetOp& op,
                                        OpKernelContext& context) {
  ASSIGN_OR_RETURN(auto files,
                   VectorInput<std::string>(context, 0, "filenames"));
  ASSIGN_OR_RETURN(const Compression compression, CompressionInput(context, 1));
  RETURN_IF_ERROR(CheckBufferSize(context, 2));
  return std::make_shared<TextLineDataset>(op, std::move(files), compression);
}

absl::StatusOr<DatasetPtr> MakeTFRecord(const DatasetOp& op,
                                        OpKernelContext& context) {
  ASSIGN_OR_RETURN(auto files,
                   VectorInput<std::string>(context, 0, "filenames"));
  ASSIGN_OR_RETURN(const Compression compression, CompressionInput(context, 1));
  // As in TensorFlow, any buffer_size is accepted.
  std::vector<int64_t> offsets;
  if (context.num_inputs() > 3) {
    ASSIGN_OR_RETURN(offsets, VectorInput<int64_t>(context, 3, "byte_offsets"));
    if (!offsets.empty() && offsets.size() != files.size()) {
      return absl::InvalidArgumentError(
          "`byte_offsets` must be of same size as `filenames`");
    }
    for (int64_t offset : offsets) {
      if (offset < 0) {
        return absl::InvalidArgumentError("`byte_offsets` must be >= 0");
      }
    }
  }
  return std::make_shared<TFRecordDataset>(op, std::move(files),
                                           std::move(offsets), compression);
}

absl::StatusOr<uint64_t> ReadBytes(const OpKernelContext& context, int i,
                                   absl::string_view name, int64_t least) {
  ASSIGN_OR_RETURN(const int64_t bytes, ScalarInput<int64_t>(context, i, name));
  // The sum of all sizes must not overflow, and the memory must be bounded.
  constexpr int64_t kMost = int64_t{2} << 30;
  if (bytes >= least && bytes <= kMost) return static_cast<uint64_t>(bytes);
  if (bytes > kMost) {
    return absl::ResourceExhaustedError(
        absl::StrCat("`", name, "` is ", bytes, ", more than ", kMost));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("`", name, "` must be ", least == 0 ? ">= 0" : "> 0"));
}

absl::StatusOr<DatasetPtr> MakeFixedLength(const DatasetOp& op,
                                           OpKernelContext& context) {
  ASSIGN_OR_RETURN(auto files,
                   VectorInput<std::string>(context, 0, "filenames"));
  FixedLayout layout;
  ASSIGN_OR_RETURN(layout.header, ReadBytes(context, 1, "header_bytes", 0));
  ASSIGN_OR_RETURN(layout.record, ReadBytes(context, 2, "record_bytes", 1));
  ASSIGN_OR_RETURN(layout.footer, ReadBytes(context, 3, "footer_bytes", 0));
  RETURN_IF_ERROR(CheckBufferSize(context, 4));
  // Both are read before a record is returned. A device file has no end.
  if (layout.record > kMostFixedRecordBytes ||
      layout.footer > kMostFixedRecordBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "record_bytes and footer_bytes must be at most ", kMostFixedRecordBytes,
        ", but are ", layout.record, " and ", layout.footer));
  }
  Compression compression = Compression::kNone;
  if (context.num_inputs() > 5) {
    ASSIGN_OR_RETURN(compression, CompressionInput(context, 5));
  }
  return std::make_shared<FixedLengthDataset>(op, std::move(files), layout,
                                              compression);
}

}  // namespace

void RegisterRecordDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, "TextLineDataset", MakeTextLine);
  RegisterDataset(registry, "TFRecordDataset", MakeTFRecord);
  RegisterDataset(registry, "TFRecordDatasetV2", MakeTFRecord);
  RegisterDataset(registry, "FixedLengthRecordDataset", MakeFixedLength);
  RegisterDataset(registry, "FixedLengthRecordDatasetV2", MakeFixedLength);
}

}  // namespace weft
