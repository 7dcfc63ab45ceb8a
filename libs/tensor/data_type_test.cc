#include "libs/tensor/data_type.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

TEST(DataTypeTest, NamesRoundTrip) {
  for (int number = 1; number <= 33; ++number) {
    for (const int offset : {0, 100}) {
      const auto type = static_cast<DataType>(number + offset);
      const std::string name = DataTypeName(type);
      EXPECT_EQ(DataTypeFromName(name), type) << name;
      const std::string upper =
          absl::StrCat("DT_", absl::AsciiStrToUpper(name));
      EXPECT_EQ(DataTypeFromName(upper), type) << upper;
    }
  }
}

TEST(DataTypeTest, UnknownNumbersAndNamesAreInvalid) {
  EXPECT_EQ(DataTypeName(static_cast<DataType>(99)), "unknown dtype 99");
  EXPECT_EQ(DataTypeName(static_cast<DataType>(-5)), "unknown dtype -5");
  EXPECT_EQ(DataTypeFromName("flot"), std::nullopt);
  EXPECT_EQ(DataTypeFromName(""), std::nullopt);
  EXPECT_EQ(DataTypeFromName("DT_"), std::nullopt);
  EXPECT_EQ(DataTypeFromName("DT_float"), std::nullopt);
  EXPECT_EQ(DataTypeFromName("FLOAT"), std::nullopt);
}

TEST(DataTypeTest, ReferenceTypesConvert) {
  EXPECT_EQ(MakeRefType(DT_FLOAT), DT_FLOAT_REF);
  EXPECT_EQ(MakeRefType(DT_FLOAT_REF), DT_FLOAT_REF);
  EXPECT_EQ(RemoveRefType(DT_FLOAT_REF), DT_FLOAT);
  EXPECT_EQ(RemoveRefType(DT_FLOAT), DT_FLOAT);
  EXPECT_EQ(DataTypeName(DT_FLOAT_REF), "float_ref");
  EXPECT_FALSE(IsSupportedType(DT_FLOAT_REF));
}

template <typename T>
void ExpectSize() {
  EXPECT_EQ(DataTypeSize(DataTypeOf<T>::value), sizeof(T));
  EXPECT_TRUE(IsSupportedType(DataTypeOf<T>::value));
}

TEST(DataTypeTest, SizesAreThoseOfTheCppTypes) {
  ExpectSize<float>();
  ExpectSize<double>();
  ExpectSize<int8_t>();
  ExpectSize<int16_t>();
  ExpectSize<int32_t>();
  ExpectSize<int64_t>();
  ExpectSize<uint8_t>();
  ExpectSize<uint16_t>();
  ExpectSize<uint32_t>();
  ExpectSize<uint64_t>();
  ExpectSize<bool>();
  ExpectSize<half>();
  ExpectSize<bfloat16>();
  ExpectSize<std::complex<float>>();
  ExpectSize<std::complex<double>>();
}

TEST(DataTypeTest, EachSupportedTypeHasOneKind) {
  int supported = 0;
  for (int number = 0; number < 200; ++number) {
    const auto type = static_cast<DataType>(number);
    if (!IsSupportedType(type)) {
      EXPECT_EQ(DataTypeSize(type), 0u) << number;
      continue;
    }
    ++supported;
    const bool is_quantized = absl::StrContains(DataTypeName(type), "q");
    const bool other = type == DT_BOOL || type == DT_STRING ||
                       type == DT_RESOURCE || type == DT_VARIANT ||
                       is_quantized;
    EXPECT_EQ(IsFloatingType(type) + IsComplexType(type) + IsIntegerType(type) +
                  other,
              1)
        << DataTypeName(type);
  }
  EXPECT_EQ(supported, 23);
}

}  // namespace
}  // namespace weft
