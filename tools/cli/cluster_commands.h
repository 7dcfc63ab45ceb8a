// The commands that look at a running cluster and change it: status, devices,
// variables, containers, reset, shutdown.
//
// Threads: functions that wait, for the call's timeout at most.
#ifndef WEFT_TOOLS_CLI_CLUSTER_COMMANDS_H_
#define WEFT_TOOLS_CLI_CLUSTER_COMMANDS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "libs/runtime/process.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Whether the user wants what the question says. Empty: there is nobody to ask,
// and what was called for is wanted.
using Ask = std::function<bool(const std::string& question)>;

bool IsClusterCommand(const std::string& command);

// What is to be printed. CANCELLED where the user does not want it after all;
// errors of Weft's otherwise. REQUIRES: IsClusterCommand(invocation.command).
absl::StatusOr<std::string> RunClusterCommand(Process& process,
                                              const Invocation& invocation,
                                              const Ask& ask);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_CLUSTER_COMMANDS_H_
