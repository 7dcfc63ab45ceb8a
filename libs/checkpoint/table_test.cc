#include "libs/checkpoint/table.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/crc32c.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/testing/crafted_table.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/memory_file_system.h"

namespace weft::checkpoint {
namespace {

constexpr char kPath[] = "table";

using Entries = std::map<std::string, std::string>;

// Returns entries that fill several blocks. Some blocks have only one entry.
Entries ManyEntries() {
  Entries entries = {{"", "header"}, {"zz", ""}};
  for (int i = 0; i < 3000; ++i) {
    entries[absl::StrCat("layer_", i % 7, "/weights_", i)] =
        std::string(i % 400, static_cast<char>('a' + i % 26));
  }
  entries["layer_3/large"] = std::string(600000, 'x');
  return entries;
}

class TableTest : public ::testing::Test {
 protected:
  void Build(const Entries& entries) {
    ASSERT_OK_AND_ASSIGN(auto file, fs_.NewWritableFile(kPath));
    TableBuilder builder(*file);
    for (const auto& [key, value] : entries) ASSERT_OK(builder.Add(key, value));
    ASSERT_OK(builder.Finish());
    ASSERT_OK(file->Close());
  }
  absl::StatusOr<std::unique_ptr<Table>> Open() {
    ASSIGN_OR_RETURN(const uint64_t size, fs_.GetFileSize(kPath));
    ASSIGN_OR_RETURN(auto file, fs_.NewRandomAccessFile(kPath));
    return Table::Open(std::move(file), size, kPath);
  }
  absl::StatusOr<std::unique_ptr<Table>> Open(const std::string& bytes) {
    RETURN_IF_ERROR(fs_.WriteFileAtomically(kPath, bytes));
    return Open();
  }
  // Returns all entries of the table with these bytes.
  absl::StatusOr<Entries> ReadAll(const std::string& bytes) {
    ASSIGN_OR_RETURN(const auto table, Open(bytes));
    return ReadAll(*table);
  }
  static absl::StatusOr<Entries> ReadAll(Table& table) {
    Entries entries;
    RETURN_IF_ERROR(table.ForEach(
        [&](absl::string_view key, absl::string_view value) -> absl::Status {
          entries.emplace(key, value);
          return absl::OkStatus();
        }));
    return entries;
  }

  MemoryFileSystem fs_;
};

// SparseFile is a long file of zeros with data only at its beginning and end.
// On a disk, such a file takes only a few blocks.
class SparseFile : public RandomAccessFile {
 public:
  SparseFile(std::string begin, std::string end, uint64_t size)
      : begin_(std::move(begin)), end_(std::move(end)), size_(size) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t size,
                              char* to) const override {
    for (size_t i = 0; i < size; ++i) to[i] = At(offset + i);
    return size;
  }

 private:
  char At(uint64_t offset) const {
    if (offset < begin_.size()) return begin_[offset];
    if (offset >= size_ - end_.size()) {
      return end_[offset - (size_ - end_.size())];
    }
    return 0;
  }

  const std::string begin_;
  const std::string end_;
  const uint64_t size_;
};

TEST_F(TableTest, LongEmptyFileAllocatesLittle) {
  constexpr uint64_t kSize = uint64_t{8} << 40;
  const std::string table = CraftTableWithHandle(0, kSize / 2);
  auto file = std::make_unique<SparseFile>(
      table, table.substr(table.size() - 48), kSize);
  ASSERT_OK_AND_ASSIGN(const auto opened,
                       Table::Open(std::move(file), kSize, kPath));
  EXPECT_THAT(opened->Find("a"), StatusIs(absl::StatusCode::kDataLoss,
                                          "a block of 4398046511104"));
  EXPECT_THAT(ReadAll(*opened), StatusIs(absl::StatusCode::kDataLoss,
                                         "a block of 4398046511104"));
}

// Without a limit, keys that share a prefix with the previous key could take
// memory that is quadratic in the file's size.
TEST_F(TableTest, KeySizeIsBounded) {
  const std::string half(40000, 'a');
  EXPECT_THAT(
      ReadAll(CraftTable(CraftBlock(
          {CraftEntry(0, half, ""), CraftEntry(40000, half, "")}, {0}))),
      StatusIs(absl::StatusCode::kDataLoss, "a key that is too long"));
  ASSERT_OK_AND_ASSIGN(auto file, fs_.NewWritableFile(kPath));
  TableBuilder builder(*file);
  EXPECT_OK(builder.Add(std::string(kMaxKeySize, 'a'), ""));
  EXPECT_THAT(builder.Add(std::string(kMaxKeySize + 1, 'b'), ""),
              StatusIs(absl::StatusCode::kInvalidArgument, "65537 bytes"));
}

TEST_F(TableTest, EntriesRoundTrip) {
  const Entries entries = ManyEntries();
  ASSERT_NO_FATAL_FAILURE(Build(entries));
  ASSERT_OK_AND_ASSIGN(const auto table, Open());
  ASSERT_OK_AND_ASSIGN(const Entries read, ReadAll(*table));
  EXPECT_EQ(read, entries);
  for (const auto& [key, value] : entries) {
    ASSERT_OK_AND_ASSIGN(const auto found, table->Find(key));
    EXPECT_EQ(found, value) << key;
    ASSERT_OK_AND_ASSIGN(const auto missing, table->Find(key + "!"));
    EXPECT_EQ(missing, std::nullopt);
  }
  ASSERT_OK_AND_ASSIGN(const auto behind, table->Find("zzz"));
  EXPECT_EQ(behind, std::nullopt);
}

TEST_F(TableTest, TableMayBeEmpty) {
  ASSERT_NO_FATAL_FAILURE(Build({}));
  ASSERT_OK_AND_ASSIGN(const auto table, Open());
  ASSERT_OK_AND_ASSIGN(const Entries read, ReadAll(*table));
  EXPECT_EQ(read, Entries());
  ASSERT_OK_AND_ASSIGN(const auto missing, table->Find(""));
  EXPECT_EQ(missing, std::nullopt);
}

TEST_F(TableTest, VisitorMayLookUpKeys) {
  const Entries entries = ManyEntries();
  ASSERT_NO_FATAL_FAILURE(Build(entries));
  ASSERT_OK_AND_ASSIGN(const auto table, Open());
  int visited = 0;
  EXPECT_OK(table->ForEach(
      [&](absl::string_view key, absl::string_view value) -> absl::Status {
        ++visited;
        RETURN_IF_ERROR(table->Find("zz").status());
        EXPECT_EQ(entries.at(std::string(key)), value);
        return absl::OkStatus();
      }));
  EXPECT_EQ(visited, entries.size());
}

TEST_F(TableTest, VisitorErrorEndsVisit) {
  ASSERT_NO_FATAL_FAILURE(Build({{"a", "1"}, {"b", "2"}}));
  ASSERT_OK_AND_ASSIGN(const auto table, Open());
  int visited = 0;
  EXPECT_THAT(table->ForEach([&](absl::string_view, absl::string_view) {
    ++visited;
    return absl::AbortedError("enough");
  }),
              StatusIs(absl::StatusCode::kAborted, "enough"));
  EXPECT_EQ(visited, 1);
}

TEST_F(TableTest, KeysMustAscend) {
  ASSERT_OK_AND_ASSIGN(auto file, fs_.NewWritableFile(kPath));
  TableBuilder builder(*file);
  ASSERT_OK(builder.Add("b", ""));
  EXPECT_THAT(builder.Add("b", ""),
              StatusIs(absl::StatusCode::kInternal, "ascend"));
  EXPECT_THAT(builder.Add("a", ""),
              StatusIs(absl::StatusCode::kInternal, "ascend"));
}

TEST_F(TableTest, ErrorsOfTheFileAreReturned) {
  FailingFileSystem failing(fs_);
  ASSERT_OK_AND_ASSIGN(auto file, failing.NewWritableFile(kPath));
  failing.LimitSpace(100);
  TableBuilder builder(*file);
  absl::Status status;
  for (const auto& [key, value] : ManyEntries()) {
    status.Update(builder.Add(key, value));
  }
  status.Update(builder.Finish());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(TableTest, CorruptionNamesFileAndOffset) {
  ASSERT_NO_FATAL_FAILURE(Build({{"a", "1"}}));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, fs_.ReadFile(kPath));
  EXPECT_THAT(Open(""), StatusIs(absl::StatusCode::kDataLoss,
                                 "file is too short to be an sstable (table"));
  EXPECT_THAT(Open(bytes.substr(0, bytes.size() - 1)),
              StatusIs(absl::StatusCode::kDataLoss,
                       "not an sstable (bad magic number) (table, byte"));
  std::string turned = bytes;
  turned[0] = static_cast<char>(turned[0] ^ 1);
  EXPECT_THAT(ReadAll(turned),
              StatusIs(absl::StatusCode::kDataLoss,
                       "block checksum mismatch (table, byte 0)"));
}

// If any bit is flipped, reading must fail or return the same entries.
TEST_F(TableTest, BitFlipsNeverChangeEntriesRead) {
  const Entries entries = {
      {"", "header"}, {"ab", "1"}, {"abc", ""}, {"b", "2"}};
  ASSERT_NO_FATAL_FAILURE(Build(entries));
  ASSERT_OK_AND_ASSIGN(std::string bytes, fs_.ReadFile(kPath));
  int refused = 0;
  for (char& byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<char>(byte ^ (1 << bit));
      const auto read = ReadAll(bytes);
      if (read.ok()) {
        EXPECT_EQ(*read, entries);
      } else {
        ++refused;
      }
      byte = static_cast<char>(byte ^ (1 << bit));
    }
  }
  // Only changes of the footer's padding and of the (empty) list of filters are
  // not detected.
  EXPECT_GT(refused, 8 * (static_cast<int>(bytes.size()) - 60));
}

// The following tests use crafted blocks with valid checksums.

TEST_F(TableTest, UnknownCompressionIsNamed) {
  EXPECT_THAT(ReadAll(CraftTable(CraftBlock({"aaaa"}, {0}), /*type=*/2)),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "table: the block at byte 0 has compression type 2"));
}

TEST_F(TableTest, ReadsSnappyBlocks) {
  const std::string zeros(1000000, '\0');
  ASSERT_OK_AND_ASSIGN(
      const auto table,
      Open(CraftSnappyTable(CraftBlock(
          {CraftEntry(0, "ab", zeros), CraftEntry(1, "c", "2")}, {0}))));
  ASSERT_OK_AND_ASSIGN(const Entries read, ReadAll(*table));
  EXPECT_EQ(read, (Entries{{"ab", zeros}, {"ac", "2"}}));
  ASSERT_OK_AND_ASSIGN(const auto found, table->Find("ac"));
  EXPECT_EQ(found, "2");
  ASSERT_OK_AND_ASSIGN(const auto missing, table->Find("b"));
  EXPECT_EQ(missing, std::nullopt);
}

// A declared length may be false. No memory is reserved for a length that the
// compressed bytes cannot have.
TEST_F(TableTest, SnappyLengthIsBounded) {
  const std::string claims_4_gib("\xff\xff\xff\xff\x0f", 5);
  EXPECT_THAT(
      ReadAll(CraftTable(claims_4_gib + std::string(100, 'a'), /*type=*/1)),
      StatusIs(absl::StatusCode::kDataLoss,
               "a Snappy block of 105 bytes that claims to hold 4294967295 "
               "(table, byte 0)"));
  std::string claims_one_more;
  AppendVarint(23 * 23, &claims_one_more);
  claims_one_more.resize(22, 'a');
  EXPECT_THAT(ReadAll(CraftTable(claims_one_more, /*type=*/1)),
              StatusIs(absl::StatusCode::kDataLoss, "claims to hold 529"));
}

TEST_F(TableTest, CorruptSnappyBlocksAreRejected) {
  const std::string block = CraftBlock(
      {CraftEntry(0, "a", std::string(300, 'x')), CraftEntry(0, "b", "y")},
      {0});
  std::string compressed;
  snappy::Compress(block.data(), block.size(), &compressed);
  const auto read = [&](const std::string& bytes) {
    return ReadAll(CraftTable(bytes, /*type=*/1)).status();
  };
  ASSERT_OK(read(compressed));
  for (size_t size = 0; size < compressed.size(); ++size) {
    EXPECT_EQ(read(compressed.substr(0, size)).code(),
              absl::StatusCode::kDataLoss)
        << size;
  }
  EXPECT_EQ(read(compressed + "a").code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(read("").message(), testing::HasSubstr("without a length"));
  EXPECT_THAT(read("\xff\xff\xff\xff\xff\xff").message(),
              testing::HasSubstr("without a length"));
  EXPECT_THAT(read("\x08garbage!").message(),
              testing::HasSubstr("corrupted Snappy block (table, byte 0)"));
}

TEST_F(TableTest, ReadingABlockCanBeCancelled) {
  ASSERT_NO_FATAL_FAILURE(Build({{"a", "1"}}));
  ASSERT_OK_AND_ASSIGN(const uint64_t size, fs_.GetFileSize(kPath));
  ASSERT_OK_AND_ASSIGN(auto file, fs_.NewRandomAccessFile(kPath));
  Cancellation cancellation;
  ASSERT_OK_AND_ASSIGN(const auto table, Table::Open(std::move(file), size,
                                                     kPath, &cancellation));
  cancellation.Cancel(absl::CancelledError("enough"));
  EXPECT_THAT(table->Find("a"),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
}

TEST_F(TableTest, ReadsACraftedBlock) {
  ASSERT_OK_AND_ASSIGN(
      const Entries read,
      ReadAll(CraftTable(CraftBlock(
          {CraftEntry(0, "ab", "1"), CraftEntry(1, "c", "2")}, {0}))));
  EXPECT_EQ(read, (Entries{{"ab", "1"}, {"ac", "2"}}));
}

TEST_F(TableTest, LengthsBeyondBlockAreRejected) {
  // The sum of the two lengths in `overflow` exceeds 32 bits.
  const std::string overflow("\0\xff\xff\xff\xff\x0f\x02key", 10);
  const std::string too_long("\0\x05\x05key", 6);
  const std::string never_ends("\0\xff\xff\xff\xff\xff\xff\xff\x01", 9);
  for (const std::string& entry : {overflow, too_long, never_ends}) {
    EXPECT_THAT(ReadAll(CraftTable(CraftBlock({entry}, {0}))),
                StatusIs(absl::StatusCode::kDataLoss, "bad entry in block"));
  }
}

TEST_F(TableTest, SharedPrefixBeyondKeyIsRejected) {
  EXPECT_THAT(ReadAll(CraftTable(CraftBlock({CraftEntry(1, "a", "")}, {0}))),
              StatusIs(absl::StatusCode::kDataLoss, "bad entry in block"));
}

TEST_F(TableTest, UnorderedKeysAreRejected) {
  EXPECT_THAT(ReadAll(CraftTable(CraftBlock(
                  {CraftEntry(0, "b", ""), CraftEntry(0, "a", "")}, {0}))),
              StatusIs(absl::StatusCode::kDataLoss, "do not ascend"));
  EXPECT_THAT(ReadAll(CraftTable(CraftBlock(
                  {CraftEntry(0, "b", ""), CraftEntry(1, "", "")}, {0}))),
              StatusIs(absl::StatusCode::kDataLoss, "do not ascend"));
}

TEST_F(TableTest, KeyAfterIndexKeyIsRejected) {
  EXPECT_THAT(
      ReadAll(CraftTable(CraftBlock({CraftEntry(0, "zzz", "")}, {0}))),
      StatusIs(absl::StatusCode::kDataLoss, "its block should not have"));
}

TEST_F(TableTest, TooManyRestartsAreRejected) {
  for (const uint32_t restarts : {3u, 0x40000000u, 0xffffffffu}) {
    std::string block = CraftBlock({CraftEntry(0, "a", "")}, {0});
    block.resize(block.size() - 4);
    for (int i = 0; i < 4; ++i) {
      block.push_back(static_cast<char>(restarts >> (8 * i)));
    }
    const auto read = ReadAll(CraftTable(block));
    EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << restarts;
  }
}

TEST_F(TableTest, RestartsBeyondBlockAreRejected) {
  const std::string block = CraftBlock(
      {CraftEntry(0, "a", ""), CraftEntry(0, "b", "")}, {0, 4000000000u});
  ASSERT_OK_AND_ASSIGN(const auto table, Open(CraftTable(block)));
  EXPECT_THAT(table->Find("b"),
              StatusIs(absl::StatusCode::kDataLoss, "restart"));
}

TEST_F(TableTest, HandlesBeyondFileAreRejected) {
  for (const uint64_t size :
       {uint64_t{1} << 20, uint64_t{1} << 62, ~uint64_t{0}, ~uint64_t{0} - 4}) {
    EXPECT_THAT(ReadAll(CraftTableWithHandle(0, size)),
                StatusIs(absl::StatusCode::kDataLoss, "bad block handle"));
    EXPECT_THAT(ReadAll(CraftTableWithHandle(size, 0)),
                StatusIs(absl::StatusCode::kDataLoss, "bad block handle"));
  }
}

}  // namespace
}  // namespace weft::checkpoint
