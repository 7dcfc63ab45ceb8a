#include "libs/csv/record_reader.h"

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Texts = std::vector<std::string>;

class CsvRecordReaderTest : public testing::Test {
 protected:
  // Reads a file that consists of `lines_`, from its start or a later position.
  CsvRecordReader Reader(bool at_start = true) {
    return CsvRecordReader({}, at_start, [this](std::string& line) {
      if (!error_.ok()) return std::exchange(error_, absl::OkStatus());
      if (lines_.empty()) return absl::OutOfRangeError("the end");
      line = lines_.front();
      lines_.erase(lines_.begin());
      return absl::OkStatus();
    });
  }
  // Returns the fields of each record; "error" for a malformed one.
  static std::vector<Texts> All(CsvRecordReader& reader) {
    std::vector<Texts> all;
    while (true) {
      const absl::StatusOr<bool> has_record = reader.Next();
      if (has_record.ok() && !*has_record) return all;
      Texts& texts = all.emplace_back();
      if (!has_record.ok()) texts = {"error"};
      if (!has_record.ok()) continue;
      for (size_t i = 0; i < reader.fields().size(); ++i) {
        texts.emplace_back(reader.fields()[i]);
      }
    }
  }

  Texts lines_;
  absl::Status error_;
};

TEST_F(CsvRecordReaderTest, LinesAndUnreadBytesAreCounted) {
  lines_ = {"a,b\n", "c\rd\n", "\"e\n", "f\",\n", "g\n"};
  CsvRecordReader reader = Reader();
  std::vector<int64_t> lines;
  std::vector<size_t> unread;
  while (ValueOf(reader.Next())) {
    lines.push_back(reader.line());
    unread.push_back(reader.unread_bytes());
  }
  EXPECT_THAT(lines, ElementsAre(1, 2, 2, 3, 5));
  EXPECT_THAT(unread, ElementsAre(0, 2, 0, 0, 0));
}

TEST_F(CsvRecordReaderTest, ByteOrderMarkIsSkippedAtTheStartOnly) {
  const Texts lines = {"\xef\xbb\xbf\"a\",b\n",
                       "\xef\xbb\xbf"
                       "c\n"};
  lines_ = lines;
  CsvRecordReader reader = Reader();
  EXPECT_THAT(All(reader),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("\xef\xbb\xbf"
                                                             "c")));
  lines_ = lines;
  CsvRecordReader later = Reader(/*at_start=*/false);
  EXPECT_THAT(All(later),
              ElementsAre(ElementsAre("error"), ElementsAre("\xef\xbb\xbf"
                                                            "c")));
}

TEST_F(CsvRecordReaderTest, FileOfAByteOrderMarkIsEmpty) {
  lines_ = {"\xef\xbb\xbf"};
  CsvRecordReader reader = Reader();
  EXPECT_THAT(All(reader), IsEmpty());
  EXPECT_EQ(reader.unread_bytes(), 0u);
}

TEST_F(CsvRecordReaderTest, RecordsAfterAMalformedOneAreRead) {
  lines_ = {"a\"b\n", "c\n", "\"d\n"};
  CsvRecordReader reader = Reader();
  EXPECT_THAT(All(reader), ElementsAre(ElementsAre("error"), ElementsAre("c"),
                                       ElementsAre("error")));
}

TEST_F(CsvRecordReaderTest, ReadErrorCanBeRetried) {
  lines_ = {"a\n", "b\n"};
  CsvRecordReader reader = Reader();
  EXPECT_TRUE(ValueOf(reader.Next()));
  error_ = absl::UnavailableError("no answer");
  EXPECT_THAT(reader.Next(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(reader.unread_bytes(), 0u);
  EXPECT_THAT(All(reader), ElementsAre(ElementsAre("b")));
}

}  // namespace
}  // namespace weft
