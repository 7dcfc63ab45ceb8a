#include "libs/csv/record.h"

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/csv/plain_record.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Texts = std::vector<std::string>;

Texts ToTexts(const CsvFields& fields) {
  Texts texts;
  for (size_t i = 0; i < fields.size(); ++i) texts.emplace_back(fields[i]);
  return texts;
}

absl::StatusOr<Texts> Split(absl::string_view record,
                            const std::vector<int64_t>& selected = {},
                            const CsvFormat& format = {}) {
  CsvFields fields;
  const absl::Status status = SplitCsvRecord(record, format, selected, fields);
  if (!status.ok()) return status;
  return ToTexts(fields);
}

// Splits the lines of a file of one string, which is extended line by line.
class LineTest : public testing::Test {
 protected:
  absl::StatusOr<Texts> Next() {
    const absl::Status status = SplitCsvLine(
        text_, next_, {},
        [this]() -> absl::StatusOr<absl::string_view> {
          if (!more_.empty()) {
            text_ += more_.front();
            more_.erase(more_.begin());
          }
          return text_;
        },
        fields_);
    if (!status.ok()) return status;
    return ToTexts(fields_);
  }

  std::string text_;
  Texts more_;
  size_t next_ = 0;
  CsvFields fields_;
};

TEST(CsvRecordTest, SelectedFieldsAreReturned) {
  EXPECT_THAT(ValueOf(Split("a,b,c,d", {1, 3})), (ElementsAre("b", "d")));
  EXPECT_THAT(ValueOf(Split("a,b,c,", {3})), (ElementsAre("")));
  EXPECT_THAT(ValueOf(Split("a,b", {1, 3})), (ElementsAre("b")));
  EXPECT_THAT(ValueOf(Split("a,\"b\"x", {0})), (ElementsAre("a")))
      << "the rest is not checked";
}

TEST(CsvRecordTest, LineEndsBetweenFieldsAreSkipped) {
  EXPECT_THAT(ValueOf(Split("\n\na,\r\nb,\n")), (ElementsAre("a", "b")));
  EXPECT_THAT(ValueOf(Split("\n")), (IsEmpty()));
  EXPECT_THAT(ValueOf(Split("")), (IsEmpty()));
  EXPECT_THAT(Split("a\n"), StatusIs(kInvalid, "quotes/CRLFs"));
}

TEST(CsvRecordTest, FieldsMayHaveEscapedQuotes) {
  EXPECT_THAT(ValueOf(Split("\"a\"\"\",b,\"\"\"\"\"c\"")),
              (ElementsAre("a\"", "b", "\"\"c")));
  EXPECT_THAT(Split("\"a\" ,b"), StatusIs(kInvalid, "has to be escaped"));
  EXPECT_THAT(Split("\"a"), StatusIs(kInvalid, "has to end with quote"));
}

TEST(CsvRecordTest, QuoteMayBeTheDelimiter) {
  EXPECT_THAT(
      ValueOf(Split("a\"b", {}, {.delimiter = '"', .has_quotes = false})),
      (ElementsAre("a", "b")));
}

// Both functions must return the same fields for a plain record.
TEST(CsvRecordTest, PlainRecordsAreSplitAlike) {
  const std::string text = "0123456789abcde,,x,0123456789abcdef0,1,";
  for (size_t size = 0; size <= text.size(); ++size) {
    const std::string record = text.substr(0, size);
    const Texts expected = ValueOf(Split(record));
    std::vector<absl::string_view> fields(expected.size());
    EXPECT_TRUE(SplitPlainCsvRecord(record, {}, {}, absl::MakeSpan(fields)));
    EXPECT_EQ(Texts(fields.begin(), fields.end()), expected) << record;
  }
}

TEST_F(LineTest, QuotedFieldContinuesOnFollowingLines) {
  text_ = "a,\"b\n";
  more_ = {"c\"\"\n", "d\",e\r\n", "f\n"};
  EXPECT_THAT(ValueOf(Next()), (ElementsAre("a", "b\nc\"\nd", "e")));
  EXPECT_EQ(next_, text_.size());
  EXPECT_THAT(more_, ElementsAre("f\n"));
}

TEST_F(LineTest, RecordsMayEndWithCarriageReturns) {
  text_ = "a\rb,\r\r\nc";
  EXPECT_THAT(ValueOf(Next()), (ElementsAre("a")));
  EXPECT_THAT(ValueOf(Next()), (ElementsAre("b", "")));
  EXPECT_THAT(ValueOf(Next()), (ElementsAre("")));
  EXPECT_THAT(ValueOf(Next()), (ElementsAre("c")));
}

TEST_F(LineTest, MalformedRecordIsReadToItsEnd) {
  text_ = "a\"b,\"c\" d\",e\nf\n";
  EXPECT_THAT(Next(), StatusIs(kInvalid, "Unquoted fields cannot have quotes"));
  EXPECT_THAT(ValueOf(Next()), (ElementsAre("f")));
}

TEST_F(LineTest, NumberOfFieldsIsLimited) {
  text_ = std::string((size_t{1} << 24) + 1, ',') + "\nnext";
  EXPECT_THAT(Next(), StatusIs(absl::StatusCode::kResourceExhausted, "fields"));
  EXPECT_EQ(next_, text_.size());
}

}  // namespace
}  // namespace weft
