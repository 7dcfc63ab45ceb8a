#include "libs/summary/record_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/crc32c.h"
#include "libs/base/status.h"

namespace weft::summary {
namespace {

constexpr size_t kChecksumBytes = sizeof(uint32_t);

// The size of the first chunks in which a long record is read. Later chunks are
// as large as the part of the record read so far.
constexpr uint64_t kFirstPieceBytes = 1 << 20;
// The maximum size of a record. A larger size would overflow 64 bits when the
// checksum is added.
constexpr uint64_t kMostBytes =
    std::numeric_limits<uint64_t>::max() - kChecksumBytes;

// Reads a little-endian number. The machine and the format are both
// little-endian.
template <typename T>
T Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

bool ChecksumIsRight(absl::string_view bytes, const char* stored) {
  return Load<uint32_t>(stored) == MaskCrc32c(Crc32c(bytes));
}

// Returns the compression_type of a file with this header, or "" if it is not
// known.
absl::string_view CompressionOf(absl::string_view header) {
  if (absl::StartsWith(header, "\x1f\x8b\x08")) return "GZIP";
  // The header of zlib has the method deflate and a window of at most 32 KiB,
  // and is a multiple of 31.
  const auto first = static_cast<unsigned char>(header[0]);
  const auto second = static_cast<unsigned char>(header[1]);
  return first == 0x78 && (256 * first + second) % 31 == 0 ? "ZLIB" : "";
}

// If a compression is detected in the header, adds it to the error `damaged`.
absl::Status SuggestCompression(const absl::Status& damaged,
                                const char* header) {
  const absl::string_view compression =
      CompressionOf({header, kRecordHeaderBytes});
  if (compression.empty()) return damaged;
  return Append(damaged, absl::StrCat("It begins like a compressed file: set "
                                      "compression_type to \"",
                                      compression, "\"."));
}

}  // namespace

RecordReader::RecordReader(std::unique_ptr<RandomAccessFile> file,
                           const RecordReaderOptions& options)
    : options_(options),
      stream_(NewInputStream(std::move(file), options.compression)) {}

absl::Status RecordReader::Damaged(uint64_t offset) const {
  return absl::DataLossError(
      absl::StrCat("corrupted record at ", offset,
                   offset == 0 ? " (Is this even a TFRecord file?)" : ""));
}

absl::Status RecordReader::GoTo(uint64_t offset) {
  if (options_.compression != RecordCompression::kNone) {
    error_ = SkipBytes(*stream_, offset - offset_);
  }
  offset_ = offset;
  return error_;
}

absl::Status RecordReader::ReadRecord(std::string& record) {
  record.clear();
  RETURN_IF_ERROR(error_);
  stream_->GoTo(offset_);
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
  ASSIGN_OR_RETURN(const size_t n, stream_->Read(header, sizeof(header)));
  if (n < sizeof(header)) return stream_->End();
  if (!ChecksumIsRight({header, sizeof(uint64_t)}, header + sizeof(uint64_t))) {
    const bool may_be_compressed =
        offset_ == 0 && options_.compression == RecordCompression::kNone;
    return may_be_compressed ? SuggestCompression(Damaged(offset_), header)
                             : Damaged(offset_);
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
    ASSIGN_OR_RETURN(const size_t n, stream_->Read(&record[had], piece));
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
