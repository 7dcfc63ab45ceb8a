// CheckIsFile: what `weft events` and `weft trace` say of a directory.
#ifndef WEFT_TOOLS_CLI_EVENT_FILE_H_
#define WEFT_TOOLS_CLI_EVENT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "libs/fs/file_system.h"

namespace weft::tools {

// INVALID_ARGUMENT for a directory, naming its newest event file if it has one.
// OK for all else, also for a path where nothing is.
absl::Status CheckIsFile(FileSystem& files, const std::string& path);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_EVENT_FILE_H_
