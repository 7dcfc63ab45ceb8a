// JsonError locates the mistake in a text that is not JSON.
#ifndef WEFT_LIBS_BASE_JSON_ERROR_H_
#define WEFT_LIBS_BASE_JSON_ERROR_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// "line 1, column 8: syntax error ...", by the parser of nlohmann::json; empty
// for JSON. The result quotes the text at that place: do not use it for
// secrets. Parses the text anew, so call it only after a parse has failed.
std::string JsonError(absl::string_view text);

}  // namespace weft

#endif  // WEFT_LIBS_BASE_JSON_ERROR_H_
