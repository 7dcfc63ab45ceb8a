#include "libs/fs/path.h"

#include <fnmatch.h>

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace weft {

absl::string_view SchemeAndHost(absl::string_view path) {
  const size_t colon = path.find("://");
  if (colon == absl::string_view::npos || colon == 0) return "";
  for (const char c : path.substr(0, colon)) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) return "";
  }
  return path.substr(0, path.find('/', colon + 3));
}

std::string JoinPath(absl::string_view directory, absl::string_view name) {
  if (directory.empty() || absl::StartsWith(name, "/") ||
      !SchemeAndHost(name).empty()) {
    return std::string(name);
  }
  if (name.empty()) return std::string(directory);
  return absl::StrCat(directory, absl::EndsWith(directory, "/") ? "" : "/",
                      name);
}

absl::string_view Dirname(absl::string_view path) {
  const size_t slash = path.rfind('/');
  const size_t root = SchemeAndHost(path).size();
  if (slash == absl::string_view::npos || slash < root) return "";
  return path.substr(0, slash == 0 ? 1 : slash);
}

absl::string_view Basename(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return path;
  if (slash < SchemeAndHost(path).size()) return "";
  return path.substr(slash + 1);
}

std::string CleanPath(absl::string_view path) {
  const absl::string_view root = SchemeAndHost(path);
  path.remove_prefix(root.size());
  std::vector<absl::string_view> names;
  for (absl::string_view name : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (name != ".") names.push_back(name);
  }
  const std::string joined = absl::StrJoin(names, "/");
  if (!root.empty()) {
    return absl::StrCat(root, joined.empty() ? "" : "/", joined);
  }
  if (absl::StartsWith(path, "/")) return "/" + joined;
  return joined.empty() ? "." : joined;
}

bool MatchesPattern(absl::string_view name, absl::string_view pattern) {
  return fnmatch(std::string(pattern).c_str(), std::string(name).c_str(),
                 FNM_PATHNAME) == 0;
}

}  // namespace weft
