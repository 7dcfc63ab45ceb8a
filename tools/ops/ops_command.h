// Implements the command `ops`.
#ifndef WEFT_TOOLS_OPS_OPS_COMMAND_H_
#define WEFT_TOOLS_OPS_OPS_COMMAND_H_

#include <string>
#include <vector>

namespace weft::tools {

struct CommandResult {
  int exit_code = 0;   // 0: success; 1: invalid file; 2: invalid arguments
  std::string output;  // for standard output
  std::string error;   // for standard error
};

// Runs the command. `arguments` excludes the name of the program.
CommandResult RunOpsCommand(const std::vector<std::string>& arguments);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPS_OPS_COMMAND_H_
