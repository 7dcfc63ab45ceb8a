#include "tools/ops/ops_command.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/fs/local_file_system.h"
#include "libs/ops/standard_ops.h"
#include "tools/ops/missing_ops.h"
#include "tools/ops/op_table.h"
#include "tools/ops/op_views.h"

namespace weft::tools {
namespace {

constexpr char kUsage[] =
    "usage: bazel run //tools/ops -- [--markdown | --json | --missing=FILE]\n"
    "Prints all ops: signature, shape function, kernels, gradient.\n"
    "  --markdown      a table for a document\n"
    "  --json          for programs\n"
    "  --missing=FILE  instead, those of FILE that are not here, and why; "
    "FILE\n"
    "                  is a JSON object with an entry for each op\n"
    "  --help          this\n";

constexpr absl::string_view kMissing = "--missing=";

CommandResult WrongCall(const std::string& why) {
  return {.exit_code = 2, .error = absl::StrCat("ops: ", why, "\n", kUsage)};
}

CommandResult PrintMissing(const std::string& path) {
  LocalFileSystem files;
  const absl::StatusOr<std::string> facts = files.ReadFile(path);
  if (!facts.ok()) {
    return {.exit_code = 1,
            .error = absl::StrCat("ops: ", facts.status().message(), "\n")};
  }
  const auto missing = FindMissingOps(*facts, *StandardOps());
  if (!missing.ok()) {
    return {.exit_code = 1,
            .error = absl::StrCat("ops: ", path, ": ",
                                  missing.status().message(), "\n")};
  }
  return {.output = MissingOpsAsText(*missing)};
}

}  // namespace

CommandResult RunOpsCommand(const std::vector<std::string>& arguments) {
  std::string format;
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") return {.output = kUsage};
    if (absl::StartsWith(argument, kMissing) && arguments.size() == 1) {
      return PrintMissing(argument.substr(kMissing.size()));
    }
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
