// RecordSources of the readers: lines, records of a fixed length, TFRecords,
// whole files, and names alone. Rules are TensorFlow's
// (core/kernels/*_reader_op.cc).
#ifndef WEFT_LIBS_KERNELS_IO_RECORD_SOURCES_H_
#define WEFT_LIBS_KERNELS_IO_RECORD_SOURCES_H_

#include <cstdint>
#include <memory>

#include "libs/fs/input_stream.h"
#include "libs/resource/reader.h"

namespace weft {

// Lines of text without line ends; keys are "PATH:LINE", counted from 1. The
// first `skip_header_lines` of each file are skipped.
std::unique_ptr<RecordSource> NewTextLineSource(int64_t skip_header_lines);

// All sizes are in bytes and not negative.
struct FixedLengthLayout {
  int64_t header = 0;
  int64_t record = 0;
  // Bytes after the last record; a record is only valid if this many bytes
  // follow it.
  int64_t footer = 0;
  // The distance between the beginnings of two records; 0: the record length.
  int64_t hop = 0;
  // The maximum size of a record with its footer in memory: a few compressed
  // bytes can expand to very many.
  uint64_t most = uint64_t{2} << 30;
};
// Keys are "PATH:NUMBER", counted from 0. An incomplete record at the end of a
// file is skipped. Returns RESOURCE_EXHAUSTED, also for all later reads, if a
// record exceeds `most`. REQUIRES: records or hops are not empty.
std::unique_ptr<RecordSource> NewFixedLengthSource(
    const FixedLengthLayout& layout, Compression compression);

// Keys are "PATH:OFFSET", with the offset in the decompressed data.
std::unique_ptr<RecordSource> NewTFRecordSource(Compression compression);

// One record per file; its path is the key.
std::unique_ptr<RecordSource> NewWholeFileSource();

// The work units themselves, as keys and values.
std::unique_ptr<RecordSource> NewIdentitySource();

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_IO_RECORD_SOURCES_H_
