#include "tools/cli/tensor_json.h"

#include <cmath>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/tensor/quantized_type.h"

namespace weft::tools {
namespace {

template <typename T>
void ExpectTensor(absl::string_view text, const TensorShape& shape,
                  std::initializer_list<T> values) {
  ASSERT_OK_AND_ASSIGN(const Tensor tensor,
                       TensorFromJson(text, DataTypeOf<T>::value));
  EXPECT_TRUE(SameBits(tensor, Tensor::FromValues<T>(shape, values)))
      << text << " is " << tensor.ToString();
}

TEST(TensorFromJsonTest, EachTypeIsRead) {
  ExpectTensor<float>("1.5", {}, {1.5f});
  ExpectTensor<float>("[1, -2.25]", {2}, {1, -2.25});
  ExpectTensor<double>("[[1e300], [0.1]]", {2, 1}, {1e300, 0.1});
  ExpectTensor<half>("0.5", {}, {half(0.5f)});
  ExpectTensor<bfloat16>("-2", {}, {bfloat16(-2.0f)});
  ExpectTensor<int8_t>("[-128, 127]", {2}, {-128, 127});
  ExpectTensor<int16_t>("-32768", {}, {-32768});
  ExpectTensor<int32_t>("[[1, 2, 3], [4, 5, 6]]", {2, 3}, {1, 2, 3, 4, 5, 6});
  ExpectTensor<int64_t>("[-9223372036854775808, 9223372036854775807]", {2},
                        {std::numeric_limits<int64_t>::min(),
                         std::numeric_limits<int64_t>::max()});
  ExpectTensor<uint8_t>("255", {}, {255});
  ExpectTensor<uint16_t>("65535", {}, {65535});
  ExpectTensor<uint32_t>("4294967295", {}, {4294967295u});
  ExpectTensor<uint64_t>("18446744073709551615", {},
                         {std::numeric_limits<uint64_t>::max()});
  ExpectTensor<bool>("[true, false]", {2}, {true, false});
  ExpectTensor<std::string>("[\"\", \"a\\nb\"]", {2}, {"", "a\nb"});
  ExpectTensor<std::complex<float>>("[{\"real\": 1, \"imag\": -2}, 3]", {2},
                                    {{1, -2}, {3, 0}});
}

TEST(TensorFromJsonTest, NanAndInfinityAreRead) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor tensor,
      TensorFromJson("[\"NaN\", \"Infinity\", \"-Infinity\"]", DT_FLOAT));
  const auto values = tensor.flat<float>();
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], std::numeric_limits<float>::infinity());
  EXPECT_EQ(values[2], -std::numeric_limits<float>::infinity());
}

TEST(TensorFromJsonTest, EmptyListsAreRead) {
  ExpectTensor<float>("[]", {0}, {});
  ExpectTensor<int32_t>("[[], []]", {2, 0}, {});
}

TEST(TensorFromJsonTest, ValuesOfWrongTypeAreRejected) {
  const struct {
    const char* text;
    DataType dtype;
    const char* why;
  } cases[] = {
      {"1.5", DT_INT32, "1.5 is not a int32"},
      {"[1, 2.0]", DT_INT64, "2.0 is not a int64"},
      {"[1, \"x\"]", DT_FLOAT, "\"x\" is not a float"},
      {"1", DT_STRING, "1 is not a string"},
      {"1", DT_BOOL, "1 is not a bool"},
      {"true", DT_INT32, "true is not a int32"},
      {"null", DT_FLOAT, "null is not a float"},
      {"128", DT_INT8, "128 is not"},
      {"-129", DT_INT8, "-129 is not"},
      {"-1", DT_UINT8, "-1 is not"},
      {"9223372036854775808", DT_INT64, "is not a int64"},
      {"18446744073709551616", DT_UINT64, "is not a uint64"},
      {"1e39", DT_FLOAT, "is not a float"},
      {"70000", DT_HALF, "is not a half"},
      {"{\"real\": 1}", DT_COMPLEX64, "is not a complex64"},
      {"{\"a\": 1}", DT_FLOAT, "is not a float"},
  };
  for (const auto& [text, dtype, why] : cases) {
    EXPECT_THAT(TensorFromJson(text, dtype), StatusIs(kInvalid, why)) << text;
  }
}

TEST(TensorFromJsonTest, RaggedListsAreRejected) {
  for (const char* text : {"[[1, 2], [3]]", "[1, [2]]", "[[1], 2]", "[[], [1]]",
                           "[[[1]], [[2], [3]]]"}) {
    EXPECT_THAT(TensorFromJson(text, DT_INT32), StatusIs(kInvalid)) << text;
  }
}

TEST(TensorFromJsonTest, InvalidJsonIsRejected) {
  for (const char* text :
       {"", "abc", "[1, 2", "1 2", "[1,]", "nan", "1e999", "\"\xff\""}) {
    EXPECT_THAT(TensorFromJson(text, DT_FLOAT), StatusIs(kInvalid, "not JSON"))
        << text;
  }
  EXPECT_THAT(TensorFromJson("abc", DT_STRING),
              StatusIs(kInvalid, "'\"...\"'"));
}

TEST(TensorFromJsonTest, DeepNestingDoesNotCrash) {
  EXPECT_THAT(TensorFromJson(std::string(100000, '['), DT_FLOAT),
              StatusIs(kInvalid));
  const std::string deep =
      std::string(100000, '[') + "1" + std::string(100000, ']');
  EXPECT_THAT(TensorFromJson(deep, DT_FLOAT), StatusIs(kInvalid));
  const std::string deepest =
      std::string(kMaxRank, '[') + "1" + std::string(kMaxRank, ']');
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, TensorFromJson(deepest, DT_FLOAT));
  EXPECT_EQ(tensor.rank(), kMaxRank);
}

TEST(TensorFromJsonTest, ResourcesAreUnimplemented) {
  EXPECT_THAT(TensorFromJson("1", DT_RESOURCE),
              StatusIs(absl::StatusCode::kUnimplemented, "resource"));
  EXPECT_THAT(TensorFromJson("1", static_cast<DataType>(77)),
              StatusIs(absl::StatusCode::kUnimplemented));
}

TEST(TensorToJsonTest, ValuesRoundTrip) {
  const Tensor tensors[] = {
      Tensor::Scalar(0.1f),
      Tensor::Scalar(0.1),
      Tensor::FromValues<float>({2, 1, 2}, {1e-45f, 3.4028235e38f, -0.0f, 7}),
      Tensor::Vector<half>({half(0.1f), half(65504.0f)}),
      Tensor::Vector<bfloat16>({bfloat16(0.1f)}),
      Tensor::Vector<int64_t>({std::numeric_limits<int64_t>::min(), 0}),
      Tensor::Scalar(std::numeric_limits<uint64_t>::max()),
      Tensor::Vector<int8_t>({-1, 65}),
      Tensor::Vector<bool>({true, false}),
      Tensor::Vector<std::string>({"x", "", "\"y\"\n", "\377\330\001"}),
      AsType(Tensor::Vector<uint8_t>({3, 250}), kQUInt8),
      AsType(Tensor::Vector<int8_t>({-128, 127}), kQInt8),
      Tensor::Scalar(std::complex<double>(1.5, -2)),
      Tensor::Vector<double>({std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()}),
  };
  for (const Tensor& tensor : tensors) {
    const std::string text = TensorToJson(tensor).dump();
    ASSERT_OK_AND_ASSIGN(const Tensor again,
                         TensorFromJson(text, tensor.dtype()));
    EXPECT_TRUE(SameBits(again, tensor)) << text;
  }
}

TEST(TensorToJsonTest, NonUtf8BytesAreBase64) {
  EXPECT_EQ(TensorToJson(Tensor::Scalar("\377\330\001")).dump(),
            R"({"b64":"/9gB"})");
  EXPECT_EQ(TensorToJson(Tensor::Vector<std::string>({"\xff", "é"})).dump(),
            R"([{"b64":"/w=="},"é"])");
}

TEST(TensorToJsonTest, OutputIsCompact) {
  EXPECT_EQ(TensorToJson(Tensor::Vector<float>({0.1f, 2})).dump(), "[0.1,2.0]");
  EXPECT_EQ(TensorToJson(Tensor::Scalar(std::nan(""))).dump(), "\"NaN\"");
  // A shape with a billion empty rows is written as [], because a list for each
  // row would need too much memory.
  EXPECT_EQ(TensorToJson(Tensor(DT_FLOAT, {1000000000, 0})).dump(), "[]");
}

}  // namespace
}  // namespace weft::tools
