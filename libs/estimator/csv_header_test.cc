#include "libs/estimator/csv_header.h"

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"

namespace weft::estimator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class CsvHeaderTest : public testing::Test {
 protected:
  std::vector<CsvRecord> Read(const std::string& text, size_t count = 100,
                              const CsvFormat& format = {}) {
    EXPECT_OK(files_.WriteFileAtomically("/a.csv", text));
    return ValueOf(ReadCsvRecords(files_, "/a.csv", format, count));
  }
  static std::vector<int64_t> LinesOf(const std::vector<CsvRecord>& records) {
    std::vector<int64_t> lines;
    for (const CsvRecord& record : records) lines.push_back(record.line);
    return lines;
  }
  static DataType TypeOf(const std::vector<std::string>& fields,
                         const std::string& na_value = "") {
    DataType type = DT_INVALID;
    for (const auto& field : fields) type = WidenedType(type, field, na_value);
    return type;
  }

  MemoryFileSystem files_;
};

TEST_F(CsvHeaderTest, LineIsARecord) {
  const auto records = Read("age,job\n30,cook\n");
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_THAT(records[0].fields, ElementsAre("age", "job"));
  EXPECT_THAT(records[1].fields, ElementsAre("30", "cook"));
  EXPECT_THAT(LinesOf(records), ElementsAre(1, 2));
}

TEST_F(CsvHeaderTest, LastLineMayLackItsEnd) {
  const auto records = Read("a,b\n1,2");
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_THAT(records[1].fields, ElementsAre("1", "2"));
  EXPECT_THAT(Read(""), IsEmpty());
}

TEST_F(CsvHeaderTest, FieldsMayBeEmpty) {
  const auto records = Read(",b,\n\n");
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_THAT(records[0].fields, ElementsAre("", "b", ""));
  EXPECT_THAT(records[1].fields, ElementsAre(""));
}

TEST_F(CsvHeaderTest, QuotedFieldHoldsDelimitersAndLines) {
  const auto records = Read("\"a,\"\"b\"\"\",c\n\"two\nlines\",d\nlast,e\n");
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_THAT(records[0].fields, ElementsAre("a,\"b\"", "c"));
  EXPECT_THAT(records[1].fields, ElementsAre("two\nlines", "d"));
  EXPECT_THAT(LinesOf(records), ElementsAre(1, 2, 4));
}

TEST_F(CsvHeaderTest, QuotesMayBePartOfTheText) {
  CsvFormat format;
  format.has_quotes = false;
  const auto records = Read("\"a,b\"\n", 1, format);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_THAT(records[0].fields, ElementsAre("\"a", "b\""));
}

TEST_F(CsvHeaderTest, CarriageReturnsEndRecords) {
  for (const char* text : {"a,b\r\n1,2\r\n", "a,b\r1,2\r"}) {
    const auto records = Read(text);
    ASSERT_THAT(records, SizeIs(2));
    EXPECT_THAT(records[0].fields, ElementsAre("a", "b"));
  }
}

TEST_F(CsvHeaderTest, MalformedRecordNamesItsLine) {
  EXPECT_OK(files_.WriteFileAtomically("/a.csv", "a\n1\n2\"5\n"));
  EXPECT_OK(ReadCsvRecords(files_, "/a.csv", {}, 2));
  EXPECT_THAT(ReadCsvRecords(files_, "/a.csv", {}, 3),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Line 3 of '/a.csv' is malformed: Unquoted fields"));
}

TEST_F(CsvHeaderTest, FirstRecordMustEndWithinOneMegabyte) {
  for (const char* begin : {"", "\"\n"}) {
    EXPECT_OK(files_.WriteFileAtomically(
        "/a.csv", begin + std::string(2 << 20, 'x') + "\n"));
    EXPECT_THAT(ReadCsvRecords(files_, "/a.csv", {}, 1),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "The first record of '/a.csv' has more than"));
  }
}

TEST_F(CsvHeaderTest, DelimiterMayBeChosen) {
  CsvFormat format;
  format.delimiter = ';';
  EXPECT_THAT(Read("a,1;b\n", 1, format)[0].fields, ElementsAre("a,1", "b"));
}

TEST_F(CsvHeaderTest, OnlyTheWantedRecordsAreRead) {
  EXPECT_THAT(Read("a\nb\nc\n", 2), SizeIs(2));
  EXPECT_THAT(Read("a\nb\nc\n", 0), IsEmpty());
}

TEST_F(CsvHeaderTest, RecordBeyondOneMegabyteIsLeftOut) {
  const std::string line(1000, 'x');
  std::string text;
  while (text.size() < (1 << 20)) text += line + "\n";
  text += line + "\n";
  const auto records = Read(text, 10000);
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records.back().fields[0].size(), 1000u);
  EXPECT_EQ(records.size(), size_t{(1 << 20) / 1001});
}

TEST_F(CsvHeaderTest, MissingFileIsAnError) {
  EXPECT_THAT(ReadCsvRecords(files_, "/none.csv", {}, 1),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(CsvHeaderTest, TypeIsTheNarrowestThatFits) {
  EXPECT_EQ(TypeOf({"1", "-2147483648"}), DT_INT32);
  EXPECT_EQ(TypeOf({"1", "2147483648"}), DT_INT64);
  EXPECT_EQ(TypeOf({"1", "2.5"}), DT_FLOAT);
  EXPECT_EQ(TypeOf({"9223372036854775808"}), DT_FLOAT);
  EXPECT_EQ(TypeOf({"1e300"}), DT_DOUBLE);
  EXPECT_EQ(TypeOf({"nan"}), DT_STRING);
  EXPECT_EQ(TypeOf({"1", "one"}), DT_STRING);
  EXPECT_EQ(TypeOf({"1e300", "1"}), DT_DOUBLE) << "types only widen";
  EXPECT_EQ(TypeOf({"one", "1"}), DT_STRING);
}

TEST_F(CsvHeaderTest, EmptyFieldsDoNotCount) {
  EXPECT_EQ(TypeOf({"", ""}), DT_INVALID);
  EXPECT_EQ(TypeOf({"", "1", ""}), DT_INT32);
  EXPECT_EQ(TypeOf({"NA", "1"}, "NA"), DT_INT32);
  EXPECT_EQ(TypeOf({"NA", "1"}), DT_STRING);
}

}  // namespace
}  // namespace weft::estimator
