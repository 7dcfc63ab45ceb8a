// RecordWriter writes a file of records in TensorFlow's TFRecord format, which
// event files use, too.
//
// Format (tensorflow/core/lib/io/record_writer.h): each record is
//
//   uint64 length, little endian | masked CRC-32C of these 8 bytes
//   the data                     | masked CRC-32C of it
//
// In a compressed file all records are within one zlib or gzip stream.
// docs/design/event_files.md has more details.
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

// The size of a record's header, and the total overhead of a record, in bytes.
inline constexpr size_t kRecordHeaderBytes = 12;
inline constexpr size_t kRecordOverheadBytes = 16;

class RecordWriter {
 public:
  // Takes ownership of the file and appends records to it.
  explicit RecordWriter(
      std::unique_ptr<WritableFile> file,
      RecordCompression compression = RecordCompression::kNone);
  // Closes the file and ignores errors. Call Close to get errors.
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  // Appends a record. After an error the file may end within a record, so
  // nothing more is written. All later calls return that error; Close closes
  // the file first.
  absl::Status WriteRecord(absl::string_view record);
  // Makes all records written so far visible to readers. With compression this
  // is possible, too, but it makes the compression less effective.
  absl::Status Flush();
  // Ends the compressed stream and closes the file. Returns OK if the file is
  // already closed.
  absl::Status Close();

  // Returns the number of bytes passed to the file so far, without bytes that
  // the compression buffers.
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
