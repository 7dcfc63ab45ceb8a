#include "libs/base/utf8.h"

#include "nlohmann/json.hpp"

namespace weft {

bool IsUtf8(const std::string& text) {
  using Json = nlohmann::json;
  const std::string kept = Json(text).dump(
      /*indent=*/-1, ' ', /*ensure_ascii=*/false,
      Json::error_handler_t::ignore);
  return Json::parse(kept).get<std::string>() == text;
}

}  // namespace weft
