#include "libs/tensor/float16.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace weft {
namespace {

TEST(HalfTest, EveryValueRoundTripsThroughFloat) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    half value;
    value.bits = static_cast<uint16_t>(bits);
    const float wide = value;
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(float{half(wide)})) << bits;
    } else {
      EXPECT_EQ(half(wide).bits, bits);
    }
  }
}

TEST(HalfTest, RoundsToNearestEven) {
  // Halfway between neighbors the even one; one bit more: the upper one.
  for (int bits = 0; bits < 0x7bff; ++bits) {
    half low, high;
    low.bits = static_cast<uint16_t>(bits);
    high.bits = static_cast<uint16_t>(bits + 1);
    const float middle = (float{low} + float{high}) / 2;
    EXPECT_EQ(half(middle).bits, bits % 2 == 0 ? bits : bits + 1);
    EXPECT_EQ(half(std::nextafter(middle, 1e9f)).bits, bits + 1);
    EXPECT_EQ(half(-std::nextafter(middle, 0.f)).bits, bits | 0x8000);
  }
}

TEST(HalfTest, KnownValuesConvert) {
  EXPECT_EQ(half(1.0f).bits, 0x3c00);
  EXPECT_EQ(half(-2.0f).bits, 0xc000);
  EXPECT_EQ(half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(half(1e10f).bits, 0x7c00);
  EXPECT_EQ(half(-std::numeric_limits<float>::infinity()).bits, 0xfc00);
  EXPECT_EQ(half(0x1p-24f).bits, 1);
  EXPECT_EQ(half(0x1p-26f).bits, 0);
  EXPECT_EQ(half(-0.0f).bits, 0x8000);
}

TEST(Bfloat16Test, EveryValueRoundTripsThroughFloat) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    bfloat16 value;
    value.bits = static_cast<uint16_t>(bits);
    const float wide = value;
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(float{bfloat16(wide)})) << bits;
    } else {
      EXPECT_EQ(bfloat16(wide).bits, bits);
    }
  }
}

TEST(Bfloat16Test, RoundsToNearestEven) {
  EXPECT_EQ(bfloat16(1.0f + 0x1p-8f).bits, 0x3f80);
  EXPECT_EQ(bfloat16(1.0f + 0x3p-8f).bits, 0x3f82);
  EXPECT_EQ(bfloat16(1.0f + 0x1p-8f + 0x1p-20f).bits, 0x3f81);
  EXPECT_EQ(bfloat16(3.4e38f).bits, 0x7f80);
}

}  // namespace
}  // namespace weft
