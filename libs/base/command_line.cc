#include "libs/base/command_line.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/near_names.h"

namespace weft {
namespace {

// Returns whether a flag that is defined in `file` belongs to Weft. Abseil
// defines further flags, such as --flagfile and --help=...; --helpfull lists
// these.
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

// Returns the flag, or null if the program has no such flag. "noNAME" finds the
// boolean flag NAME, which --noNAME turns off.
const absl::CommandLineFlag* FindFlag(absl::string_view name) {
  const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
  if (flag != nullptr || !absl::ConsumePrefix(&name, "no")) return flag;
  flag = absl::FindCommandLineFlag(name);
  return flag != nullptr && flag->IsOfType<bool>() ? flag : nullptr;
}

// Returns whether Abseil handles the flag without registering it, such as
// --help=MATCH.
bool IsHandledByAbseil(absl::string_view name) {
  return absl::StartsWith(name, "help") || name == "version" ||
         name == "only_check_args";
}

// Returns the first of `arguments` that names a flag which the program does not
// have, without dashes and value. Returns "" if all flags exist. Abseil's
// parser also refuses an unknown flag, but does not suggest a similar one.
absl::string_view UnknownFlag(const std::vector<absl::string_view>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view name = arguments[i];
    if (name == "--") break;
    if (!absl::ConsumePrefix(&name, "-") || name.empty()) continue;
    absl::ConsumePrefix(&name, "-");
    const size_t equals = name.find('=');
    name = name.substr(0, equals);
    if (name == "undefok") return "";  // allows unknown flags
    if (IsHandledByAbseil(name)) continue;
    const absl::CommandLineFlag* flag = FindFlag(name);
    if (flag == nullptr) return name;
    const bool has_value = equals != absl::string_view::npos;
    const bool next_is_value = !has_value && !flag->IsOfType<bool>();
    if (next_is_value) ++i;
  }
  return "";
}

[[noreturn]] void EndWith(const std::string& error) {
  std::fprintf(stderr, "%s\n", error.c_str());
  std::exit(1);
}

void CheckFlagNames(int argc, char** argv) {
  const absl::string_view unknown = UnknownFlag({argv + 1, argv + argc});
  if (unknown.empty()) return;
  NearNames near(unknown);
  for (const auto& [name, flag] : absl::GetAllFlags()) near.Consider(name);
  EndWith(absl::StrCat(argv[0], ": unknown flag --", unknown, ".",
                       near.Suggestion(), " --help lists all flags"));
}

}  // namespace

void ParseFlags(int argc, char** argv, absl::string_view usage) {
  ShowFlagsOfLibraries();
  absl::SetProgramUsageMessage(usage);
  CheckFlagNames(argc, argv);
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() <= 1) return;
  EndWith(absl::StrCat(argv[0], ": unexpected argument \"", rest[1],
                       "\": flags are --name=value; --help lists them"));
}

}  // namespace weft
