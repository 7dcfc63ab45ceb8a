// JsonError locates the syntax error in a text that is not valid JSON.
#ifndef WEFT_LIBS_BASE_JSON_ERROR_H_
#define WEFT_LIBS_BASE_JSON_ERROR_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// Returns the message of nlohmann::json's parser, such as "line 1, column 8:
// syntax error ...", or an empty string for valid JSON. The message quotes the
// text at that place, so do not use this function for secrets. It parses the
// text again, so call it only after a parse has failed.
std::string JsonError(absl::string_view text);

}  // namespace weft

#endif  // WEFT_LIBS_BASE_JSON_ERROR_H_
