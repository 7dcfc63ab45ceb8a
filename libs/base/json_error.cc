#include "libs/base/json_error.h"

#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"

namespace weft {

std::string JsonError(absl::string_view text) {
  using Json = nlohmann::json;
  try {
    // The callback discards all values during parsing, because deeply nested
    // values would need much memory.
    [[maybe_unused]] const Json none =
        Json::parse(text.begin(), text.end(),
                    [](int, Json::parse_event_t, Json&) { return false; });
    return "";
  } catch (const Json::exception& error) {
    // The text of the error begins with "[json.exception.parse_error.101] parse
    // error at line 1, column 8: ...".
    absl::string_view what = error.what();
    what.remove_prefix(what.find("] ") + 2);
    absl::ConsumePrefix(&what, "parse error at ");
    return std::string(what);
  }
}

}  // namespace weft
