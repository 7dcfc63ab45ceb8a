// The command `weft trace`: prints the timeline of a step for chrome://tracing
// and ui.perfetto.dev.
#ifndef WEFT_TOOLS_CLI_TRACE_COMMAND_H_
#define WEFT_TOOLS_CLI_TRACE_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"

namespace weft::tools {

// Returns the JSON. The file is a serialized RunMetadata, or an event file with
// RunMetadata, of which the one with the given tag, or the last, is used.
// NOT_FOUND, listing the tags, if there is none or it has no step_stats;
// DATA_LOSS for an event file that is corrupt before it, INVALID_ARGUMENT for
// any other file.
absl::StatusOr<std::string> RunTraceCommand(FileSystem& files,
                                            const std::string& path,
                                            const std::string& tag);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TRACE_COMMAND_H_
