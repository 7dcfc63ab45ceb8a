#include "libs/graph/attr_value.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

std::vector<AttrValue> OneOfEachKind() {
  const NameAttrList function = {
      "f", std::make_shared<const AttrMap>(AttrMap{{"n", 1}})};
  return {AttrValue(),
          "text",
          3,
          0.5f,
          true,
          DT_FLOAT_REF,
          PartialShape{2, PartialShape::kUnknown},
          Tensor::Scalar(1.0f),
          function,
          std::vector<std::string>{"a"},
          std::vector<int64_t>{1, 2},
          std::vector<float>{0.5f},
          std::vector<bool>{true, false},
          std::vector<DataType>{DT_INT32},
          std::vector<PartialShape>{PartialShape()},
          std::vector<Tensor>{Tensor::Scalar(1)},
          std::vector<NameAttrList>{function}};
}

TEST(AttrValueTest, ValueEqualsOnlyItself) {
  const std::vector<AttrValue> a = OneOfEachKind(), b = OneOfEachKind();
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      EXPECT_EQ(a[i] == b[j], i == j) << a[i].ToString() << b[j].ToString();
    }
  }
}

TEST(AttrValueTest, PrintsEachKind) {
  const struct {
    AttrValue value;
    const char* kind;
    const char* text;
  } cases[] = {
      {AttrValue(), "none", "none"},
      {"a\n", "string", "\"a\\n\""},
      {3, "int", "3"},
      {true, "bool", "true"},
      {DT_FLOAT_REF, "type", "DT_FLOAT_REF"},
      {PartialShape{2, -1}, "shape", "[2,?]"},
      {std::vector<bool>{true, false}, "list(bool)", "[true, false]"},
      {std::vector<int64_t>{}, "list(int)", "[]"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(c.value.KindName(), c.kind);
    EXPECT_EQ(c.value.ToString(), c.text);
  }
}

TEST(AttrValueTest, GetIsNullForAnotherKind) {
  const AttrValue value = 3;
  ASSERT_NE(value.Get<int64_t>(), nullptr);
  EXPECT_EQ(*value.Get<int64_t>(), 3);
  EXPECT_EQ(value.Get<bool>(), nullptr);
}

}  // namespace
}  // namespace weft
