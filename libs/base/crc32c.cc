#include "libs/base/crc32c.h"

#include <algorithm>
#include <cstddef>

#include "isa-l/crc.h"

namespace weft {
namespace {

// The maximum number of bytes in one call of ISA-L, which takes the length as
// an int.
constexpr size_t kMostAtOnce = size_t{1} << 30;

}  // namespace

// ISA-L expects its caller to invert the register before and after the call.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view data) {
  uint32_t reg = ~crc;
  while (!data.empty()) {
    const size_t size = std::min(data.size(), kMostAtOnce);
    // ISA-L takes a non-const pointer, but only reads the bytes.
    auto* bytes = reinterpret_cast<unsigned char*>(
        const_cast<char*>(data.data()));  // NOLINT
    reg = crc32_iscsi(bytes, static_cast<int>(size), reg);
    data.remove_prefix(size);
  }
  return ~reg;
}

}  // namespace weft
