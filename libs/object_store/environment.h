// Environment gives access to environment variables, replaceable in tests.
#ifndef WEFT_LIBS_OBJECT_STORE_ENVIRONMENT_H_
#define WEFT_LIBS_OBJECT_STORE_ENVIRONMENT_H_

#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>

namespace weft {

// A function that returns the value of an environment variable, or "" if the
// variable is not set.
using Environment = std::function<std::string(const char* name)>;

inline Environment SystemEnvironment() {
  return [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
}

// Returns the value of the first of these variables that is set.
inline std::string FirstOf(const Environment& environment,
                           std::initializer_list<const char*> names) {
  for (const char* name : names) {
    std::string value = environment(name);
    if (!value.empty()) return value;
  }
  return "";
}

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_ENVIRONMENT_H_
