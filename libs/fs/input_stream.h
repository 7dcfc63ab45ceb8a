// InputStream reads the bytes of a file sequentially, and decompresses a
// compressed file. LineReader reads its lines.
//
//   auto stream = NewInputStream(std::move(file), Compression::kGzip);
//   LineReader lines(*stream);
//   std::string line;
//   absl::Status status;
//   while ((status = lines.ReadLine(line)).ok()) Use(line);
//   if (!absl::IsOutOfRange(status)) return status;  // not the end: damage
//
// Input bytes are untrusted: memory is allocated only as bytes arrive.
//
// Threads: thread-compatible. Calls block on file I/O.
#ifndef WEFT_LIBS_FS_INPUT_STREAM_H_
#define WEFT_LIBS_FS_INPUT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/fs/file_system.h"

namespace weft {

// Compression of a whole file, which is not detected from its contents.
enum class Compression { kNone, kZlib, kGzip };

// zlib's windowBits for zlib and gzip: the largest window.
int ZlibWindowBits(Compression compression);

class InputStream {
 public:
  virtual ~InputStream() = default;

  // Fewer than `size` only at the end. DATA_LOSS for a corrupt compressed
  // stream; any error of a compressed stream is permanent.
  virtual absl::StatusOr<size_t> Read(char* to, size_t size) = 0;
  // Status after a short read: OUT_OF_RANGE, or DATA_LOSS if a compressed
  // stream is truncated.
  virtual absl::Status End() const = 0;
  // Must be called before reading from `offset`, which is the end of the last
  // read unless that failed or was short: then an uncompressed file is read
  // again from there, because it may have grown. A compressed file only
  // continues.
  virtual void GoTo(uint64_t offset) = 0;
};

std::unique_ptr<InputStream> NewInputStream(
    std::unique_ptr<RandomAccessFile> file, Compression compression);

// Skips the next `count` bytes; OUT_OF_RANGE if the file ends before.
absl::Status SkipBytes(InputStream& stream, uint64_t count);
// Appends exactly `count` bytes, or none and returns End if the file ends
// before.
absl::Status AppendBytes(InputStream& stream, uint64_t count, std::string& to);

struct LineReaderOptions {
  // Longer lines are rejected: a file of zeros is one line.
  uint64_t max_line_bytes = uint64_t{2} << 30;
  // If true, lines include their original line ends.
  bool keeps_ends = false;
  // If true, all "\r" are removed from lines, as in TensorFlow's text line
  // dataset; otherwise only the one before the line end, as in its line reader.
  bool drops_returns = false;
};

// LineReader reads lines that end with "
// " or "\r
// ", or with the file.
class LineReader {
 public:
  explicit LineReader(InputStream& stream,
                      const LineReaderOptions& options = {})
      : stream_(stream), options_(options) {}

  // Replaces `line` by the next line, without its end. OUT_OF_RANGE at the end
  // of the file; RESOURCE_EXHAUSTED for a line longer than the options allow,
  // and for all later calls. Other errors are those of the file: a retry
  // returns the line that failed.
  absl::Status ReadLine(std::string& line);

  // Whether the next line is buffered, so that ReadLine reads nothing.
  bool HasLine() const {
    return begun_.empty() && !is_too_long_ &&
           buffer_.find('\n', next_) != std::string::npos;
  }

  // Offset in the stream after the lines read so far, with their ends.
  uint64_t offset() const {
    return filled_ - (buffer_.size() - next_) - begun_.size();
  }

 private:
  // Fills the buffer; returns whether there is more.
  absl::StatusOr<bool> Fill();
  // Appends the rest of the buffer's line; returns whether the line is
  // complete.
  bool TakeFromBuffer(std::string& line);
  absl::Status EndOfFile(std::string& line);
  // Removes carriage returns, unless ends are kept.
  void DropReturns(std::string& line) const;

  InputStream& stream_;
  const LineReaderOptions options_;
  std::string buffer_;
  size_t next_ = 0;      // in the buffer
  uint64_t filled_ = 0;  // bytes read from the stream so far
  std::string begun_;    // of a line whose rest could not be read
  bool is_too_long_ = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_INPUT_STREAM_H_
