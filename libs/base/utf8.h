// IsUtf8 checks whether bytes are valid UTF-8, as JSON requires.
#ifndef WEFT_LIBS_BASE_UTF8_H_
#define WEFT_LIBS_BASE_UTF8_H_

#include <string>

namespace weft {

// Returns whether `text` has only complete characters in their shortest form,
// and no surrogates.
bool IsUtf8(const std::string& text);

}  // namespace weft

#endif  // WEFT_LIBS_BASE_UTF8_H_
