#include "libs/ops/regex_ops.h"

namespace weft::ops {

Output RegexReplace(const Scope& scope, const Input& input,
                    const Input& pattern, const Input& rewrite,
                    bool replace_global) {
  return scope.AddOutput("RegexReplace", {input, pattern, rewrite},
                         {{"replace_global", replace_global}});
}

Output StaticRegexReplace(const Scope& scope, const Input& input,
                          const std::string& pattern,
                          const std::string& rewrite, bool replace_global) {
  return scope.AddOutput("StaticRegexReplace", {input},
                         {{"pattern", pattern},
                          {"rewrite", rewrite},
                          {"replace_global", replace_global}});
}

Output RegexFullMatch(const Scope& scope, const Input& input,
                      const Input& pattern) {
  return scope.AddOutput("RegexFullMatch", {input, pattern});
}

Output StaticRegexFullMatch(const Scope& scope, const Input& input,
                            const std::string& pattern) {
  return scope.AddOutput("StaticRegexFullMatch", {input},
                         {{"pattern", pattern}});
}

}  // namespace weft::ops
