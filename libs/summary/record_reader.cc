#include "libs/summary/record_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "libs/base/crc32c.h"
#include "libs/base/status.h"

namespace weft::summary {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr size_t kChecksumBytes = sizeof(uint32_t);

// A long record is read in pieces of this and, later, of its own size so far.
constexpr uint64_t kFirstPieceBytes = 1 << 20;
// More than this does not go with its checksum into 64 bits.
constexpr uint64_t kMostBytes =
    std::numeric_limits<uint64_t>::max() - kChecksumBytes;

// The machine is little-endian, as the format is.
template <typename T>
T Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

bool ChecksumIsRight(absl::string_view bytes, const char* stored) {
  return Load<uint32_t>(stored) == MaskCrc32c(Crc32c(bytes));
}

}  // namespace

// Bytes in their order.
class RecordReader::Source {
 public:
  virtual ~Source() = default;
  // To be called before what is read from `offset` on; that is where the last
  // read has ended, unless it has failed.
  virtual void GoTo(uint64_t offset) = 0;
  // Fewer than `size` only at the end.
  virtual absl::StatusOr<size_t> Read(char* to, size_t size) = 0;
  // OUT_OF_RANGE, or why the end is none.
  virtual absl::Status End() const = 0;
};

// Those of the file.
class RecordReader::FileSource : public Source {
 public:
  explicit FileSource(std::unique_ptr<RandomAccessFile> file)
      : file_(std::move(file)) {}

  void GoTo(uint64_t offset) override {
    // What was read at the end is read again: there may be more now.
    if (offset < begin_ || offset >= begin_ + buffer_.size()) {
      begin_ = offset;
      buffer_.clear();
    }
    position_ = offset;
  }

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    size_t done = 0;
    while (done < size) {
      ASSIGN_OR_RETURN(const absl::string_view next, Peek());
      if (next.empty()) break;
      const size_t n = next.copy(to + done, size - done);
      position_ += n;
      done += n;
    }
    return done;
  }

  // What lies at the position, not consumed; empty at the end.
  absl::StatusOr<absl::string_view> Peek() {
    if (position_ == begin_ + buffer_.size()) RETURN_IF_ERROR(Fill());
    return absl::string_view(buffer_).substr(
        static_cast<size_t>(position_ - begin_));
  }
  void Skip(size_t n) { position_ += n; }
  uint64_t position() const { return position_; }

  absl::Status End() const override { return absl::OutOfRangeError("eof"); }

 private:
  absl::Status Fill() {
    begin_ = position_;
    buffer_.resize(kBufferBytes);
    const auto n = file_->Read(begin_, buffer_.size(), buffer_.data());
    buffer_.resize(n.ok() ? *n : 0);
    return n.status();
  }

  const std::unique_ptr<RandomAccessFile> file_;
  std::string buffer_;
  uint64_t begin_ = 0;     // of the buffer, in the file
  uint64_t position_ = 0;  // within the buffer, or at its end
};

// Those that the file decompresses to.
class RecordReader::InflateSource : public Source {
 public:
  InflateSource(std::unique_ptr<RandomAccessFile> file,
                RecordCompression compression)
      : file_(std::move(file)), compression_(compression) {
    is_ready_ = inflateInit2(&stream_, ZlibWindowBits(compression)) == Z_OK;
  }
  ~InflateSource() override {
    if (is_ready_) inflateEnd(&stream_);
  }

  // A read that has failed is not tried again.
  void GoTo(uint64_t) override {}

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    if (!is_ready_) {
      return absl::ResourceExhaustedError(
          "there is no memory to decompress records");
    }
    size_t done = 0;
    while (done < size && !is_at_end_) {
      ASSIGN_OR_RETURN(const size_t n, ReadSome(to + done, size - done));
      done += n;
    }
    return done;
  }

  absl::Status End() const override {
    if (!in_stream_) return absl::OutOfRangeError("eof");
    return absl::DataLossError(absl::StrCat(
        "truncated: the compressed stream has no end at ", file_.position()));
  }

 private:
  absl::StatusOr<size_t> ReadSome(char* to, size_t size) {
    ASSIGN_OR_RETURN(const absl::string_view in, file_.Peek());
    if (in.empty()) {
      is_at_end_ = true;
      return 0;
    }
    if (!in_stream_) RETURN_IF_ERROR(BeginStream());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    const size_t room =
        std::min<size_t>(size, std::numeric_limits<uInt>::max());
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    file_.Skip(in.size() - stream_.avail_in);
    if (result == Z_STREAM_END) {
      in_stream_ = false;
    } else if (result != Z_OK) {
      return Failed(result);
    }
    return room - stream_.avail_out;
  }

  // Files of gzip may be put one after the other.
  bool CanBeginAgain() {
    return compression_ == RecordCompression::kGzip &&
           inflateReset(&stream_) == Z_OK;
  }
  absl::Status BeginStream() {
    if (has_begun_ && !CanBeginAgain()) {
      return absl::DataLossError(
          absl::StrCat("bytes follow the end of the compressed stream at ",
                       file_.position()));
    }
    has_begun_ = in_stream_ = true;
    return absl::OkStatus();
  }

  absl::Status Failed(int result) const {
    return absl::DataLossError(
        absl::StrCat("inflate() failed with error ", result, ": ",
                     stream_.msg == nullptr ? "" : stream_.msg, ", at ",
                     file_.position(), " of the compressed file"));
  }

  FileSource file_;
  const RecordCompression compression_;
  z_stream stream_ = {};
  bool is_ready_ = false;
  bool has_begun_ = false;
  bool in_stream_ = false;
  bool is_at_end_ = false;
};

RecordReader::RecordReader(std::unique_ptr<RandomAccessFile> file,
                           const RecordReaderOptions& options)
    : options_(options), source_([&]() -> std::unique_ptr<Source> {
        if (options.compression == RecordCompression::kNone) {
          return std::make_unique<FileSource>(std::move(file));
        }
        return std::make_unique<InflateSource>(std::move(file),
                                               options.compression);
      }()) {}

RecordReader::~RecordReader() = default;

absl::Status RecordReader::Damaged(uint64_t offset) const {
  return absl::DataLossError(
      absl::StrCat("corrupted record at ", offset,
                   offset == 0 ? " (Is this even a TFRecord file?)" : ""));
}

absl::Status RecordReader::ReadRecord(std::string& record) {
  record.clear();
  RETURN_IF_ERROR(error_);
  source_->GoTo(offset_);
  uint64_t length = 0;
  absl::Status status = ReadHeader(length);
  if (status.ok()) status = ReadData(length, record);
  if (status.ok()) {
    offset_ += kRecordOverheadBytes + length;
  } else if (options_.compression != RecordCompression::kNone) {
    error_ = status;
  }
  return status;
}

absl::Status RecordReader::ReadHeader(uint64_t& length) {
  char header[kRecordHeaderBytes];
  ASSIGN_OR_RETURN(const size_t n, source_->Read(header, sizeof(header)));
  if (n < sizeof(header)) return source_->End();
  if (!ChecksumIsRight({header, sizeof(uint64_t)}, header + sizeof(uint64_t))) {
    return Damaged(offset_);
  }
  length = Load<uint64_t>(header);
  const uint64_t max = std::min(options_.max_record_bytes, kMostBytes);
  if (length <= max) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the record at ", offset_, " has ", length, " bytes, more than ", max,
      " (RecordReaderOptions::max_record_bytes)"));
}

absl::Status RecordReader::ReadData(uint64_t length, std::string& record) {
  const uint64_t size = length + kChecksumBytes;
  while (record.size() < size) {
    const size_t had = record.size();
    const size_t piece = static_cast<size_t>(std::min<uint64_t>(
        size - had, std::max<uint64_t>(kFirstPieceBytes, had)));
    record.resize(had + piece);
    ASSIGN_OR_RETURN(const size_t n, source_->Read(&record[had], piece));
    if (n == piece) continue;
    record.clear();
    return absl::DataLossError(absl::StrCat(
        "truncated record at ", offset_, ": it has ", length, " bytes, and ",
        size - had - n, " bytes of it and its checksum are missing"));
  }
  const size_t data = static_cast<size_t>(length);
  if (!ChecksumIsRight({record.data(), data}, record.data() + data)) {
    record.clear();
    return Damaged(offset_ + kRecordHeaderBytes);
  }
  record.resize(data);
  return absl::OkStatus();
}

}  // namespace weft::summary
