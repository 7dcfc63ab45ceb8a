// Paths as strings, without asking any file system. One that begins with
// "scheme://host" names a file elsewhere; that stands for its root.
#ifndef WEFT_LIBS_FS_PATH_H_
#define WEFT_LIBS_FS_PATH_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// "zmq://host:port" of "zmq://host:port/a"; empty where there is no scheme.
absl::string_view SchemeAndHost(absl::string_view path);

// "a/b"; an absolute `name` stands alone, an empty part is left out.
std::string JoinPath(absl::string_view directory, absl::string_view name);

// Everything before the last name: "a/b" for "a/b/c", "/" for "/a", "" for "a",
// "zmq://host" for "zmq://host/a", whose own is "".
absl::string_view Dirname(absl::string_view path);

// The last name: "c" for "a/b/c", "" for "a/b/".
absl::string_view Basename(absl::string_view path);

// Without repeated and trailing slashes and "." parts; "." when nothing is
// left. ".." is kept, as it may lead through a link.
std::string CleanPath(absl::string_view path);

// Whether `name` matches the whole of `pattern` (see GetMatchingPaths).
bool MatchesPattern(absl::string_view name, absl::string_view pattern);

}  // namespace weft

#endif  // WEFT_LIBS_FS_PATH_H_
