// RecordWriter writes a file of records in TensorFlow's TFRecord format, which
// event files use, too.
//
// Format (tensorflow/core/lib/io/record_writer.h): each record is
//
//   uint64 length, little endian | masked CRC-32C of these 8 bytes
//   the data                     | masked CRC-32C of it
//
// or all of that within one zlib or gzip stream. docs/design/event_files.md has
// more.
//
// Threads: thread-compatible. Calls block on file I/O.
#ifndef WEFT_LIBS_SUMMARY_RECORD_WRITER_H_
#define WEFT_LIBS_SUMMARY_RECORD_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/fs/file_system.h"
#include "libs/fs/input_stream.h"

namespace weft::summary {

using RecordCompression = Compression;

// Overhead bytes of a record: its header, and in total.
inline constexpr size_t kRecordHeaderBytes = 12;
inline constexpr size_t kRecordOverheadBytes = 16;

class RecordWriter {
 public:
  // Takes ownership of the file, and appends to it.
  explicit RecordWriter(
      std::unique_ptr<WritableFile> file,
      RecordCompression compression = RecordCompression::kNone);
  // Closes and ignores errors; call Close to get them.
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  // After an error the file may end within a record, so nothing more is
  // written: all calls return that error, Close after closing the file.
  absl::Status WriteRecord(absl::string_view record);
  // Makes all records written so far visible to readers, also with compression
  // (which becomes less effective).
  absl::Status Flush();
  // Ends the compressed stream and closes the file. OK if already closed.
  absl::Status Close();

  // Bytes passed to the file so far, without buffered compressed bytes.
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  class Deflater;

  absl::Status Check() const;
  // Keeps the first error.
  absl::Status Keep(absl::Status status);
  absl::Status Append(absl::string_view bytes);
  absl::Status AppendToFile(absl::string_view bytes);

  std::unique_ptr<WritableFile> file_;  // null once closed
  std::unique_ptr<Deflater> deflater_;  // null: not compressed
  uint64_t file_bytes_ = 0;
  absl::Status error_;
};

}  // namespace weft::summary

#endif  // WEFT_LIBS_SUMMARY_RECORD_WRITER_H_
