#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/crc32c.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/summary/record_reader.h"
#include "libs/summary/record_writer.h"

namespace weft::summary {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr RecordCompression kAllCompressions[] = {RecordCompression::kNone,
                                                  RecordCompression::kZlib,
                                                  RecordCompression::kGzip};

// Files that TensorFlow wrote, and the results of TensorFlow reading them.
constexpr char kRecorded[] =
    "integration_tests/testdata/conformance/records/tfrecord/";

class RecordsTest : public testing::Test {
 protected:
  void Write(const std::vector<std::string>& records,
             RecordCompression compression = RecordCompression::kNone) {
    ASSERT_OK_AND_ASSIGN(auto file, files_.NewWritableFile("f"));
    RecordWriter writer(std::move(file), compression);
    for (const std::string& record : records) {
      ASSERT_OK(writer.WriteRecord(record));
    }
    ASSERT_OK(writer.Close());
    EXPECT_OK(writer.Close());
    EXPECT_EQ(writer.file_bytes(), files_.ReadFile("f").value().size());
  }

  void Put(absl::string_view bytes) {
    ASSERT_OK(files_.WriteFileAtomically("f", bytes));
  }

  std::unique_ptr<RecordReader> Reader(
      const RecordReaderOptions& options = {}) {
    return std::make_unique<RecordReader>(
        files_.NewRandomAccessFile("f").value(), options);
  }

  // Returns all records, and the error that ended reading.
  std::pair<std::vector<std::string>, absl::Status> Read(
      RecordCompression compression = RecordCompression::kNone) {
    const auto reader = Reader({.compression = compression});
    std::vector<std::string> records;
    std::string record;
    for (;;) {
      absl::Status status = reader->ReadRecord(record);
      if (!status.ok()) return {std::move(records), std::move(status)};
      records.push_back(record);
    }
  }

  MemoryFileSystem files_;
};

std::string Repeated(char c, size_t n) { return std::string(n, c); }

// Returns records whose lengths are close to those of headers, buffers and
// chunks.
std::vector<std::string> ManyRecords() {
  std::vector<std::string> records;
  for (const size_t n :
       {size_t{0}, size_t{1}, size_t{7}, size_t{127}, size_t{128}, size_t{255},
        size_t{256}, (size_t{256} << 10) - 17, size_t{256} << 10,
        (size_t{1} << 20) - 4, size_t{1} << 20, (size_t{3} << 20) + 1,
        size_t{0}}) {
    std::string record(n, '\0');
    for (size_t i = 0; i < n; ++i) record[i] = static_cast<char>(i * i + n);
    records.push_back(std::move(record));
  }
  return records;
}

TEST_F(RecordsTest, RecordsRoundTrip) {
  const auto written = ManyRecords();
  for (const RecordCompression compression : kAllCompressions) {
    Write(written, compression);
    const auto [records, end] = Read(compression);
    EXPECT_TRUE(records == written);
    EXPECT_TRUE(absl::IsOutOfRange(end)) << end;
  }
}

TEST_F(RecordsTest, EmptyFileHasNoRecords) {
  for (const RecordCompression compression : kAllCompressions) {
    Write({}, compression);
    EXPECT_TRUE(absl::IsOutOfRange(Read(compression).second));
    Put("");
    EXPECT_TRUE(absl::IsOutOfRange(Read(compression).second));
  }
}

// The expected bytes are a record that can be computed by hand: the length, its
// masked CRC, the data, and its masked CRC.
TEST_F(RecordsTest, BytesMatchTensorFlow) {
  const std::string event(
      "\x09\0\0\0\0\0\0\xf0\x3f\x1a\x0d"
      "brain.Event:2",
      24);
  Write({event});
  EXPECT_EQ(files_.ReadFile("f").value(),
            absl::StrCat(std::string("\x18\0\0\0\0\0\0\0", 8),
                         "\xa3\x7f\x4b\x22", event, "\x86\xbf\x57\x7a"));
}

// ---- What TensorFlow recorded ----

class RecordedRecordsTest : public RecordsTest {
 protected:
  void Load(absl::string_view name) {
    LocalFileSystem local;
    ASSERT_OK_AND_ASSIGN(const std::string bytes,
                         local.ReadFile(absl::StrCat(kRecorded, name)));
    Put(bytes);
  }
  std::vector<std::string> Plain() {
    Load("plain.tfrecord");
    return Read().first;
  }
};

TEST_F(RecordedRecordsTest, RewriteGivesTheSameBytes) {
  Load("plain.tfrecord");
  const std::string bytes = files_.ReadFile("f").value();
  const auto [records, end] = Read();
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[0], "");
  EXPECT_EQ(records[1], "first");
  EXPECT_EQ(records[3], Repeated('x', 70000));
  EXPECT_EQ(records[4], "last");
  EXPECT_TRUE(absl::IsOutOfRange(end));
  Write(records);
  EXPECT_TRUE(files_.ReadFile("f").value() == bytes);
}

TEST_F(RecordedRecordsTest, CompressedFilesHoldTheSameRecords) {
  const std::vector<std::string> plain = Plain();
  Load("gzip.tfrecord");
  EXPECT_TRUE(Read(RecordCompression::kGzip).first == plain);
  Load("zlib.tfrecord");
  EXPECT_TRUE(Read(RecordCompression::kZlib).first == plain);
}

TEST_F(RecordedRecordsTest, CorruptionIsFoundWhereTensorFlowFindsIt) {
  const struct {
    const char* file;
    RecordCompression compression;
    size_t records;
    absl::StatusCode code;
    const char* text;
  } cases[] = {
      {"no_bytes", RecordCompression::kNone, 0, absl::StatusCode::kOutOfRange,
       ""},
      {"at_boundary", RecordCompression::kNone, 2,
       absl::StatusCode::kOutOfRange, ""},
      {"short_length", RecordCompression::kNone, 1,
       absl::StatusCode::kOutOfRange, ""},
      {"short_length_crc", RecordCompression::kNone, 1,
       absl::StatusCode::kOutOfRange, ""},
      {"short_data", RecordCompression::kNone, 1, absl::StatusCode::kDataLoss,
       "truncated record at 16"},
      {"short_data_crc", RecordCompression::kNone, 1,
       absl::StatusCode::kDataLoss, "truncated record at 16"},
      {"bit_in_length", RecordCompression::kNone, 1,
       absl::StatusCode::kDataLoss, "corrupted record at 16"},
      {"bit_in_length_crc", RecordCompression::kNone, 1,
       absl::StatusCode::kDataLoss, "corrupted record at 16"},
      {"bit_in_data", RecordCompression::kNone, 1, absl::StatusCode::kDataLoss,
       "corrupted record at 28"},
      {"bit_in_data_crc", RecordCompression::kNone, 1,
       absl::StatusCode::kDataLoss, "corrupted record at 28"},
      {"gzip_as_plain", RecordCompression::kNone, 0,
       absl::StatusCode::kDataLoss,
       "corrupted record at 0 (Is this even a TFRecord file?) It begins like "
       "a compressed file: set compression_type to \"GZIP\"."},
      {"zlib", RecordCompression::kNone, 0, absl::StatusCode::kDataLoss,
       "set compression_type to \"ZLIB\"."},
      {"gzip_as_zlib", RecordCompression::kZlib, 0, absl::StatusCode::kDataLoss,
       "inflate() failed with error -3: incorrect header check"},
      {"gzip_as_zlib", RecordCompression::kZlib, 0, absl::StatusCode::kDataLoss,
       "of the compressed file. Is its compression_type right?"},
      {"plain_as_gzip", RecordCompression::kGzip, 0,
       absl::StatusCode::kDataLoss,
       "inflate() failed with error -3: incorrect header check"},
      {"gzip_short", RecordCompression::kGzip, 4, absl::StatusCode::kDataLoss,
       "truncated"},
  };
  for (const auto& c : cases) {
    Load(absl::StrCat(c.file, ".tfrecord"));
    const auto [records, end] = Read(c.compression);
    EXPECT_EQ(records.size(), c.records) << c.file;
    EXPECT_EQ(end.code(), c.code) << c.file << ": " << end;
    EXPECT_THAT(std::string(end.message()), HasSubstr(c.text)) << c.file;
  }
}

// ---- Damage ----

TEST_F(RecordsTest, EveryBitFlipIsDetected) {
  for (const RecordCompression compression : kAllCompressions) {
    Write({"some", "", "records"}, compression);
    const std::string whole = files_.ReadFile("f").value();
    const std::vector<std::string> records = Read(compression).first;
    for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string bytes = whole;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      Put(bytes);
      const auto [read, end] = Read(compression);
      // A flipped bit in gzip's header may only change the time and the system,
      // which are not read.
      const bool is_harmless = read == records && absl::IsOutOfRange(end);
      EXPECT_TRUE(!end.ok() && (absl::IsDataLoss(end) || is_harmless))
          << "bit " << bit << ": " << end;
      if (compression == RecordCompression::kNone) {
        EXPECT_FALSE(is_harmless) << "bit " << bit;
      }
    }
  }
}

TEST_F(RecordsTest, WrongLengthAllocatesLittleMemory) {
  // Lengths of 2 GiB - 1 and 2^63 bytes have valid checksums, but no data
  // follows.
  for (const std::string& length : {std::string("\xff\xff\xff\x7f\0\0\0\0", 8),
                                    std::string("\0\0\0\0\0\0\0\x80", 8)}) {
    const uint32_t crc = MaskCrc32c(Crc32c(length));
    Put(length + std::string(reinterpret_cast<const char*>(&crc), 4) + "data");
    std::string record;
    const absl::Status status = Reader()->ReadRecord(record);
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(absl::IsOutOfRange(status)) << status;
    EXPECT_LE(record.capacity(), size_t{4} << 20);
  }
}

TEST_F(RecordsTest, OverflowingLengthIsRejected) {
  const std::string length("\xfc\xff\xff\xff\xff\xff\xff\xff", 8);
  const uint32_t crc = MaskCrc32c(Crc32c(length));
  Put(length + std::string(reinterpret_cast<const char*>(&crc), 4) + "data");
  std::string record;
  const RecordReaderOptions all{.max_record_bytes = UINT64_MAX};
  EXPECT_THAT(Reader(all)->ReadRecord(record),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "18446744073709551612 bytes"));
}

TEST_F(RecordsTest, RecordSizeCanBeLimited) {
  Write({Repeated('x', 100), Repeated('y', 101)}, RecordCompression::kGzip);
  const auto reader = Reader(
      {.compression = RecordCompression::kGzip, .max_record_bytes = 100});
  std::string record;
  ASSERT_OK(reader->ReadRecord(record));
  EXPECT_EQ(record.size(), 100u);
  EXPECT_THAT(reader->ReadRecord(record),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "the record at 116 has 101 bytes, more than 100"));
}

TEST_F(RecordsTest, ConcatenatedGzipFilesAreRead) {
  Write({"a"}, RecordCompression::kGzip);
  const std::string one = files_.ReadFile("f").value();
  Put(one + one);
  const auto [records, end] = Read(RecordCompression::kGzip);
  EXPECT_THAT(records, ElementsAreArray({"a", "a"}));
  EXPECT_TRUE(absl::IsOutOfRange(end)) << end;
}

// ---- Growing files ----

TEST_F(RecordsTest, AppendedRecordsAreFound) {
  ASSERT_OK_AND_ASSIGN(auto file, files_.NewWritableFile("f"));
  RecordWriter writer(std::move(file));
  const auto reader = Reader();
  std::string record;
  EXPECT_TRUE(absl::IsOutOfRange(reader->ReadRecord(record)));
  for (const char* text : {"one", "", "three"}) {
    ASSERT_OK(writer.WriteRecord(text));
    ASSERT_OK(writer.Flush());
    ASSERT_OK(reader->ReadRecord(record));
    EXPECT_EQ(record, text);
    EXPECT_TRUE(absl::IsOutOfRange(reader->ReadRecord(record)));
  }
}

TEST_F(RecordsTest, PartialRecordIsReadOnceComplete) {
  Write({"first", "second"});
  const std::string whole = files_.ReadFile("f").value();
  for (size_t cut = 21; cut < whole.size(); ++cut) {
    Put("");
    ASSERT_OK_AND_ASSIGN(auto file, files_.NewAppendableFile("f"));
    const auto reader = Reader();
    ASSERT_OK(file->Append(whole.substr(0, cut)));
    ASSERT_OK(file->Flush());
    std::string record;
    ASSERT_OK(reader->ReadRecord(record));
    const absl::Status status = reader->ReadRecord(record);
    EXPECT_TRUE(cut < 33 ? absl::IsOutOfRange(status)
                         : absl::IsDataLoss(status))
        << cut << ": " << status;
    ASSERT_OK(file->Append(whole.substr(cut)));
    ASSERT_OK(file->Flush());
    ASSERT_OK(reader->ReadRecord(record)) << cut;
    EXPECT_EQ(record, "second");
  }
}

TEST_F(RecordsTest, FlushMakesCompressedRecordsReadable) {
  for (const RecordCompression compression :
       {RecordCompression::kZlib, RecordCompression::kGzip}) {
    ASSERT_OK_AND_ASSIGN(auto file, files_.NewWritableFile("f"));
    RecordWriter writer(std::move(file), compression);
    ASSERT_OK(writer.WriteRecord("seen"));
    ASSERT_OK(writer.Flush());
    const auto [records, end] = Read(compression);
    EXPECT_THAT(records, ElementsAreArray({"seen"}));
    // The end of the compressed stream is missing. It is unknown whether the
    // writer still runs.
    EXPECT_THAT(end, StatusIs(absl::StatusCode::kDataLoss, "has no end"));
  }
}

// ---- Files that fail ----

TEST_F(RecordsTest, WriterKeepsTheFirstError) {
  for (const RecordCompression compression : kAllCompressions) {
    FailingFileSystem failing(files_);
    ASSERT_OK_AND_ASSIGN(auto file, failing.NewWritableFile("f"));
    RecordWriter writer(std::move(file), compression);
    ASSERT_OK(writer.WriteRecord("a"));
    failing.FailAllFrom(0, absl::ResourceExhaustedError("disk full"));
    absl::Status status = writer.WriteRecord("b");
    if (status.ok()) status = writer.Flush();
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kResourceExhausted, "disk full"));
    EXPECT_EQ(writer.WriteRecord("c"), status);
    EXPECT_EQ(writer.Flush(), status);
    EXPECT_EQ(writer.Close(), status);
    EXPECT_OK(writer.Close());
    EXPECT_EQ(writer.WriteRecord("d"), status);
  }
}

}  // namespace
}  // namespace weft::summary
