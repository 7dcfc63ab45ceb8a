// Tests running parts of graph files, and errors in feeds and fetches.
#include "tools/cli/graph_run.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/status.h"
#include "libs/base/test_matchers.h"
#include "libs/base/text_proto.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "nlohmann/json.hpp"
#include "schemas/tf/meta_graph.pb.h"
#include "tools/cli/graph_commands.h"

namespace weft::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Json = nlohmann::json;

constexpr auto kNotFound = absl::StatusCode::kNotFound;

MATCHER_P(Gives, value, "") {
  if (!arg.ok()) *result_listener << arg.status();
  return arg.ok() && *arg == value;
}

// A graph with y = w x, where the variable w has the initial value [[1, 2], [3,
// 4]], and with nodes of other types.
constexpr char kText[] = R"pb(
  node {
    name: "x"
    op: "Placeholder"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value {
        shape {
          dim { size: 2 }
          dim { size: -1 }
        }
      }
    }
  }
  node {
    name: "rows"
    op: "Placeholder"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value {
        shape {
          dim { size: -1 }
          dim { size: 2 }
        }
      }
    }
  }
  node {
    name: "rows_shape"
    op: "Shape"
    input: "rows"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "w"
    op: "VariableV2"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value {
        shape {
          dim { size: 2 }
          dim { size: 2 }
        }
      }
    }
  }
  node {
    name: "w/start"
    op: "Const"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "value"
      value {
        tensor {
          dtype: DT_FLOAT
          tensor_shape {
            dim { size: 2 }
            dim { size: 2 }
          }
          float_val: [ 1, 2, 3, 4 ]
        }
      }
    }
  }
  node {
    name: "w/Assign"
    op: "Assign"
    input: "w"
    input: "w/start"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  node { name: "init" op: "NoOp" input: "^w/Assign" }
  node {
    name: "more"
    op: "AssignAdd"
    input: "w"
    input: "w/start"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "y"
    op: "MatMul"
    input: "w"
    input: "x"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "n"
    op: "Placeholder"
    attr {
      key: "dtype"
      value { type: DT_INT32 }
    }
  }
  node {
    name: "minus_n"
    op: "Neg"
    input: "n"
    attr {
      key: "T"
      value { type: DT_INT32 }
    }
  }
  node {
    name: "s"
    op: "Placeholder"
    attr {
      key: "dtype"
      value { type: DT_STRING }
    }
  }
  node {
    name: "same"
    op: "Identity"
    input: "s"
    attr {
      key: "T"
      value { type: DT_STRING }
    }
  }
  node {
    name: "parts"
    op: "Split"
    input: "zero"
    input: "n"
    attr {
      key: "T"
      value { type: DT_INT32 }
    }
    attr {
      key: "num_split"
      value { i: 2 }
    }
  }
  node {
    name: "zero"
    op: "Const"
    attr {
      key: "dtype"
      value { type: DT_INT32 }
    }
    attr {
      key: "value"
      value {
        tensor {
          dtype: DT_INT32
          tensor_shape {}
        }
      }
    }
  }
  node {
    name: "handle"
    op: "VarHandleOp"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value { shape {} }
    }
  }
  versions { producer: 24 })pb";

class GraphRunTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = JoinPath(testing::TempDir(), "graph_run_test.pbtxt");
    Write(file_, kText);
  }
  void Write(const std::string& path, const std::string& content) {
    ASSERT_OK(files_.WriteFileAtomically(path, content));
  }
  absl::StatusOr<std::string> RunWords(const std::vector<std::string>& words) {
    auto invocation = ParseInvocation(
        words, {.target = "zmq://nobody:1", .is_terminal = true});
    if (!invocation.ok()) return invocation.status();
    return RunGraphCommand(process_, files_, invocation->arguments[0],
                           *invocation);
  }
  absl::StatusOr<std::string> Run(const std::vector<std::string>& flags) {
    std::vector<std::string> words = {"graph", "run", file_};
    words.insert(words.end(), flags.begin(), flags.end());
    return RunWords(words);
  }

  Process process_{{.compute_threads = 1}};
  LocalFileSystem files_;
  std::string file_;
};

TEST_F(GraphRunTest, FetchedTensorsArePrinted) {
  ASSERT_OK_AND_ASSIGN(
      const std::string text,
      Run({"--init=init", "--feed=x=[[1, 2], [0.5, 0]]", "--fetch=y,w:0"}));
  EXPECT_EQ(text,
            "y:0: float [2,2]\n"
            "[[2.0, 2.0],\n"
            " [5.0, 6.0]]\n"
            "w:0: float [2,2]\n"
            "[[1.0, 2.0],\n"
            " [3.0, 4.0]]\n");
}

TEST_F(GraphRunTest, FetchedTensorsArePrintedAsJson) {
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       Run({"--json", "--feed=n=[4, 5]", "--feed",
                            "s=\"hello\"", "minus_n", "same:0", "parts:1"}));
  EXPECT_EQ(Json::parse(text), Json::parse(R"([
    {"name": "minus_n:0", "dtype": "int32", "shape": [2], "value": [-4, -5]},
    {"name": "same:0", "dtype": "string", "shape": [], "value": "hello"},
    {"name": "parts:1", "dtype": "int32", "shape": [1], "value": [5]}])"));
}

// The nodes of --init run one after the other, so the variable is initialized
// before a value is added to it.
TEST_F(GraphRunTest, InitsRunInOrder) {
  ASSERT_OK_AND_ASSIGN(
      const std::string text,
      Run({"--init=init,more", "--init=more", "--fetch=w", "--json"}));
  EXPECT_EQ(Json::parse(text)[0]["value"], Json::parse("[[3, 6], [9, 12]]"));
  EXPECT_THAT(Run({"--init=more", "--fetch=w"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "--init more"));
}

TEST_F(GraphRunTest, NodesWithoutOutputsAreRun) {
  ASSERT_OK_AND_ASSIGN(const std::string text, Run({"--fetch=init"}));
  EXPECT_THAT(text, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const std::string json, Run({"--init=init", "--json"}));
  EXPECT_EQ(Json::parse(json), Json::array());
}

TEST_F(GraphRunTest, AnyTensorCanBeFed) {
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       Run({"--feed=minus_n:0=7", "--feed=w=[[2, 0], [0, 2]]",
                            "--feed=x=[[1], [1]]", "--fetch=y", "--json"}));
  EXPECT_EQ(Json::parse(text)[0]["value"], Json::parse("[[2], [2]]"));
}

TEST_F(GraphRunTest, EmptyListIsAnEmptyBatch) {
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       Run({"--feed=rows=[]", "rows_shape", "--json"}));
  EXPECT_EQ(Json::parse(text)[0]["value"], Json::parse("[0, 2]"));
  EXPECT_THAT(Run({"--feed=x=[]", "--init=init", "y"}),
              StatusIs(kInvalid,
                       "Cannot feed value of shape (0, 0) for Tensor 'x:0', "
                       "which has shape '(2, ?)'"));
}

TEST_F(GraphRunTest, LargeValuesAreTruncatedOnTerminals) {
  std::string row = "0";
  for (int i = 1; i < 600; ++i) absl::StrAppend(&row, ", ", i);
  const std::string feed = absl::StrCat("--feed=n=[[", row, "], [", row, "]]");
  ASSERT_OK_AND_ASSIGN(const std::string text, Run({feed, "minus_n"}));
  EXPECT_LT(text.size(), 300u);
  EXPECT_THAT(text, HasSubstr("--json"));
  ASSERT_OK_AND_ASSIGN(const std::string json,
                       Run({feed, "minus_n", "--json"}));
  EXPECT_EQ(Json::parse(json)[0]["value"][1].size(), 600u);
}

TEST_F(GraphRunTest, MetaGraphsAreRun) {
  tf::MetaGraphDef meta;
  ASSERT_OK(ParseTextProto(kText, *meta.mutable_graph_def()));
  meta.mutable_meta_info_def()->set_tensorflow_version("1.15.0");
  const std::string path = JoinPath(testing::TempDir(), "graph_run_test.meta");
  for (const std::string& content :
       {meta.SerializeAsString(), meta.DebugString()}) {
    Write(path, content);
    ASSERT_OK_AND_ASSIGN(
        const std::string text,
        RunWords({"graph", "run", path, "--feed=n=3", "--fetch=minus_n"}));
    EXPECT_EQ(text, "minus_n:0: int32 []\n-3\n");
  }
}

TEST_F(GraphRunTest, ErrorsNameTheArgument) {
  const struct {
    std::vector<std::string> flags;
    absl::StatusCode code;
    const char* why;
  } cases[] = {
      {{"nobody"}, kNotFound, "--fetch nobody"},
      {{"y:1"}, kInvalid, "only 1 outputs"},
      {{"y:x"}, kInvalid, "y:x"},
      {{"init:0"}, kInvalid, "only 0 outputs"},
      {{"minus_n", "--feed=m=1"}, kNotFound, "--feed m: "},
      {{"minus_n", "--feed=n:1=1"}, kInvalid, "--feed n:1: "},
      {{"w", "--init=start"}, kNotFound, "--init start"},
      {{"minus_n", "--feed=n=1.5"}, kInvalid, "--feed n: 1.5 is not a int32"},
      {{"minus_n", "--feed=n=\"1\""}, kInvalid, "\"1\" is not a int32"},
      {{"minus_n", "--feed=n=[1, [2]]"}, kInvalid, "--feed n: "},
      {{"minus_n", "--feed=n=one"}, kInvalid, "one is not JSON"},
      {{"same", "--feed=s=hello"}, kInvalid, "write a string as"},
      {{"y", "--init=init", "--feed=x=[1, 2]"},
       kInvalid,
       "Cannot feed value of shape (2,) for Tensor 'x:0', which has shape "
       "'(2, ?)'"},
      {{"handle", "--feed=handle=1"},
       absl::StatusCode::kUnimplemented,
       "resource"},
      {{"minus_n"}, kInvalid, "You must feed a value for placeholder"},
      {{"n", "--feed=n=1"}, kInvalid, "both fed and fetched"},
      {{"minus_n", "--feed=n=1", "--feed=n:0=2"}, kInvalid, "more than once"},
      {{"w"}, absl::StatusCode::kFailedPrecondition, "w"},
      {{"w", "--target=nonsense"}, kInvalid, "nonsense"},
  };
  for (const auto& [flags, code, why] : cases) {
    EXPECT_THAT(Run(flags), StatusIs(code, why)) << flags[0];
  }
}

TEST_F(GraphRunTest, UnrunnableFilesAreRejected) {
  const std::string missing = JoinPath(testing::TempDir(), "not_there.pb");
  EXPECT_THAT(RunWords({"graph", "run", missing, "x"}),
              StatusIs(kNotFound, missing));
  EXPECT_THAT(RunWords({"graph", "run", testing::TempDir(), "x"}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  const std::string damaged = JoinPath(testing::TempDir(), "damaged.pb");
  Write(damaged, "\x0a\x7f\x01");
  EXPECT_THAT(RunWords({"graph", "run", damaged, "x"}),
              StatusIs(kInvalid, damaged));
  const std::string unknown = JoinPath(testing::TempDir(), "unknown.pbtxt");
  Write(unknown, "node { name: 'a' op: 'Foo' } node { name: 'b' op: 'Bar' }");
  EXPECT_THAT(RunWords({"graph", "run", unknown, "a"}),
              StatusIs(kNotFound, "Op type not registered 'Foo' (node 'a')"));
}

class TextGraphTest : public GraphRunTest {
 protected:
  // Runs a graph with one fetch. Returns the value as text, or the error.
  absl::StatusOr<std::string> RunText(const std::string& text,
                                      std::vector<std::string> flags) {
    Write(file_, text);
    flags.push_back("--json");
    ASSIGN_OR_RETURN(const std::string json, Run(flags));
    return Json::parse(json)[0]["value"].dump();
  }
  static std::string Float(absl::string_view name, absl::string_view op,
                           absl::string_view rest) {
    const bool is_source = op == "Const" || op == "Placeholder";
    return absl::StrCat("node { name: '", name, "' op: '", op,
                        "' attr { key: '", is_source ? "dtype" : "T",
                        "' value { type: DT_FLOAT } } ", rest, " }\n");
  }
  static std::string Two(absl::string_view name) {
    return Float(name, "Const",
                 "attr { key: 'value' value { tensor { dtype: DT_FLOAT "
                 "tensor_shape { } float_val: 2 } } }");
  }
};

TEST_F(TextGraphTest, UnknownOpsThatDoNotRunAreIgnored) {
  const std::string text = absl::StrCat(
      Float("x", "Placeholder", ""), Float("y", "Square", "input: 'x'"),
      Float("post", "BoxDecoderX", "input: 'y'"),
      Float("after", "Neg", "input: 'post:1'"));
  EXPECT_THAT(RunText(text, {"--feed=x=3", "--fetch=y"}), Gives("9.0"));
  const auto fails =
      StatusIs(kNotFound, "Op type not registered 'BoxDecoderX' (node 'post')");
  for (const char* fetch : {"post", "post:0", "post:1", "post:5", "after"}) {
    EXPECT_THAT(RunText(text, {"--feed=x=3", "--fetch", fetch}), fails);
  }
  // If its output is fed, the op is not needed.
  EXPECT_THAT(RunText(text, {"--feed=post:1=4", "--fetch=after"}),
              Gives("-4.0"));
}

TEST_F(TextGraphTest, AssignToFrozenVariableIsIgnored) {
  const std::string text = absl::StrCat(
      Two("w"), Float("w/Assign", "Assign", "input: 'w' input: 'w'"),
      Float("y", "Square", "input: 'w'"));
  EXPECT_THAT(RunText(text, {"--fetch=y"}), Gives("4.0"));
  EXPECT_THAT(RunText(text, {"--fetch=w/Assign"}),
              StatusIs(kInvalid,
                       "Input 0 of node w/Assign was passed float "
                       "from w:0 incompatible"));
}

TEST_F(TextGraphTest, OldPlaceholdersAcceptAnyShape) {
  const std::string text = absl::StrCat(
      Float("x", "Placeholder", "attr { key: 'shape' value { shape { } } }"),
      Float("y", "Neg", "input: 'x'"), "versions { producer: ");
  const std::vector<std::string> flags = {"--feed=x=[1, 2]", "--fetch=y"};
  EXPECT_THAT(RunText(text + "8 }", flags), Gives("[-1.0,-2.0]"));
  EXPECT_THAT(RunText(text + "21 }", flags), Gives("[-1.0,-2.0]"));
  EXPECT_THAT(RunText(text + "22 }", flags),
              StatusIs(kInvalid, "Cannot feed value of shape (2,)"));
}

TEST_F(TextGraphTest, QuantizedTensorsAreAccepted) {
  const std::string text =
      "node { name: 'q' op: 'Const' attr { key: 'dtype' value { type: "
      "DT_QUINT8 } } attr { key: 'value' value { tensor { dtype: DT_QUINT8 "
      "tensor_shape { dim { size: 2 } } int_val: 3 int_val: 250 } } } }"
      "node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: "
      "DT_QINT32 } } }"
      "node { name: 'i' op: 'Identity' input: 'q' attr { key: 'T' value { "
      "type: DT_QUINT8 } } }"
      "node { name: 'j' op: 'Identity' input: 'p' attr { key: 'T' value { "
      "type: DT_QINT32 } } }";
  EXPECT_THAT(RunText(text, {"--fetch=i"}), Gives("[3,250]"));
  EXPECT_THAT(RunText(text, {"--feed=p=[-7]", "--fetch=j"}), Gives("[-7]"));
}

TEST_F(TextGraphTest, NonUtf8BytesAreBase64) {
  const std::string text =
      "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: "
      "DT_STRING } } attr { key: 'value' value { tensor { dtype: DT_STRING "
      "tensor_shape { } string_val: '\\377\\330\\001' } } } }";
  EXPECT_THAT(RunText(text, {"--fetch=c"}), Gives(R"({"b64":"/9gB"})"));
}

TEST_F(TextGraphTest, DevicesAreCleared) {
  const std::string text = absl::StrCat(
      Two("w"),
      Float("y", "Square", "input: 'w' device: '/job:nowhere/gpu:7'"));
  EXPECT_THAT(RunText(text, {"--fetch=y"}), StatusIs(kInvalid, "nowhere"));
  EXPECT_THAT(RunText(text, {"--fetch=y", "--clear_devices"}), Gives("4.0"));
}

// The attr is ignored with a warning on stderr.
TEST_F(TextGraphTest, UnknownAttrsAreIgnored) {
  const std::string text = absl::StrCat(
      Two("w"),
      Float("y", "Square", "input: 'w' attr { key: 'mode' value { i: 3 } }"));
  testing::internal::CaptureStderr();
  EXPECT_THAT(RunText(text, {"--fetch=y"}), Gives("4.0"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("Ignored attrs: 'mode' of op 'Square' (node 'y')"));
}

}  // namespace
}  // namespace weft::tools
