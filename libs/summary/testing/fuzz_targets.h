// The targets of the record and event fuzzers. A test runs them with the
// corpora of earlier findings, too.
#ifndef WEFT_LIBS_SUMMARY_TESTING_FUZZ_TARGETS_H_
#define WEFT_LIBS_SUMMARY_TESTING_FUZZ_TARGETS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "libs/base/testing/fuzz_corpus.h"
#include "libs/fs/memory_file_system.h"
#include "libs/summary/event.h"
#include "libs/summary/record_reader.h"
#include "libs/summary/record_writer.h"

namespace weft::summary {

inline std::vector<std::string> ReadRecordsForFuzz(
    MemoryFileSystem& files, RecordCompression compression) {
  auto file = files.NewRandomAccessFile("records");
  RequireForFuzz(file.ok());
  RecordReader reader(*std::move(file), {.compression = compression,
                                         .max_record_bytes = 1 << 20});
  std::vector<std::string> records;
  size_t bytes = 0;
  // The loop is limited, because little compressed data may expand to much
  // valid data.
  while (bytes < (size_t{16} << 20) && records.size() < 10000) {
    const absl::Status status = reader.ReadRecord(records.emplace_back());
    if (status.ok()) {
      bytes += records.back().size();
      continue;
    }
    records.pop_back();
    RequireForFuzz(absl::IsOutOfRange(status) || absl::IsDataLoss(status) ||
                   absl::IsResourceExhausted(status));
    break;
  }
  return records;
}

// Fuzzes a file with each compression. Records that were read must be the same
// after writing and reading them again.
inline void FuzzRecords(absl::string_view bytes) {
  for (const RecordCompression compression :
       {RecordCompression::kNone, RecordCompression::kZlib,
        RecordCompression::kGzip}) {
    MemoryFileSystem files;
    RequireForFuzz(files.WriteFileAtomically("records", bytes).ok());
    const auto records = ReadRecordsForFuzz(files, compression);
    if (records.empty()) continue;
    auto file = files.NewWritableFile("records");
    RequireForFuzz(file.ok());
    RecordWriter writer(*std::move(file), compression);
    for (const std::string& record : records) {
      RequireForFuzz(writer.WriteRecord(record).ok());
    }
    RequireForFuzz(writer.Close().ok());
    RequireForFuzz(ReadRecordsForFuzz(files, compression) == records);
  }
}

// Fuzzes an event and a summary. Parsed values must be the same after
// serializing and parsing them again.
inline void FuzzEvent(absl::string_view bytes) {
  const auto event = ParseEvent(bytes);
  if (event.ok()) RequireForFuzz(ParseEvent(SerializeEvent(*event)).ok());
  const auto summary = ParseSummary(bytes);
  if (summary.ok()) {
    RequireForFuzz(ParseSummary(SerializeSummary(*summary)).ok());
  }
}

}  // namespace weft::summary

#endif  // WEFT_LIBS_SUMMARY_TESTING_FUZZ_TARGETS_H_
