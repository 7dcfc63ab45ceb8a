// InputStream: the bytes of a file in their order, decompressed on the way
// where the file is compressed. LineReader: its lines.
//
//   auto stream = NewInputStream(std::move(file), Compression::kGzip);
//   LineReader lines(*stream);
//   std::string line;
//   absl::Status status;
//   while ((status = lines.ReadLine(line)).ok()) Use(line);
//   if (!absl::IsOutOfRange(status)) return status;  // not the end: damage
//
// The bytes may be anybody's: memory is taken only as bytes arrive.
//
// Threads: thread-compatible. Calls block, as files do.
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

// How a file as a whole is compressed: it does not say it.
enum class Compression { kNone, kZlib, kGzip };

// zlib's windowBits for one of the latter two: the largest window.
int ZlibWindowBits(Compression compression);

class InputStream {
 public:
  virtual ~InputStream() = default;

  // Fewer than `size` only at the end. DATA_LOSS for a compressed stream that
  // is damaged; any error of a compressed one stays.
  virtual absl::StatusOr<size_t> Read(char* to, size_t size) = 0;
  // What a read that found too little has found: OUT_OF_RANGE, or DATA_LOSS
  // where a compressed stream breaks off.
  virtual absl::Status End() const = 0;
  // To be called before what is read from `offset` on, which is where the last
  // read has ended unless it has failed or found too little: then an
  // uncompressed file is read again from there, for it may have grown. A
  // compressed one only goes on.
  virtual void GoTo(uint64_t offset) = 0;
};

std::unique_ptr<InputStream> NewInputStream(
    std::unique_ptr<RandomAccessFile> file, Compression compression);

// Passes over the next `count` bytes; OUT_OF_RANGE where the file ends before.
absl::Status SkipBytes(InputStream& stream, uint64_t count);
// Appends the next `count` bytes, or appends none: what End says where the file
// ends before.
absl::Status AppendBytes(InputStream& stream, uint64_t count, std::string& to);

struct LineReaderOptions {
  // Longer ones are refused: a file of zeros is one line.
  uint64_t max_line_bytes = uint64_t{2} << 30;
  // Lines come with their ends, as these are.
  bool keeps_ends = false;
  // Lines come without any "\r", as TensorFlow's data set of lines has them and
  // its reader of lines has not; else without the one that is before the end.
  bool drops_returns = false;
};

// Lines end with "\n" or "\r\n", the last one also with the file.
class LineReader {
 public:
  explicit LineReader(InputStream& stream,
                      const LineReaderOptions& options = {})
      : stream_(stream), options_(options) {}

  // The next line, without its end, replaces `line`. OUT_OF_RANGE at the end of
  // the file; RESOURCE_EXHAUSTED for a line that is longer than the options
  // allow, and for all that is asked for afterwards. Other errors are those of
  // the file: who asks again gets the line that failed.
  absl::Status ReadLine(std::string& line);

  // Whether the next line is there, so that ReadLine reads nothing.
  bool HasLine() const {
    return begun_.empty() && !is_too_long_ &&
           buffer_.find('\n', next_) != std::string::npos;
  }

  // How much of the stream the lines so far were, with their ends.
  uint64_t offset() const {
    return filled_ - (buffer_.size() - next_) - begun_.size();
  }

 private:
  // Whether there is more.
  absl::StatusOr<bool> Fill();
  // Appends what is left in the buffer of a line; whether that is its end.
  bool TakeFromBuffer(std::string& line);
  absl::Status EndOfFile(std::string& line);
  // What is no part of a line, unless ends are kept.
  void DropReturns(std::string& line) const;

  InputStream& stream_;
  const LineReaderOptions options_;
  std::string buffer_;
  size_t next_ = 0;      // in the buffer
  uint64_t filled_ = 0;  // what was read of the stream
  std::string begun_;    // of a line whose rest could not be read
  bool is_too_long_ = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_INPUT_STREAM_H_
