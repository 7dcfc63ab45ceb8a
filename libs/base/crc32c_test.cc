#include "libs/base/crc32c.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace weft {
namespace {

// The test vectors are from RFC 3720, B.4.
TEST(Crc32cTest, MatchesCastagnoliTestVectors) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

// Computes the CRC one bit at a time, as the polynomial defines it.
uint32_t Slowly(const std::string& data) {
  uint32_t reg = ~uint32_t{0};
  for (const char c : data) {
    reg ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) {
      reg = (reg >> 1) ^ ((reg & 1) != 0 ? 0x82f63b78u : 0u);
    }
  }
  return ~reg;
}

// ISA-L uses different code for long and short inputs and for unaligned ends.
TEST(Crc32cTest, AnyLengthAndAlignmentIsCorrect) {
  std::string data;
  for (int i = 0; i < 5000; ++i) data.push_back(static_cast<char>(i * 31 + 7));
  for (const size_t size :
       {1, 7, 16, 33, 63, 64, 65, 127, 128, 255, 256, 4999}) {
    for (size_t begin = 0; begin < 9 && begin + size <= data.size(); ++begin) {
      const std::string part = data.substr(begin, size);
      EXPECT_EQ(Crc32c(absl::string_view(data).substr(begin, size)),
                Slowly(part))
          << size << " bytes from " << begin;
    }
  }
}

TEST(Crc32cTest, ExtendContinuesAChecksum) {
  const std::string data = "where one piece ends the next begins";
  for (size_t cut = 0; cut <= data.size(); ++cut) {
    EXPECT_EQ(ExtendCrc32c(Crc32c(data.substr(0, cut)), data.substr(cut)),
              Crc32c(data));
  }
}

TEST(Crc32cTest, UnmaskRevertsMask) {
  EXPECT_EQ(MaskCrc32c(Crc32c("123456789")), 0xc78ab0e5u);
  for (const uint32_t crc : {0u, 1u, 0x8000u, 0xa282ead8u, 0xffffffffu}) {
    EXPECT_EQ(UnmaskCrc32c(MaskCrc32c(crc)), crc);
    EXPECT_NE(MaskCrc32c(crc), crc);
  }
}

}  // namespace
}  // namespace weft
