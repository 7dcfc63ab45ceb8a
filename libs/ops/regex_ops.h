// Builders of ops with regular expressions, one for each op, under TensorFlow's
// names. Patterns are in RE2's syntax; in a rewrite \1 to \9 are what a group
// matched, \0 the whole match, and \\ is a backslash.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_REGEX_OPS_H_
#define WEFT_LIBS_OPS_REGEX_OPS_H_

#include <string>

#include "libs/ops/scope.h"

namespace weft::ops {

// Every match, or only the first of each string.
Output RegexReplace(const Scope& scope, const Input& input,
                    const Input& pattern, const Input& rewrite,
                    bool replace_global = true);
Output StaticRegexReplace(const Scope& scope, const Input& input,
                          const std::string& pattern,
                          const std::string& rewrite,
                          bool replace_global = true);

Output RegexFullMatch(const Scope& scope, const Input& input,
                      const Input& pattern);
Output StaticRegexFullMatch(const Scope& scope, const Input& input,
                            const std::string& pattern);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_REGEX_OPS_H_
