// Tests reading graphs in all file formats, and files that contain no graph.
#include "tools/cli/graph_file.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/base/text_proto.h"
#include "schemas/tf/graph.pb.h"
#include "schemas/tf/meta_graph.pb.h"

namespace weft::tools {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr char kGraph[] = R"pb(
  node {
    name: "x"
    op: "Placeholder"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "y"
    op: "Neg"
    input: "x"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  versions { producer: 24 })pb";

// A MetaGraphDef as Saver.export_meta_graph writes it. The writer's op Neg has
// an attr that Weft's op lacks.
constexpr char kMetaGraph[] = R"pb(
  meta_info_def {
    meta_graph_version: "first"
    stripped_op_list {
      op {
        name: "Neg"
        attr {
          name: "mode"
          type: "string"
          default_value { s: "usual" }
        }
      }
    }
    tags: "train"
    tensorflow_version: "1.15.0"
  }
  graph_def {
    node {
      name: "x"
      op: "Placeholder"
      attr {
        key: "dtype"
        value { type: DT_FLOAT }
      }
    }
    node {
      name: "y"
      op: "Neg"
      input: "x"
      attr {
        key: "mode"
        value { s: "usual" }
      }
    }
  }
  saver_def { filename_tensor_name: "save/Const:0" max_to_keep: 5 }
  collection_def {
    key: "variables"
    value { bytes_list { value: "v" } }
  })pb";

template <typename Message>
std::string Bytes(absl::string_view text) {
  Message message;
  EXPECT_OK(ParseTextProto(text, message));
  return message.SerializeAsString();
}

void ExpectXAndY(const absl::StatusOr<GraphFile>& file) {
  ASSERT_OK(file);
  ASSERT_EQ(file->nodes.size(), 2u);
  EXPECT_EQ(file->nodes[0].name, "x");
  EXPECT_EQ(file->nodes[1].op, "Neg");
  EXPECT_THAT(file->nodes[1].inputs, ElementsAre("x"));
  tf::GraphDef graph;
  ASSERT_TRUE(graph.ParseFromString(file->graph_def));
  EXPECT_EQ(graph.node_size(), 2);
  EXPECT_EQ(graph.node(1).attr().count("mode"), 0u);
}

TEST(GraphFileTest, AllFormatsAreRead) {
  ExpectXAndY(ReadGraphFile("g.pb", Bytes<tf::GraphDef>(kGraph)));
  ExpectXAndY(ReadGraphFile("g.meta", Bytes<tf::MetaGraphDef>(kMetaGraph)));
  ExpectXAndY(ReadGraphFile("g.pbtxt", kGraph));
  ExpectXAndY(ReadGraphFile("g.pbtxt", kMetaGraph));
  // The format is detected from the content, not from the file name.
  ExpectXAndY(ReadGraphFile("g.meta", kMetaGraph));
  ExpectXAndY(ReadGraphFile("g.pb", kGraph));
  ExpectXAndY(ReadGraphFile("graph", Bytes<tf::MetaGraphDef>(kMetaGraph)));
}

// All fields of a MetaGraphDef except the graph may be missing.
TEST(GraphFileTest, MetaGraphsWithOnlyAGraphAreRead) {
  tf::MetaGraphDef meta;
  ASSERT_OK(ParseTextProto(kMetaGraph, meta, {}));
  meta.clear_meta_info_def();
  meta.mutable_graph_def()->mutable_node(1)->mutable_attr()->clear();
  ExpectXAndY(ReadGraphFile("g.meta", meta.SerializeAsString()));
  meta.clear_saver_def();
  meta.clear_collection_def();
  ExpectXAndY(ReadGraphFile("g.meta", meta.SerializeAsString()));
  meta.mutable_meta_info_def()->add_tags("serve");
  ExpectXAndY(ReadGraphFile("g.meta", meta.SerializeAsString()));
}

TEST(GraphFileTest, GraphsWithoutNodesAreRead) {
  ASSERT_OK_AND_ASSIGN(GraphFile file, ReadGraphFile("g.pb", ""));
  EXPECT_THAT(file.nodes, IsEmpty());
  ASSERT_OK_AND_ASSIGN(
      file,
      ReadGraphFile("g.pb", Bytes<tf::GraphDef>("versions { producer: 24 }")));
  EXPECT_THAT(file.nodes, IsEmpty());
}

TEST(GraphFileTest, OtherContentsAreRejected) {
  EXPECT_THAT(ReadGraphFile("g.pb", "hello, world\n"),
              StatusIs(kInvalid, "not the text of a GraphDef: line 1"));
  EXPECT_THAT(ReadGraphFile("g.pb", "\xff\xff\xff\x01"),
              StatusIs(kInvalid, "not a serialised GraphDef"));
  EXPECT_THAT(ReadGraphFile("g.pb", std::string("\x7f"
                                                "ELF\x02\x01\x01\0\0\0",
                                                10)),
              StatusIs(kInvalid, "not a serialised GraphDef"));
  EXPECT_THAT(ReadGraphFile("g.pbtxt", "node {\n nmae: 'x' }"),
              StatusIs(kInvalid, "GraphDef: line 2"));
  EXPECT_THAT(ReadGraphFile("g.pbtxt", "graph_def {\n node {\n name: }"),
              StatusIs(kInvalid, "MetaGraphDef: line 3"));
  // A serialized SavedModel consists of its version number and MetaGraphDefs.
  const std::string meta = Bytes<tf::MetaGraphDef>(kMetaGraph);
  ASSERT_LT(meta.size(), 16384u);
  const std::string saved_model = std::string("\x08\x01\x12") +
                                  static_cast<char>(meta.size() % 128 + 128) +
                                  static_cast<char>(meta.size() / 128) + meta;
  EXPECT_THAT(ReadGraphFile("saved_model.pb", saved_model),
              StatusIs(kInvalid, "`weft saved_model show"));
  EXPECT_THAT(
      ReadGraphFile("saved_model.pbtxt",
                    absl::StrCat("saved_model_schema_version: 1\nmeta_graphs {",
                                 kMetaGraph, "}")),
      StatusIs(kInvalid, "`weft saved_model show"));
}

TEST(GraphFileTest, FieldsOfNewerWritersAreIgnored) {
  const std::string newer = absl::StrCat(
      "node { name: 'c' op: 'NoOp' experimental_type { type_id: TFT_PRODUCT } "
      "} later { field: 1 }");
  ASSERT_OK_AND_ASSIGN(const GraphFile file, ReadGraphFile("g.pbtxt", newer));
  ASSERT_EQ(file.nodes.size(), 1u);
  EXPECT_EQ(file.nodes[0].name, "c");
  EXPECT_THAT(ReadGraphFile("g.pbtxt", "later { field: 1 }"),
              StatusIs(kInvalid, "GraphDef: line 1"));
}

TEST(GraphFileTest, UnknownOpsAreMarked) {
  ASSERT_OK_AND_ASSIGN(
      const GraphFile file,
      ReadGraphFile("g.pbtxt",
                    "node { name: 'a' op: 'Foo' } node { name: 'b' op: 'NoOp' "
                    "} node { name: 'c' op: 'f' } library { function { "
                    "signature { name: 'f' } } }"));
  EXPECT_TRUE(file.nodes[0].is_unknown_op);
  EXPECT_FALSE(file.nodes[1].is_unknown_op);
  EXPECT_FALSE(file.nodes[2].is_unknown_op);
}

TEST(GraphFileTest, DevicesAreCleared) {
  ASSERT_OK_AND_ASSIGN(
      const GraphFile file,
      ReadGraphFile("g.pbtxt",
                    "node { name: 'a' op: 'NoOp' device: '/gpu:0' } library { "
                    "function { signature { name: 'f' } node_def { name: 'b' "
                    "op: 'NoOp' device: '/gpu:0' } } }",
                    {.clear_devices = true}));
  EXPECT_EQ(file.nodes[0].device, "");
  EXPECT_EQ(file.graph_def.find("gpu"), std::string::npos);
}

// A truncated file is either rejected or read as a graph with fewer nodes. It
// must not crash the program.
TEST(GraphFileTest, TruncatedFilesDoNotCrash) {
  for (const std::string& bytes :
       {Bytes<tf::GraphDef>(kGraph), Bytes<tf::MetaGraphDef>(kMetaGraph)}) {
    int refused = 0;
    for (size_t size = 1; size < bytes.size(); ++size) {
      const auto file = ReadGraphFile("g.pb", bytes.substr(0, size));
      if (!file.ok()) {
        EXPECT_THAT(file, StatusIs(kInvalid));
        ++refused;
      } else {
        EXPECT_LE(file->nodes.size(), 2u);
      }
    }
    EXPECT_GT(refused, 50);
  }
}

TEST(GraphFileTest, NonDefaultAttrsAreShown) {
  ASSERT_OK_AND_ASSIGN(
      const GraphFile file, ReadGraphFile("g.pbtxt", R"pb(
        node {
          name: "m"
          op: "MatMul"
          attr {
            key: "T"
            value { type: DT_FLOAT }
          }
          attr {
            key: "transpose_a"
            value { b: false }
          }
          attr {
            key: "transpose_b"
            value { b: true }
          }
          attr {
            key: "_output_shapes"
            value { list { shape { unknown_rank: true } } }
          }
          attr {
            key: "_class"
            value { list { s: "loc:@v" } }
          }
        }
        node {
          name: "u"
          op: "NobodyKnowsThis"
          attr {
            key: "n"
            value { i: 0 }
          }
          attr {
            key: "bad"
            value { tensor { dtype: DT_FLOAT tensor_content: "abc" } }
          }
        }
        node {
          name: "c"
          op: "Const"
          attr {
            key: "value"
            value {
              tensor {
                dtype: DT_FLOAT
                tensor_shape {
                  dim { size: 100000 }
                  dim { size: 100000 }
                }
                float_val: 1
              }
            }
          }
        })pb"));
  ASSERT_EQ(file.nodes.size(), 3u);
  EXPECT_THAT(file.nodes[0].attrs,
              ElementsAre(Pair("T", "DT_FLOAT"), Pair("_class", "[\"loc:@v\"]"),
                          Pair("transpose_b", "true")));
  EXPECT_THAT(file.nodes[1].attrs,
              ElementsAre(Pair("bad", "?"), Pair("n", "0")));
  EXPECT_THAT(
      file.nodes[2].attrs,
      ElementsAre(Pair("value", "Tensor<type: float shape: [100000,100000]>")));
}

TEST(GraphFileTest, LongAttrsAreTruncated) {
  ASSERT_OK_AND_ASSIGN(
      const GraphFile file,
      ReadGraphFile("g.pbtxt",
                    "node { name: 'a' op: 'B' attr { key: 'k' value "
                    "{ s: '" +
                        std::string(5000, 'x') + "' } } }"));
  const std::string& text = file.nodes[0].attrs.at("k");
  EXPECT_LT(text.size(), 300u);
  EXPECT_EQ(text.substr(text.size() - 3), "...");
}

}  // namespace
}  // namespace weft::tools
