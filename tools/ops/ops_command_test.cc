// Tests the command `ops`: its output in each format, and its errors for
// invalid arguments.
#include "tools/ops/ops_command.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/ops/standard_ops.h"
#include "nlohmann/json.hpp"
#include "tools/ops/op_views.h"

namespace weft::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

size_t NumOps() { return StandardOps()->List().size(); }

TEST(OpsCommandTest, TextHasOneLinePerOp) {
  const CommandResult result = RunOpsCommand({});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.error, IsEmpty());
  const auto lines = Lines(result.output);
  ASSERT_EQ(lines.size(), NumOps() + 1);
  EXPECT_THAT(lines[0], StartsWith("OP "));
  EXPECT_THAT(result.output, HasSubstr("\nMatMul "));
}

TEST(OpsCommandTest, MarkdownIsPrinted) {
  const CommandResult result = RunOpsCommand({"--markdown"});
  EXPECT_EQ(result.exit_code, 0);
  const auto lines = Lines(result.output);
  // The first lines are the counts, the header of the table and its rule.
  ASSERT_EQ(lines.size(), NumOps() + 3);
  EXPECT_THAT(lines[0], StartsWith(std::to_string(NumOps()) + " ops."));
  // Each row must have the same number of cells, whatever they contain.
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string line = absl::StrReplaceAll(lines[i], {{"\\|", ""}});
    EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 8) << lines[i];
  }
  EXPECT_THAT(result.output,
              HasSubstr("`values: N * T, axis: Tidx -> output: T`"));
}

TEST(OpsCommandTest, JsonIsPrinted) {
  const CommandResult result = RunOpsCommand({"--json"});
  EXPECT_EQ(result.exit_code, 0);
  const Json json = Json::parse(result.output);
  ASSERT_EQ(json.size(), NumOps());
  const auto find = [&](const char* name) {
    return *std::find_if(json.begin(), json.end(),
                         [&](const Json& op) { return op["name"] == name; });
  };
  const Json cast = find("Cast");
  EXPECT_EQ(cast["gradient"], "yes");
  EXPECT_EQ(cast["shape"], "yes");
  EXPECT_FALSE(cast["summary"].get<std::string>().empty());
  EXPECT_EQ(find("StringJoin")["gpu"], nullptr);
  const Json matmul = find("MatMul");
  ASSERT_TRUE(matmul["cpu"].is_object());
  EXPECT_THAT(matmul["cpu"]["T"].dump(), HasSubstr("\"float\""));
}

TEST(OpsCommandTest, UnknownArgumentsAreRejected) {
  for (const char* argument : {"--xml", "MatMul", "--markdown=yes", "-j", ""}) {
    const CommandResult result = RunOpsCommand({argument});
    EXPECT_EQ(result.exit_code, 2) << argument;
    EXPECT_THAT(result.output, IsEmpty()) << argument;
    EXPECT_THAT(result.error, HasSubstr(std::string("\"") + argument + "\""));
    EXPECT_THAT(result.error, HasSubstr("usage:"));
  }
  const CommandResult both = RunOpsCommand({"--json", "--markdown"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.error, HasSubstr("either"));
}

std::string WriteFile(const std::string& text) {
  const std::string path = testing::TempDir() + "/facts.json";
  std::ofstream(path) << text;
  return path;
}

TEST(OpsCommandTest, MissingOpsAreListedWithReason) {
  const CommandResult result = RunOpsCommand(
      {"--missing=" + WriteFile(R"({"MatMul": {}, "FFT3D": {"inputs": []},
                                    "MaxPoolGradV2": {}, "Frobnicate": {}})")});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(result.output, StartsWith("3 ops are not here.\n"));
  EXPECT_THAT(result.output, Not(HasSubstr("MatMul")));
  EXPECT_THAT(result.output, HasSubstr("FFT3D          Fourier transforms"));
  EXPECT_THAT(result.output, HasSubstr("MaxPoolGradV2  convolutions"));
  EXPECT_THAT(result.output, HasSubstr("Frobnicate     ?"));
}

TEST(OpsCommandTest, EmptyListIsPrintedIfNoOpIsMissing) {
  const CommandResult result =
      RunOpsCommand({"--missing=" + WriteFile(R"({"MatMul": {}})")});
  EXPECT_EQ(result.output, "0 ops are not here.\n");
}

TEST(OpsCommandTest, InvalidListsAreExplained) {
  for (const char* text : {"", "[]", "{\"MatMul\"", "7"}) {
    const CommandResult result =
        RunOpsCommand({"--missing=" + WriteFile(text)});
    EXPECT_EQ(result.exit_code, 1) << text;
    EXPECT_THAT(result.error, HasSubstr("not a JSON object")) << text;
  }
  const CommandResult none = RunOpsCommand({"--missing=/nowhere/facts.json"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.error, HasSubstr("/nowhere/facts.json"));
}

TEST(OpsCommandTest, HelpIsPrinted) {
  const CommandResult result = RunOpsCommand({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("--markdown"));
}

TEST(OpViewsTest, MissingOpsAreShown) {
  OpRow row;
  row.name = "Odd";
  row.summary = "a|b *c*";
  const std::string markdown = OpsAsMarkdown({row});
  EXPECT_THAT(markdown, HasSubstr("| MISSING | none | MISSING |"));
  EXPECT_THAT(markdown, HasSubstr("a\\|b \\*c\\*"));
  EXPECT_THAT(markdown, HasSubstr("Without a CPU kernel: 1."));
  EXPECT_EQ(Json::parse(OpsAsJson({row}))[0]["cpu"], nullptr);
  EXPECT_THAT(OpsAsText({row}), HasSubstr("MISSING"));
}

}  // namespace
}  // namespace weft::tools
