// The commands that inspect and change a running cluster: status, devices,
// variables, containers, reset and shutdown.
//
// Threads: the functions block, at most for the timeout of the call.
#ifndef WEFT_TOOLS_CLI_CLUSTER_COMMANDS_H_
#define WEFT_TOOLS_CLI_CLUSTER_COMMANDS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "libs/runtime/process/process.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Asks the user for confirmation and returns the answer. If it is empty, there
// is no terminal, and the command is executed without confirmation.
using Ask = std::function<bool(const std::string& question)>;

bool IsClusterCommand(const std::string& command);

// Runs the command and returns its output. Returns CANCELLED if the user
// declines, or errors of the cluster. REQUIRES:
// IsClusterCommand(invocation.command).
absl::StatusOr<std::string> RunClusterCommand(Process& process,
                                              const Invocation& invocation,
                                              const Ask& ask);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_CLUSTER_COMMANDS_H_
