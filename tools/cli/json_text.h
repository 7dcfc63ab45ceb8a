// Helpers for JSON output of the command. Only for .cc files, because it
// includes nlohmann's library.
#ifndef WEFT_TOOLS_CLI_JSON_TEXT_H_
#define WEFT_TOOLS_CLI_JSON_TEXT_H_

#include <string>

#include "nlohmann/json.hpp"

namespace weft::tools {

using Json = nlohmann::ordered_json;

// Returns indented text that ends with a line feed. Invalid UTF-8 is replaced,
// because names come from other processes.
inline std::string JsonText(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_JSON_TEXT_H_
