// The entry point of libFuzzer for one target. The build rule weft_fuzzer
// compiles this file for each target, and defines the macros for the target's
// header and function.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include WEFT_FUZZ_HEADER

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  WEFT_FUZZ_FUNCTION(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
