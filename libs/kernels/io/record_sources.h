// What readers read: lines, records of a fixed length, TFRecords, whole files,
// and names alone. Rules are TensorFlow's (core/kernels/*_reader_op.cc).
#ifndef WEFT_LIBS_KERNELS_IO_RECORD_SOURCES_H_
#define WEFT_LIBS_KERNELS_IO_RECORD_SOURCES_H_

#include <cstdint>
#include <memory>

#include "libs/fs/input_stream.h"
#include "libs/resource/reader.h"

namespace weft {

// Lines of text without their ends; keys are "PATH:LINE", counted from 1. Of
// each file the first `skip_header_lines` are passed over.
std::unique_ptr<RecordSource> NewTextLineSource(int64_t skip_header_lines);

// All in bytes, and none negative.
struct FixedLengthLayout {
  int64_t header = 0;
  int64_t record = 0;
  // That many follow the last record; so a record is one only if as many bytes
  // follow it.
  int64_t footer = 0;
  // From the beginning of one record to the next; 0: the length of a record.
  int64_t hop = 0;
  // A record and its footer are in memory, up to so much: a few compressed
  // bytes can hold very many.
  uint64_t most = uint64_t{2} << 30;
};
// Keys are "PATH:NUMBER", counted from 0. What is left at the end of a file and
// is no whole record is passed over. RESOURCE_EXHAUSTED, for all that is asked
// for afterwards as well, where the file has more than may be in memory.
// REQUIRES: records or hops are not empty.
std::unique_ptr<RecordSource> NewFixedLengthSource(
    const FixedLengthLayout& layout, Compression compression);

// Keys are "PATH:OFFSET", in what the file is decompressed to.
std::unique_ptr<RecordSource> NewTFRecordSource(Compression compression);

// One record for each file; its path is the key.
std::unique_ptr<RecordSource> NewWholeFileSource();

// The work units themselves, as keys and values.
std::unique_ptr<RecordSource> NewIdentitySource();

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_IO_RECORD_SOURCES_H_
