// libFuzzer's entry for one target; the rule weft_fuzzer compiles it for each,
// and says which header and function it is.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include WEFT_FUZZ_HEADER

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  WEFT_FUZZ_FUNCTION(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
