// Implements the command `weft events`, which prints the events in a file.
#ifndef WEFT_TOOLS_CLI_EVENTS_COMMAND_H_
#define WEFT_TOOLS_CLI_EVENTS_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Returns one line for each value of a summary and for each other event, or
// JSON. Returns DATA_LOSS if the file is corrupt; the error contains the events
// before the corruption and its position. Other errors come from opening or
// reading the file.
absl::StatusOr<std::string> RunEventsCommand(FileSystem& files,
                                             const std::string& path,
                                             Format format);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_EVENTS_COMMAND_H_
