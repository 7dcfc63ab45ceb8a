// libFuzzer's entry for FuzzGreeting; tools/nightly.sh runs it.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "libs/bus/testing/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weft::bus::FuzzGreeting({reinterpret_cast<const char*>(data), size});
  return 0;
}
