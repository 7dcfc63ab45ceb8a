// CheckIsFile rejects directories given to `weft events` and `weft trace`.
#ifndef WEFT_TOOLS_CLI_EVENT_FILE_H_
#define WEFT_TOOLS_CLI_EVENT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "libs/fs/file_system.h"

namespace weft::tools {

// INVALID_ARGUMENT for a directory, naming its newest event file if it has one.
// OK otherwise, also for a missing path.
absl::Status CheckIsFile(FileSystem& files, const std::string& path);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_EVENT_FILE_H_
