// InputStream reads the bytes of a file sequentially, and decompresses a
// compressed file. LineReader reads the lines of an InputStream.
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

// Compression states how a whole file is compressed. It is not detected from
// the contents of the file.
enum class Compression { kNone, kZlib, kGzip };

// Returns zlib's parameter windowBits for zlib or gzip, with the largest
// window.
int ZlibWindowBits(Compression compression);

class InputStream {
 public:
  virtual ~InputStream() = default;

  // Reads up to `size` bytes and returns their number, which is below `size`
  // only at the end. DATA_LOSS for a corrupt compressed stream. After an error,
  // all reads of a compressed stream fail.
  virtual absl::StatusOr<size_t> Read(char* to, size_t size) = 0;
  // Returns the error to report after a short read: OUT_OF_RANGE, or DATA_LOSS
  // if a compressed stream is truncated.
  virtual absl::Status End() const = 0;
  // Sets the position. Must be called before each read from `offset`. `offset`
  // must be the end of the last read. Only if the last read failed or was
  // short, `offset` may be smaller: an uncompressed file is then read again
  // from there, because it may have grown. A compressed file cannot go back.
  virtual void GoTo(uint64_t offset) = 0;
};

std::unique_ptr<InputStream> NewInputStream(
    std::unique_ptr<RandomAccessFile> file, Compression compression);

// Skips the next `count` bytes. Returns OUT_OF_RANGE if the file ends before.
absl::Status SkipBytes(InputStream& stream, uint64_t count);
// Appends exactly `count` bytes to `to`. If the file ends before, appends
// nothing and returns the error of End.
absl::Status AppendBytes(InputStream& stream, uint64_t count, std::string& to);

struct LineReaderOptions {
  // The maximum size of a line. Longer lines are rejected, because a file of
  // zeros would be one line.
  uint64_t max_line_bytes = uint64_t{2} << 30;
  // Whether lines include their original line ends.
  bool keeps_ends = false;
  // Whether all "\r" are removed from lines, as in TensorFlow's text line
  // dataset. If not, only the "\r" before a line end is removed, as in
  // TensorFlow's line reader.
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

  // Replaces `line` by the next line, without its line end. OUT_OF_RANGE at the
  // end of the file. RESOURCE_EXHAUSTED for a line that is longer than the
  // options allow, and for all later calls. Other errors are those of the file;
  // after such an error, a retry returns the line that failed.
  absl::Status ReadLine(std::string& line);

  // Returns whether the next line is buffered, so that ReadLine does not read
  // from the file.
  bool HasLine() const {
    return begun_.empty() && !is_too_long_ &&
           buffer_.find('\n', next_) != std::string::npos;
  }

  // Returns the offset in the stream after the lines read so far and their line
  // ends.
  uint64_t offset() const {
    return filled_ - (buffer_.size() - next_) - begun_.size();
  }

 private:
  // Fills the buffer. Returns false at the end of the file.
  absl::StatusOr<bool> Fill();
  // Appends the buffered part of the current line to `line`. Returns whether
  // the line is complete.
  bool TakeFromBuffer(std::string& line);
  absl::Status EndOfFile(std::string& line);
  // Removes carriage returns, unless line ends are kept.
  void DropReturns(std::string& line) const;

  InputStream& stream_;
  const LineReaderOptions options_;
  std::string buffer_;
  size_t next_ = 0;      // position in the buffer
  uint64_t filled_ = 0;  // bytes read from the stream so far
  std::string begun_;    // begin of a line whose rest failed
  bool is_too_long_ = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_INPUT_STREAM_H_
