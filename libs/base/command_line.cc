#include "libs/base/command_line.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"

namespace weft {
namespace {

// Abseil has flags of its own, such as --flagfile and --help=...; --helpfull
// shows these.
bool IsOfWeft(absl::string_view file) {
  return !absl::StrContains(file, "absl/flags/");
}

void ShowFlagsOfLibraries() {
  absl::FlagsUsageConfig config;
  config.contains_helpshort_flags = IsOfWeft;
  config.contains_help_flags = IsOfWeft;
  config.contains_helppackage_flags = IsOfWeft;
  absl::SetFlagsUsageConfig(config);
}

}  // namespace

void ParseFlags(int argc, char** argv, absl::string_view usage) {
  ShowFlagsOfLibraries();
  absl::SetProgramUsageMessage(usage);
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() <= 1) return;
  std::fprintf(stderr,
               "%s: unexpected argument \"%s\": flags are --name=value; --help "
               "lists them\n",
               argv[0], rest[1]);
  std::exit(1);
}

}  // namespace weft
