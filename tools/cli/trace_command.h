// Implements the command `weft trace`, which prints the timeline of a step for
// chrome://tracing and ui.perfetto.dev.
#ifndef WEFT_TOOLS_CLI_TRACE_COMMAND_H_
#define WEFT_TOOLS_CLI_TRACE_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"

namespace weft::tools {

// Returns the timeline as JSON. The file is either a serialized RunMetadata or
// an event file that contains RunMetadata. From an event file, uses the run
// with the given tag, or the last run. Returns NOT_FOUND, listing the tags, if
// there is no such run or it has no step_stats. Returns DATA_LOSS if an event
// file is corrupt before the run, and INVALID_ARGUMENT for any other file.
absl::StatusOr<std::string> RunTraceCommand(FileSystem& files,
                                            const std::string& path,
                                            const std::string& tag);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TRACE_COMMAND_H_
