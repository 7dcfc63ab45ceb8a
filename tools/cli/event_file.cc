#include "tools/cli/event_file.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"

namespace weft::tools {

absl::Status CheckIsFile(FileSystem& files, const std::string& path) {
  if (!files.IsDirectory(path).value_or(false)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto names, files.ListDirectory(path));
  std::string newest;  // the names begin with their time of creation
  for (const std::string& name : names) {
    if (absl::StrContains(name, ".tfevents.")) newest = std::max(newest, name);
  }
  return absl::InvalidArgumentError(
      newest.empty()
          ? "it is a directory, and has no event files; give a file"
          : absl::StrCat("it is a directory; give one of its event files. The "
                         "newest is ",
                         absl::StripSuffix(path, "/"), "/", newest));
}

}  // namespace weft::tools
