// UnicodeCase converts the case of all Unicode letters, with the tables of the
// C library's locale C.UTF-8, which every Debian has.
#ifndef WEFT_LIBS_KERNELS_STRING_UNICODE_CASE_H_
#define WEFT_LIBS_KERNELS_STRING_UNICODE_CASE_H_

#include <locale.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

// Converts UTF-8 text by Unicode's language-independent rules: "ß" becomes
// "SS", and a sigma at the end of a word differs from one inside. Invalid UTF-8
// becomes U+FFFD. Thread-safe.
class UnicodeCase {
 public:
  // Returns UNIMPLEMENTED if the system lacks the locale.
  static absl::StatusOr<std::unique_ptr<UnicodeCase>> Make();
  UnicodeCase(const UnicodeCase&) = delete;
  UnicodeCase& operator=(const UnicodeCase&) = delete;
  ~UnicodeCase() { freelocale(locale_); }

  std::string Lower(absl::string_view text) const;
  std::string Upper(absl::string_view text) const;

 private:
  explicit UnicodeCase(locale_t locale) : locale_(locale) {}

  bool HasCase(char32_t letter) const;
  // Returns whether letter `i` ends a word.
  bool EndsWord(const std::u32string& text, size_t i) const;

  const locale_t locale_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STRING_UNICODE_CASE_H_
