// Implementation of the command `ops`.
#ifndef WEFT_TOOLS_OPS_OPS_COMMAND_H_
#define WEFT_TOOLS_OPS_OPS_COMMAND_H_

#include <string>
#include <vector>

namespace weft::tools {

struct CommandResult {
  int exit_code = 0;   // 2 for a wrong call, 1 for a file that is wrong
  std::string output;  // for standard output
  std::string error;   // for standard error
};

// `arguments` excludes the program's name.
CommandResult RunOpsCommand(const std::vector<std::string>& arguments);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPS_OPS_COMMAND_H_
