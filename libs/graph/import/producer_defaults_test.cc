#include "libs/graph/import/producer_defaults.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/base/text_proto.h"
#include "libs/graph/inference_context.h"
#include "schemas/tf/graph.pb.h"
#include "schemas/tf/op_def.pb.h"

namespace weft {
namespace {

// The ops of the program that wrote the graph. This program's Conv has only the
// attr "strides".
constexpr char kProducer[] = R"pb(
  op {
    name: "Conv"
    attr {
      name: "strides"
      type: "int"
      default_value { i: 1 }
    }
    attr {
      name: "policy"
      type: "string"
      default_value { s: "strict" }
    }
    attr {
      name: "sizes"
      type: "list(int)"
      default_value { list { i: 1 i: 2 } }
    }
    attr { name: "mode" type: "string" }
  }
  op {
    name: "New"
    attr {
      name: "policy"
      type: "string"
      default_value { s: "strict" }
    }
  })pb";

class ProducerDefaultsTest : public testing::Test {
 protected:
  ProducerDefaultsTest() {
    ops_.Add(OpDefBuilder("Conv")
                 .Output("y: float")
                 .Attr("strides: int = 2")
                 .Doc("For a test.")
                 .Shape(shapes::Unknown));
  }
  // Returns the names of the attrs that remain after DropNewDefaults, for a
  // node with this op and these attrs.
  std::string Left(const std::string& op, const std::string& attrs) {
    tf::OpList producer;
    EXPECT_OK(ParseTextProto(kProducer, producer));
    tf::GraphDef graph;
    EXPECT_OK(ParseTextProto(
        "node { name: 'n' op: '" + op + "' " + attrs + " }", graph));
    DropNewDefaults(producer, ops_, graph);
    std::set<std::string> names;
    for (const auto& [name, value] : graph.node(0).attr()) names.insert(name);
    std::string result;
    for (const std::string& name : names) result += name + " ";
    return result;
  }

  OpRegistry ops_;
};

TEST_F(ProducerDefaultsTest, NewAttrsWithDefaultValuesAreDropped) {
  EXPECT_EQ(Left("Conv",
                 "attr { key: 'policy' value { s: 'strict' } }"
                 "attr { key: 'sizes' value { list { i: [1, 2] } } }"),
            "");
}

TEST_F(ProducerDefaultsTest, NewAttrsWithOtherValuesStay) {
  EXPECT_EQ(Left("Conv",
                 "attr { key: 'policy' value { s: 'lenient' } }"
                 "attr { key: 'sizes' value { list { i: 1 } } }"),
            "policy sizes ");
  EXPECT_EQ(Left("Conv", "attr { key: 'policy' value { i: 7 } }"), "policy ");
}

// The attr "strides" stays although 1 is its default in the writer's
// definition, because this program knows the attr and has another default.
TEST_F(ProducerDefaultsTest, KnownAttrsStay) {
  EXPECT_EQ(Left("Conv", "attr { key: 'strides' value { i: 1 } }"), "strides ");
}

TEST_F(ProducerDefaultsTest, UnknownOpsAndAttrsStay) {
  EXPECT_EQ(Left("New", "attr { key: 'policy' value { s: 'strict' } }"),
            "policy ");
  EXPECT_EQ(Left("Conv",
                 "attr { key: 'mode' value { s: '' } }"
                 "attr { key: 'other' value { i: 1 } }"
                 "attr { key: '_mark' value { i: 1 } }"),
            "_mark mode other ");
}

TEST_F(ProducerDefaultsTest, NoAttrIsDroppedWithoutOpsOfTheWriter) {
  tf::GraphDef graph;
  ASSERT_OK(ParseTextProto(
      "node { op: 'Conv' attr { key: 'policy' value { s: 'strict' } } }",
      graph));
  DropNewDefaults(tf::OpList(), ops_, graph);
  EXPECT_EQ(graph.node(0).attr().size(), 1u);
}

}  // namespace
}  // namespace weft
