#include "libs/summary/record_writer.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "libs/base/crc32c.h"
#include "libs/base/status.h"

namespace weft::summary {
namespace {

// The memory level of zlib's fastest setting, as in TensorFlow.
constexpr int kMemoryLevel = 9;

// Writes a little-endian number. The machine and the format are both
// little-endian.
template <typename T>
void Store(T value, char* to) {
  std::memcpy(to, &value, sizeof(value));
}

}  // namespace

// Deflater is a zlib or gzip stream whose output goes to a sink.
class RecordWriter::Deflater {
 public:
  using Sink = absl::FunctionRef<absl::Status(absl::string_view)>;

  explicit Deflater(RecordCompression compression) {
    is_ready_ = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                             ZlibWindowBits(compression), kMemoryLevel,
                             Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~Deflater() {
    if (is_ready_) deflateEnd(&stream_);
  }

  // Compresses `bytes`. `flush` is Z_NO_FLUSH, Z_SYNC_FLUSH or Z_FINISH.
  absl::Status Run(absl::string_view bytes, int flush, Sink sink) {
    if (!is_ready_) {
      return absl::ResourceExhaustedError(
          "not enough memory to compress records");
    }
    do {
      // zlib counts bytes in 32 bits, so pass at most that many at once.
      const absl::string_view piece =
          bytes.substr(0, std::numeric_limits<uInt>::max());
      bytes.remove_prefix(piece.size());
      RETURN_IF_ERROR(
          RunPiece(piece, bytes.empty() ? flush : Z_NO_FLUSH, sink));
    } while (!bytes.empty());
    return absl::OkStatus();
  }

 private:
  absl::Status RunPiece(absl::string_view piece, int flush, Sink sink) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream_.avail_in = static_cast<uInt>(piece.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      const int result = deflate(&stream_, flush);
      if (result == Z_STREAM_ERROR) {
        return absl::InternalError("deflate() failed");
      }
      RETURN_IF_ERROR(sink({out_.data(), out_.size() - stream_.avail_out}));
    } while (stream_.avail_out == 0);
    return absl::OkStatus();
  }

  z_stream stream_ = {};
  bool is_ready_ = false;
  std::array<char, 64 << 10> out_;
};

RecordWriter::RecordWriter(std::unique_ptr<WritableFile> file,
                           RecordCompression compression)
    : file_(std::move(file)) {
  if (compression == RecordCompression::kNone) return;
  deflater_ = std::make_unique<Deflater>(compression);
}

RecordWriter::~RecordWriter() { Close().IgnoreError(); }

absl::Status RecordWriter::Check() const {
  if (!error_.ok()) return error_;
  if (file_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("the file of records is closed");
}

absl::Status RecordWriter::Keep(absl::Status status) {
  if (error_.ok()) error_ = status;
  return status;
}

absl::Status RecordWriter::AppendToFile(absl::string_view bytes) {
  if (bytes.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(file_->Append(bytes));
  file_bytes_ += bytes.size();
  return absl::OkStatus();
}

absl::Status RecordWriter::Append(absl::string_view bytes) {
  if (deflater_ == nullptr) return AppendToFile(bytes);
  return deflater_->Run(bytes, Z_NO_FLUSH,
                        [this](auto out) { return AppendToFile(out); });
}

absl::Status RecordWriter::WriteRecord(absl::string_view record) {
  RETURN_IF_ERROR(Check());
  char header[kRecordHeaderBytes];
  Store(uint64_t{record.size()}, header);
  Store(MaskCrc32c(Crc32c({header, sizeof(uint64_t)})),
        header + sizeof(uint64_t));
  char footer[sizeof(uint32_t)];
  Store(MaskCrc32c(Crc32c(record)), footer);
  for (const absl::string_view part :
       {absl::string_view(header, sizeof(header)), record,
        absl::string_view(footer, sizeof(footer))}) {
    if (part.empty()) continue;
    absl::Status status = Append(part);
    if (!status.ok()) return Keep(std::move(status));
  }
  return absl::OkStatus();
}

absl::Status RecordWriter::Flush() {
  RETURN_IF_ERROR(Check());
  absl::Status status;
  if (deflater_ != nullptr) {
    status = deflater_->Run("", Z_SYNC_FLUSH,
                            [this](auto out) { return AppendToFile(out); });
  }
  if (status.ok()) status = file_->Flush();
  return status.ok() ? status : Keep(std::move(status));
}

absl::Status RecordWriter::Close() {
  if (file_ == nullptr) return absl::OkStatus();
  absl::Status status = error_;
  if (status.ok() && deflater_ != nullptr) {
    status = deflater_->Run("", Z_FINISH,
                            [this](auto out) { return AppendToFile(out); });
  }
  const absl::Status closed = file_->Close();
  file_ = nullptr;
  return status.ok() ? closed : status;
}

}  // namespace weft::summary
