#include "libs/fs/input_stream.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
// The size of the first chunks in which long data is read. Later chunks are as
// large as the data read so far.
constexpr uint64_t kFirstPieceBytes = 1 << 20;

// FileStream reads a file without decompression.
class FileStream : public InputStream {
 public:
  explicit FileStream(std::unique_ptr<RandomAccessFile> file)
      : file_(std::move(file)) {}

  void GoTo(uint64_t offset) override {
    // At the end of the file, buffered data is dropped and read again, because
    // the file may have grown.
    if (offset < begin_ || offset >= begin_ + buffer_.size()) {
      begin_ = offset;
      buffer_.clear();
    }
    position_ = offset;
  }

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    size_t done = 0;
    while (done < size) {
      if (IsAtEndOfBuffer() && size - done >= kBufferBytes) {
        ASSIGN_OR_RETURN(const size_t n, ReadDirectly(to + done, size - done));
        return done + n;
      }
      ASSIGN_OR_RETURN(const absl::string_view next, Peek());
      if (next.empty()) break;
      const size_t n = next.copy(to + done, size - done);
      position_ += n;
      done += n;
    }
    return done;
  }

  // Returns the buffered data at the position without consuming it, and reads
  // more if needed. Returns no data at the end of the file.
  absl::StatusOr<absl::string_view> Peek() {
    if (IsAtEndOfBuffer()) RETURN_IF_ERROR(Fill());
    return absl::string_view(buffer_).substr(
        static_cast<size_t>(position_ - begin_));
  }
  void Skip(size_t n) { position_ += n; }
  uint64_t position() const { return position_; }

  absl::Status End() const override { return absl::OutOfRangeError("eof"); }

 private:
  bool IsAtEndOfBuffer() const { return position_ == begin_ + buffer_.size(); }

  absl::Status Fill() {
    begin_ = position_;
    buffer_.resize(kBufferBytes);
    const auto n = file_->Read(begin_, buffer_.size(), buffer_.data());
    buffer_.resize(n.ok() ? *n : 0);
    return n.status();
  }

  // Reads directly into the destination. Used for reads that are at least as
  // long as the buffer.
  absl::StatusOr<size_t> ReadDirectly(char* to, size_t size) {
    ASSIGN_OR_RETURN(const size_t n, file_->Read(position_, size, to));
    position_ += n;
    begin_ = position_;
    buffer_.clear();
    return n;
  }

  const std::unique_ptr<RandomAccessFile> file_;
  std::string buffer_;
  uint64_t begin_ = 0;     // offset of the buffer in the file
  uint64_t position_ = 0;  // in the buffer or at its end
};

// InflateStream reads the decompressed contents of a file.
class InflateStream : public InputStream {
 public:
  InflateStream(std::unique_ptr<RandomAccessFile> file, Compression compression)
      : file_(std::move(file)), compression_(compression) {
    is_ready_ = inflateInit2(&stream_, ZlibWindowBits(compression)) == Z_OK;
    if (is_ready_) return;
    error_ =
        absl::ResourceExhaustedError("not enough memory to decompress a file");
  }
  ~InflateStream() override {
    if (is_ready_) inflateEnd(&stream_);
  }

  void GoTo(uint64_t) override {}

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    size_t done = 0;
    while (done < size && !is_at_end_) {
      RETURN_IF_ERROR(error_);
      const absl::StatusOr<size_t> n = ReadSome(to + done, size - done);
      // The data before an error is lost, so data after the error must not be
      // returned as if it followed directly.
      if (n.ok()) {
        done += *n;
      } else {
        error_ = n.status();
      }
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

  // Starts the next part of the file. Only gzip files may consist of several
  // compressed streams.
  bool CanBeginAgain() {
    return compression_ == Compression::kGzip && inflateReset(&stream_) == Z_OK;
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
    return absl::DataLossError(absl::StrCat(
        "inflate() failed with error ", result, ": ",
        stream_.msg == nullptr ? "" : stream_.msg, ", at ", file_.position(),
        " of the compressed file",
        stream_.total_out == 0 ? ". Is its compression_type right?" : ""));
  }

  FileStream file_;
  const Compression compression_;
  z_stream stream_ = {};
  bool is_ready_ = false;
  bool has_begun_ = false;
  bool in_stream_ = false;
  bool is_at_end_ = false;
  absl::Status error_;  // permanent error
};

}  // namespace

int ZlibWindowBits(Compression compression) {
  // Adding 16 makes zlib expect gzip's header and trailer.
  return compression == Compression::kGzip ? 15 + 16 : 15;
}

std::unique_ptr<InputStream> NewInputStream(
    std::unique_ptr<RandomAccessFile> file, Compression compression) {
  if (compression == Compression::kNone) {
    return std::make_unique<FileStream>(std::move(file));
  }
  return std::make_unique<InflateStream>(std::move(file), compression);
}

absl::Status SkipBytes(InputStream& stream, uint64_t count) {
  std::string passed;
  while (count > 0) {
    passed.resize(static_cast<size_t>(std::min<uint64_t>(count, kBufferBytes)));
    ASSIGN_OR_RETURN(const size_t n, stream.Read(&passed[0], passed.size()));
    if (n < passed.size()) return stream.End();
    count -= n;
  }
  return absl::OkStatus();
}

absl::Status AppendBytes(InputStream& stream, uint64_t count, std::string& to) {
  const size_t before = to.size();
  while (to.size() - before < count) {
    const size_t had = to.size();
    const size_t piece = static_cast<size_t>(
        std::min<uint64_t>(count - (had - before),
                           std::max<uint64_t>(kFirstPieceBytes, had - before)));
    to.resize(had + piece);
    const absl::StatusOr<size_t> n = stream.Read(&to[had], piece);
    if (n.ok() && *n == piece) continue;
    to.resize(before);
    return n.ok() ? stream.End() : n.status();
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> LineReader::Fill() {
  buffer_.resize(kBufferBytes);
  next_ = 0;
  const auto n = stream_.Read(&buffer_[0], buffer_.size());
  buffer_.resize(n.ok() ? *n : 0);
  RETURN_IF_ERROR(n.status());
  filled_ += *n;
  return !buffer_.empty();
}

absl::Status LineReader::ReadLine(std::string& line) {
  line.clear();  // keeps its memory for reuse
  if (!begun_.empty()) line.swap(begun_);
  while (!is_too_long_) {
    if (next_ == buffer_.size()) {
      const absl::StatusOr<bool> has_more = Fill();
      if (!has_more.ok()) {
        begun_ = std::exchange(line, {});
        return has_more.status();
      }
      if (!*has_more) return EndOfFile(line);
    }
    if (TakeFromBuffer(line)) return absl::OkStatus();
  }
  line.clear();
  return absl::ResourceExhaustedError(
      absl::StrCat("a line has more than ", options_.max_line_bytes, " bytes"));
}

bool LineReader::TakeFromBuffer(std::string& line) {
  const size_t end = buffer_.find('\n', next_);
  const bool has_end = end != std::string::npos;
  const size_t size = (has_end ? end : buffer_.size()) - next_;
  if (size > options_.max_line_bytes - line.size()) {
    is_too_long_ = true;
    return false;
  }
  const size_t end_size = has_end ? 1 : 0;
  line.append(buffer_, next_, size + (options_.keeps_ends ? end_size : 0));
  next_ += size + end_size;
  if (has_end) DropReturns(line);
  return has_end;
}

void LineReader::DropReturns(std::string& line) const {
  if (options_.keeps_ends) return;
  if (options_.drops_returns) {
    line.erase(std::remove(line.begin(), line.end(), '\r'), line.end());
  } else if (!line.empty() && line.back() == '\r') {
    line.pop_back();
  }
}

absl::Status LineReader::EndOfFile(std::string& line) {
  const absl::Status end = stream_.End();
  DropReturns(line);
  // As in TensorFlow, an empty last line without a line end does not count.
  if (absl::IsOutOfRange(end) && !line.empty()) return absl::OkStatus();
  line.clear();
  return end;
}

}  // namespace weft
