// ops: prints the table of all ops.
//
//   bazel run //tools/ops -- --markdown
//
// `--help` lists its options. Exits with 2 for invalid arguments, and with 1 if
// a file cannot be read.
#include <cstdio>

#include "tools/ops/ops_command.h"

// NOLINTNEXTLINE(bugprone-exception-escape): JSON of texts that are our own
int main(int argc, char** argv) {
  const auto result = weft::tools::RunOpsCommand({argv + 1, argv + argc});
  std::fputs(result.error.c_str(), stderr);
  std::fputs(result.output.c_str(), stdout);
  return result.exit_code;
}
