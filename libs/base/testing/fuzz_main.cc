// libFuzzer's entry point for one target. The rule weft_fuzzer compiles it for
// each target and defines its header and function.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include WEFT_FUZZ_HEADER

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  WEFT_FUZZ_FUNCTION(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
