#include "libs/graph/op_def.h"

#include <gtest/gtest.h>

#include "libs/base/test_matchers.h"
#include "libs/graph/inference_context.h"

namespace weft {
namespace {

OpDefBuilder Op() { return OpDefBuilder("Op").Shape(shapes::Unknown); }

absl::StatusOr<AttrDef> BuildAttr(absl::string_view spec) {
  absl::StatusOr<OpDef> def = Op().Attr(spec).Build();
  if (!def.ok()) return def.status();
  return def->attrs[0];
}

TEST(OpDefTest, ParsesDefaults) {
  const struct {
    const char* spec;
    const char* type;
    const char* value;  // as printed, or null
  } cases[] = {
      {"T: type", "type", nullptr},
      {"T: type = DT_FLOAT", "type", "DT_FLOAT"},
      {"T: {float, double} = DT_DOUBLE", "type", "DT_DOUBLE"},
      {"N: int", "int", nullptr},
      {"N: int = -1", "int", "-1"},
      {"N: int >= 2 = 3", "int", "3"},
      {"f: float = 1e-3", "float", "0.001"},
      {"b: bool = true", "bool", "true"},
      {"s: string = ''", "string", "\"\""},
      {"s: string = \"a b\"", "string", "\"a b\""},
      {"s: string = '\\t'", "string", "\"\\t\""},
      {"m: {'a', 'b'} = 'b'", "string", "\"b\""},
      {"shape: shape", "shape", nullptr},
      {"shape: shape = {}", "shape", "[]"},
      {"shape: shape = { unknown_rank: true }", "shape", "<unknown>"},
      {"shape: shape = { dim { size: 2 } dim { size: -1 } }", "shape", "[2,?]"},
      {"t: tensor = { dtype: DT_UINT8 tensor_shape: { dim { size: 2 } } "
       "int_val: 255 int_val: 0 }",
       "tensor", "Tensor<type: uint8 shape: [2] values: 255 0>"},
      {"l: list(int) = [1, 2]", "list(int)", "[1, 2]"},
      {"l: list(int) = []", "list(int)", "[]"},
      {"l: list(type) >= 0", "list(type)", nullptr},
      {"l: list(type) = [DT_INT32]", "list(type)", "[DT_INT32]"},
      {"l: list({float, int64})", "list(type)", nullptr},
      {"l: list(string) = ['x', 'y']", "list(string)", "[\"x\", \"y\"]"},
      {"l: list(shape) = []", "list(shape)", "[]"},
      {"v: tensor", "tensor", nullptr},
      {"f: func", "func", nullptr},
  };
  for (const auto& c : cases) {
    absl::StatusOr<AttrDef> attr = BuildAttr(c.spec);
    ASSERT_THAT(attr, IsOk()) << c.spec;
    EXPECT_EQ(attr->type, c.type) << c.spec;
    ASSERT_EQ(attr->default_value.has_value(), c.value != nullptr) << c.spec;
    if (c.value == nullptr) continue;
    EXPECT_EQ(attr->default_value->ToString(), c.value) << c.spec;
  }
}

TEST(OpDefTest, ParsesLimits) {
  ASSERT_OK_AND_ASSIGN(AttrDef number, BuildAttr("N: int >= 2 = 3"));
  EXPECT_EQ(number.minimum, 2);
  ASSERT_OK_AND_ASSIGN(AttrDef types, BuildAttr("T: {float, qint8, DT_INT32}"));
  EXPECT_EQ(types.allowed_types, (DataTypeVector{DT_FLOAT, DT_INT32}));
  ASSERT_OK_AND_ASSIGN(AttrDef mode, BuildAttr("m: {'a', 'b'} = 'a'"));
  EXPECT_EQ(mode.allowed_strings, (std::vector<std::string>{"a", "b"}));
  ASSERT_OK_AND_ASSIGN(AttrDef real, BuildAttr("T: realnumbertype"));
  ASSERT_OK_AND_ASSIGN(AttrDef number_type, BuildAttr("T: numbertype"));
  EXPECT_EQ(real.allowed_types.size() + 2, number_type.allowed_types.size());
}

TEST(OpDefTest, RefusesBadAttrs) {
  for (const char* spec :
       {"",
        "T",
        "T:",
        "T: nothing",
        "T: type = DT_NOTHING",
        "N: int = x",
        "N: int >= = 2",
        "N: int = 1 2",
        "s: string = 'x",
        "b: bool = 1",
        "m: {'a', float}",
        "m: {float",
        "l: list(int",
        "l: list(int) = [1",
        "shape: shape = [1]",
        "v: tensor = 1",
        "v: tensor = { dtype: DT_FLOAT tensor_shape: {} int_val: 1 }",
        "v: tensor = { dtype: DT_UINT8 tensor_shape: {} int_val: 256 }",
        "v: tensor = { dtype: DT_UINT8 tensor_shape: {} int_val: -1 }",
        "v: tensor = { dtype: DT_UINT8 tensor_shape: {} }",
        "v: tensor = { dtype: DT_UINT8 tensor_shape: { unknown_rank: true } }",
        "v: tensor = { dtype: DT_UINT8 tensor_shape: {} int_val: 1"}) {
    EXPECT_THAT(BuildAttr(spec), StatusIs(absl::StatusCode::kInvalidArgument))
        << spec;
  }
}

TEST(OpDefTest, ParsesArguments) {
  ASSERT_OK_AND_ASSIGN(OpDef def, Op().Attr("T: type")
                                      .Attr("N: int >= 1")
                                      .Attr("Ts: list(type)")
                                      .Input("x: T")
                                      .Input("values: N * T")
                                      .Input("ref: Ref(T)")
                                      .Input("axis: int32")
                                      .Input("all: Ts")
                                      .Output("names: N * string")
                                      .Build());
  EXPECT_EQ(def.inputs[0].type_attr, "T");
  EXPECT_EQ(def.inputs[1].number_attr, "N");
  EXPECT_EQ(def.inputs[1].type_attr, "T");
  EXPECT_TRUE(def.inputs[2].is_ref);
  EXPECT_EQ(def.inputs[3].type, DT_INT32);
  EXPECT_EQ(def.inputs[4].type_list_attr, "Ts");
  EXPECT_EQ(def.outputs[0].type, DT_STRING);
}

TEST(OpDefTest, RefusesBadArguments) {
  for (const char* spec : {"x", "x:", "x: U", "x: N", "x: M * T", "x: T * T",
                           "x: Ref(T", "x: T T", "x: N * Ts"}) {
    EXPECT_THAT(Op().Attr("T: type")
                    .Attr("N: int")
                    .Attr("Ts: list(type)")
                    .Input(spec)
                    .Build(),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << spec;
  }
  EXPECT_FALSE(OpDefBuilder("NoShape").Build().ok());
  EXPECT_FALSE(Op().Attr("T: type").Attr("T: type").Build().ok());
}

TEST(OpRegistryTest, FindsAndLists) {
  OpRegistry registry;
  registry.Add(OpDefBuilder("B").Shape(shapes::Unknown));
  registry.Add(OpDefBuilder("A").Shape(shapes::Unknown));
  EXPECT_EQ(registry.Find("C"), nullptr);
  ASSERT_EQ(registry.List().size(), 2u);
  EXPECT_EQ(registry.List()[0], registry.Find("A"));
}

TEST(OpRegistryTest, FingerprintDependsOnSignatures) {
  const auto fingerprint = [](const char* attr) {
    OpRegistry registry;
    registry.Add(OpDefBuilder("A").Attr(attr).Shape(shapes::Unknown));
    return registry.Fingerprint();
  };
  EXPECT_EQ(fingerprint("N: int"), fingerprint("N: int"));
  EXPECT_NE(fingerprint("N: int"), fingerprint("N: int = 1"));
  EXPECT_NE(fingerprint("N: int"), fingerprint("N: int >= 1"));
}

TEST(OpRegistryDeathTest, AbortsOnProgrammingErrors) {
  OpRegistry registry;
  registry.Add(OpDefBuilder("A").Shape(shapes::Unknown));
  EXPECT_DEATH(registry.Add(OpDefBuilder("A").Shape(shapes::Unknown)), "'A'");
  EXPECT_DEATH(registry.Add(Op().Attr("T: nothing")), "Op");
}

}  // namespace
}  // namespace weft
