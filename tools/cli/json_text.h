// What all of the command's JSON has in common. Only for .cc files: it includes
// nlohmann's.
#ifndef WEFT_TOOLS_CLI_JSON_TEXT_H_
#define WEFT_TOOLS_CLI_JSON_TEXT_H_

#include <string>

#include "nlohmann/json.hpp"

namespace weft::tools {

using Json = nlohmann::ordered_json;

// With a line feed at the end. Bytes that are no UTF-8 are replaced: names come
// from other processes.
inline std::string JsonText(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_JSON_TEXT_H_
