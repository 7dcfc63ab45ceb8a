// RecordReader reads a file of records in TensorFlow's TFRecord format, see
// record_writer.h.
//
//   RecordReader reader(std::move(file));
//   std::string record;
//   absl::Status status;
//   while ((status = reader.ReadRecord(record)).ok()) Use(record);
//   if (!absl::IsOutOfRange(status)) return status;  // not the end: damage
//
// Input bytes are untrusted: every checksum is verified, and memory is
// allocated only as bytes arrive, so a wrong length costs nothing.
//
// Threads: thread-compatible. Calls block on file I/O.
#ifndef WEFT_LIBS_SUMMARY_RECORD_READER_H_
#define WEFT_LIBS_SUMMARY_RECORD_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/fs/file_system.h"
#include "libs/fs/input_stream.h"
#include "libs/summary/record_writer.h"

namespace weft::summary {

struct RecordReaderOptions {
  RecordCompression compression = RecordCompression::kNone;
  // The maximum size of a record. Longer records are rejected, because a few
  // compressed bytes can expand to a very long record.
  uint64_t max_record_bytes = uint64_t{2} << 30;
};

class RecordReader {
 public:
  explicit RecordReader(std::unique_ptr<RandomAccessFile> file,
                        const RecordReaderOptions& options = {});
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  // Replaces `record` by the next record, and reuses its memory.
  //
  // OUT_OF_RANGE at the end. As in TensorFlow, also OUT_OF_RANGE if less than a
  // record header is left, because it may still be written. DATA_LOSS, with the
  // offset, if the file is corrupt, or if the data of a record or the
  // compressed stream is truncated. RESOURCE_EXHAUSTED for a record that is
  // longer than the options allow.
  //
  // After an error the offset is unchanged, and a retry finds data that was
  // appended meanwhile. For compressed files the error is permanent.
  absl::Status ReadRecord(std::string& record);

  // Seeks to the record that begins at this offset in the (decompressed) file.
  // Must be called before the first read. Errors are those of ReadRecord.
  absl::Status GoTo(uint64_t offset);

  // Returns the offset of the next record in the (decompressed) file.
  uint64_t offset() const { return offset_; }

 private:
  absl::Status ReadHeader(uint64_t& length);
  absl::Status ReadData(uint64_t length, std::string& record);
  absl::Status Damaged(uint64_t offset) const;

  const RecordReaderOptions options_;
  const std::unique_ptr<InputStream> stream_;
  uint64_t offset_ = 0;
  absl::Status error_;  // a permanent error
};

}  // namespace weft::summary

#endif  // WEFT_LIBS_SUMMARY_RECORD_READER_H_
