// CheckIsFile rejects directories given to `weft events` and `weft trace`.
#ifndef WEFT_TOOLS_CLI_EVENT_FILE_H_
#define WEFT_TOOLS_CLI_EVENT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "libs/fs/file_system.h"

namespace weft::tools {

// Returns INVALID_ARGUMENT if `path` is a directory. The error names the newest
// event file in it, if there is one. Returns OK otherwise, even if the path
// does not exist.
absl::Status CheckIsFile(FileSystem& files, const std::string& path);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_EVENT_FILE_H_
