// Reader: a reader of the graph, which reads one file after the other of those
// that a queue names; TensorFlow's tf.ReaderBase, and its names of nodes.
//
//   auto files = train::StringInputProducer(root, names);
//   auto reader = ops::Reader::TextLine(root, {.skip_header_lines = 1});
//   auto line = reader.Read(root, files);          // line.key, line.value
//
// A session of its own has a reader of its own, unless it is shared by name.
// Files are those of the task where it runs; "zmq://", "s3://" and "gs://" too.
// A step that reads ends with OUT_OF_RANGE once the queue is closed and all is
// read.
//
// A small value that refers to the graph; null after an error, which sticks to
// the scope; what is made of a null one is null. Threads: as the scope's.
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

// All in bytes.
struct FixedLengthRecordReaderAttrs {
  int64_t header_bytes = 0;
  int64_t footer_bytes = 0;
  int64_t hop_bytes = 0;  // from record to record; 0: the length of one
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
  // Keys are "PATH:LINE", from 1.
  static Reader TextLine(const Scope& scope,
                         const TextLineReaderAttrs& attrs = {});
  // Keys are "PATH:NUMBER", from 0.
  static Reader FixedLengthRecord(
      const Scope& scope, int64_t record_bytes,
      const FixedLengthRecordReaderAttrs& attrs = {});
  // Keys are "PATH:OFFSET".
  static Reader TFRecord(const Scope& scope,
                         const TFRecordReaderAttrs& attrs = {});
  // One record a file; its path is the key.
  static Reader WholeFile(const Scope& scope, const ReaderAttrs& attrs = {});
  // The elements of the queue, as keys and values.
  static Reader Identity(const Scope& scope, const ReaderAttrs& attrs = {});

  explicit operator bool() const { return bool{handle_}; }
  const Output& handle() const { return handle_; }

  struct Record {
    Output key, value;
  };
  // `queue`: of one component, a string.
  Record Read(const Scope& scope, const Input& queue) const;
  // Vectors: at least one record, and up to `num_records`, an int64, of one
  // file.
  Record ReadUpTo(const Scope& scope, const Input& queue,
                  const Input& num_records) const;
  // int64 scalars: records given, files read to their ends.
  Output NumRecordsProduced(const Scope& scope) const;
  Output NumWorkUnitsCompleted(const Scope& scope) const;
  // UNIMPLEMENTED when it runs, but for Identity.
  Output SerializeState(const Scope& scope) const;
  Operation RestoreState(const Scope& scope, const Input& state) const;
  // Forgets the file at hand and the counts.
  Operation Reset(const Scope& scope) const;

 private:
  explicit Reader(Output handle) : handle_(handle) {}

  Output handle_;
};

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_IO_READER_H_
