#include "examples/usage.h"

#include <cstdio>
#include <cstring>

namespace weft::examples {
namespace {

bool IsHelp(const char* argument) {
  return std::strcmp(argument, "--help") == 0 ||
         std::strcmp(argument, "-help") == 0 ||
         std::strcmp(argument, "-h") == 0;
}

}  // namespace

int ShowUsage(int argc, char** argv, const char* arguments,
              const char* meaning) {
  const bool asked = argc == 2 && IsHelp(argv[1]);
  std::fprintf(asked ? stdout : stderr, "usage: %s %s\n%s\n", argv[0],
               arguments, meaning);
  return asked ? 0 : 2;
}

}  // namespace weft::examples
