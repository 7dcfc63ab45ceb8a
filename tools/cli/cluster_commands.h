// The commands that inspect and change a running cluster: status, devices,
// variables, containers, reset, shutdown.
//
// Threads: functions wait, at most for the call's timeout.
#ifndef WEFT_TOOLS_CLI_CLUSTER_COMMANDS_H_
#define WEFT_TOOLS_CLI_CLUSTER_COMMANDS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "libs/runtime/process/process.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Asks the user for confirmation. Empty: there is no terminal, and the command
// is executed.
using Ask = std::function<bool(const std::string& question)>;

bool IsClusterCommand(const std::string& command);

// Returns the output. CANCELLED if the user declines; errors of Weft otherwise.
// REQUIRES: IsClusterCommand(invocation.command).
absl::StatusOr<std::string> RunClusterCommand(Process& process,
                                              const Invocation& invocation,
                                              const Ask& ask);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_CLUSTER_COMMANDS_H_
