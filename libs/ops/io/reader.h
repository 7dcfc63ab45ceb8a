// Reader reads the files named by a queue, one after another. It is
// TensorFlow's tf.ReaderBase, with its node names.
//
//   auto files = train::StringInputProducer(root, names);
//   auto reader = ops::Reader::TextLine(root, {.skip_header_lines = 1});
//   auto line = reader.Read(root, files);          // line.key, line.value
//
// Each session has its own reader, unless it is shared by name. Files are those
// of the task that runs it; "zmq://", "s3://" and "gs://" are supported too. A
// read fails with OUT_OF_RANGE once the queue is closed and everything is read.
//
// A Reader is a small value that refers to the graph. It is null after an
// error, which sticks to the scope; everything derived from a null reader is
// null. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_IO_READER_H_
#define WEFT_LIBS_OPS_IO_READER_H_

#include <cstdint>
#include <string>

#include "libs/ops/scope.h"

namespace weft::ops {

struct ReaderAttrs {
  std::string container;    // empty: the scope's
  std::string shared_name;  // empty: not shared
};

struct TextLineReaderAttrs {
  int64_t skip_header_lines = 0;  // of each file
  ReaderAttrs sharing;
};

// All sizes are in bytes.
struct FixedLengthRecordReaderAttrs {
  int64_t header_bytes = 0;
  int64_t footer_bytes = 0;
  int64_t hop_bytes = 0;  // distance between records; 0: record_bytes
  std::string encoding;   // "", "GZIP" or "ZLIB"
  ReaderAttrs sharing;
};

struct TFRecordReaderAttrs {
  std::string compression_type;  // "", "GZIP" or "ZLIB"
  ReaderAttrs sharing;
};

class Reader {
 public:
  Reader() = default;
  // Keys are "PATH:LINE", counted from 1.
  static Reader TextLine(const Scope& scope,
                         const TextLineReaderAttrs& attrs = {});
  // Keys are "PATH:NUMBER", counted from 0.
  static Reader FixedLengthRecord(
      const Scope& scope, int64_t record_bytes,
      const FixedLengthRecordReaderAttrs& attrs = {});
  // Keys are "PATH:OFFSET".
  static Reader TFRecord(const Scope& scope,
                         const TFRecordReaderAttrs& attrs = {});
  // One record per file; its path is the key.
  static Reader WholeFile(const Scope& scope, const ReaderAttrs& attrs = {});
  // Returns the elements of the queue as keys and values.
  static Reader Identity(const Scope& scope, const ReaderAttrs& attrs = {});

  explicit operator bool() const { return bool{handle_}; }
  const Output& handle() const { return handle_; }

  struct Record {
    Output key, value;
  };
  // `queue` must have one string component.
  Record Read(const Scope& scope, const Input& queue) const;
  // Vectors of at least one and up to `num_records` (an int64) records of one
  // file.
  Record ReadUpTo(const Scope& scope, const Input& queue,
                  const Input& num_records) const;
  // int64 scalars: records returned, files read completely.
  Output NumRecordsProduced(const Scope& scope) const;
  Output NumWorkUnitsCompleted(const Scope& scope) const;
  // UNIMPLEMENTED at run time, except for Identity.
  Output SerializeState(const Scope& scope) const;
  Operation RestoreState(const Scope& scope, const Input& state) const;
  // Drops the current file and the counts.
  Operation Reset(const Scope& scope) const;

 private:
  explicit Reader(Output handle) : handle_(handle) {}

  Output handle_;
};

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_IO_READER_H_
