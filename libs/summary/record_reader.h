// RecordReader: reads a file of records, TensorFlow's TFRecord; record_writer.h
// says what that is.
//
//   RecordReader reader(std::move(file));
//   std::string record;
//   absl::Status status;
//   while ((status = reader.ReadRecord(record)).ok()) Use(record);
//   if (!absl::IsOutOfRange(status)) return status;  // not the end: damage
//
// The bytes may be anybody's: every checksum is checked, and memory is taken
// only as bytes arrive, so a length that lies costs nothing.
//
// Threads: thread-compatible. Calls block, as files do.
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
  // Longer ones are refused: a few compressed bytes can hold a very long one.
  uint64_t max_record_bytes = uint64_t{2} << 30;
};

class RecordReader {
 public:
  explicit RecordReader(std::unique_ptr<RandomAccessFile> file,
                        const RecordReaderOptions& options = {});
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  // The next record replaces `record`, whose memory is used again.
  //
  // OUT_OF_RANGE at the end; as in TensorFlow it is one as well when less than
  // the header of a record is left there, since somebody may be writing it.
  // DATA_LOSS, with the offset, for damage, also where the data of a record or
  // the compressed stream ends too early. RESOURCE_EXHAUSTED for a record that
  // is longer than the options allow.
  //
  // After an error the offset is where it was, and what the file has got
  // meanwhile is found by asking again; of compressed files the error stays.
  absl::Status ReadRecord(std::string& record);

  // To the record that begins there, in the file or what it is decompressed to;
  // to be called before the first is read. Errors are those of ReadRecord.
  absl::Status GoTo(uint64_t offset);

  // Where the next record begins, in the file or what it is decompressed to.
  uint64_t offset() const { return offset_; }

 private:
  absl::Status ReadHeader(uint64_t& length);
  absl::Status ReadData(uint64_t length, std::string& record);
  absl::Status Damaged(uint64_t offset) const;

  const RecordReaderOptions options_;
  const std::unique_ptr<InputStream> stream_;
  uint64_t offset_ = 0;
  absl::Status error_;  // that stays
};

}  // namespace weft::summary

#endif  // WEFT_LIBS_SUMMARY_RECORD_READER_H_
