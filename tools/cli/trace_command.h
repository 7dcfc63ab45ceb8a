// The command `weft trace`: what ran when in a step, for chrome://tracing and
// ui.perfetto.dev.
#ifndef WEFT_TOOLS_CLI_TRACE_COMMAND_H_
#define WEFT_TOOLS_CLI_TRACE_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"

namespace weft::tools {

// The JSON. The file is a serialised RunMetadata, or an event file that has
// some; of these the one with that tag, or the last. NOT_FOUND, with the tags
// that there are, where there is none or where it has no step_stats; DATA_LOSS
// for an event file that is damaged before it, INVALID_ARGUMENT for any other
// file.
absl::StatusOr<std::string> RunTraceCommand(FileSystem& files,
                                            const std::string& path,
                                            const std::string& tag);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_TRACE_COMMAND_H_
