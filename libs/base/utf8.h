// IsUtf8: whether bytes are text, as JSON has it.
#ifndef WEFT_LIBS_BASE_UTF8_H_
#define WEFT_LIBS_BASE_UTF8_H_

#include <string>

namespace weft {

// Whole characters in their shortest forms, and no surrogates.
bool IsUtf8(const std::string& text);

}  // namespace weft

#endif  // WEFT_LIBS_BASE_UTF8_H_
