// Path functions on strings, without access to a file system. A path that
// begins with "scheme://host" names a remote file, and this prefix is its root.
#ifndef WEFT_LIBS_FS_PATH_H_
#define WEFT_LIBS_FS_PATH_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// Returns "zmq://host:port" for "zmq://host:port/a", and "" for a path without
// a scheme.
absl::string_view SchemeAndHost(absl::string_view path);

// Returns "a/b" for "a" and "b". Returns an absolute `name` unchanged, and
// ignores empty parts.
std::string JoinPath(absl::string_view directory, absl::string_view name);

// Returns everything before the last name: "a/b" for "a/b/c", "/" for "/a", ""
// for "a", and "zmq://host" for "zmq://host/a". The result for "zmq://host" is
// "".
absl::string_view Dirname(absl::string_view path);

// Returns the last name: "c" for "a/b/c", "" for "a/b/".
absl::string_view Basename(absl::string_view path);

// Returns the path without repeated and trailing slashes and without "." parts,
// or "." if nothing is left. ".." is kept, because it may follow a symbolic
// link.
std::string CleanPath(absl::string_view path);

// Returns whether `name` matches the whole of `pattern` (see GetMatchingPaths).
bool MatchesPattern(absl::string_view name, absl::string_view pattern);

}  // namespace weft

#endif  // WEFT_LIBS_FS_PATH_H_
