#include "tools/cli/table.h"

#include "gtest/gtest.h"

namespace weft::tools {
namespace {

TEST(TableTest, ColumnWidthFitsContents) {
  Table table({{"NAME"}, {"BYTES", true}, {"WHERE"}});
  table.AddRow({"weights", "31360", "ps"});
  table.AddRow({"b", "40", ""});
  EXPECT_EQ(table.ToString(),
            "NAME     BYTES  WHERE\n"
            "weights  31360  ps\n"
            "b           40\n");
}

TEST(TableTest, EmptyTableShowsHeader) {
  EXPECT_EQ(Table({{"NAME"}, {"BYTES", true}}).ToString(), "NAME  BYTES\n");
}

TEST(TableTest, ControlCharactersAreReplaced) {
  Table table({{"NAME"}, {"X"}});
  table.AddRow({"a\x1b[2J\nb", "1"});
  EXPECT_EQ(table.ToString(),
            "NAME     X\n"
            "a?[2J?b  1\n");
}

TEST(TableTest, WidthCountsCharactersNotBytes) {
  Table table({{"N"}, {"X"}});
  table.AddRow({"\xc3\xa4\xc3\xb6", "1"});
  EXPECT_EQ(table.ToString(),
            "N   X\n"
            "\xc3\xa4\xc3\xb6  1\n");
}

TEST(TableTest, BytesAreFormattedWithUnits) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1024), "1.0 KiB");
  EXPECT_EQ(BytesText(31360), "30.6 KiB");
  EXPECT_EQ(BytesText((int64_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(BytesText(int64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(BytesText(std::numeric_limits<int64_t>::max()), "8.0 EiB");
}

TEST(TableTest, CountsAreFormattedWithPlurals) {
  EXPECT_EQ(CountText(1, "task"), "1 task");
  EXPECT_EQ(CountText(0, "task"), "0 tasks");
}

}  // namespace
}  // namespace weft::tools
