#include "tools/ops/ops_command.h"

#include "absl/strings/str_cat.h"
#include "tools/ops/op_table.h"
#include "tools/ops/op_views.h"

namespace weft::tools {
namespace {

constexpr char kUsage[] =
    "usage: bazel run //tools/ops -- [--markdown | --json]\n"
    "Prints all ops: signature, shape function, kernels, gradient.\n"
    "  --markdown  a table for a document\n"
    "  --json      for programs\n"
    "  --help      this\n";

CommandResult WrongCall(const std::string& why) {
  return {.exit_code = 2, .error = absl::StrCat("ops: ", why, "\n", kUsage)};
}

}  // namespace

CommandResult RunOpsCommand(const std::vector<std::string>& arguments) {
  std::string format;
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") return {.output = kUsage};
    if (argument != "--markdown" && argument != "--json") {
      return WrongCall(absl::StrCat("there is no option \"", argument, "\""));
    }
    if (!format.empty() && format != argument) {
      return WrongCall("either --markdown or --json");
    }
    format = argument;
  }
  const std::vector<OpRow> rows = StandardOpTable();
  if (format == "--markdown") return {.output = OpsAsMarkdown(rows)};
  if (format == "--json") return {.output = OpsAsJson(rows)};
  return {.output = OpsAsText(rows)};
}

}  // namespace weft::tools
