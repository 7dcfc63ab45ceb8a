// Tests the output of `weft graph` for its users, and the placement of nodes.
#include "tools/cli/graph_commands.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "nlohmann/json.hpp"
#include "tools/cli/graph_file.h"

namespace weft::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Json = nlohmann::json;

constexpr char kPsCpu[] = "/job:ps/replica:0/task:0/device:CPU:0";
constexpr char kWorkerCpu[] = "/job:worker/replica:0/task:1/device:CPU:0";

// A graph with a variable on the ps and a node that doubles it on a worker.
constexpr char kText[] = R"(
node {
  name: "v" op: "VariableV2" device: "/job:ps"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { } } }
}
node {
  name: "v/read" op: "Identity" input: "v"
  attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "_class" value { list { s: "loc:@v" } } }
}
node {
  name: "twice" op: "AddV2" input: "v/read" input: "v/read:0" input: "^v"
  device: "/job:worker/task:1"
  attr { key: "T" value { type: DT_FLOAT } }
}
)";

class GraphCommandsTest : public testing::Test {
 protected:
  absl::StatusOr<std::string> Run(const std::vector<std::string>& words,
                                  bool is_terminal = true) {
    auto invocation = ParseInvocation(words, {.is_terminal = is_terminal});
    if (!invocation.ok()) return invocation.status();
    return RunGraphCommand(process_, files_, invocation->arguments[0],
                           *invocation);
  }
  void Write(const std::string& path, const std::string& content) {
    ASSERT_OK(files_.WriteFileAtomically(path, content));
  }
  static std::string Devices() {
    return std::string("--devices=") + kPsCpu +
           ",/job:worker/task:0/cpu:0,/job:worker/task:1/cpu:0";
  }

  Process process_{{.compute_threads = 1}};
  MemoryFileSystem files_;
};

TEST_F(GraphCommandsTest, NodesAreListed) {
  Write("/g.pbtxt", kText);
  ASSERT_OK_AND_ASSIGN(std::string text, Run({"graph", "/g.pbtxt"}));
  EXPECT_EQ(text,
            "NODE    OP          DEVICE              INPUTS                "
            "ATTRS\n"
            "v       VariableV2  /job:ps                                   "
            "dtype=DT_FLOAT, shape=[]\n"
            "v/read  Identity                        v                     "
            "T=DT_FLOAT, _class=[\"loc:@v\"]\n"
            "twice   AddV2       /job:worker/task:1  v/read, v/read:0, ^v  "
            "T=DT_FLOAT\n");
  ASSERT_OK_AND_ASSIGN(const std::string same,
                       Run({"graph", "show", "/g.pbtxt"}));
  EXPECT_EQ(same, text);
  ASSERT_OK_AND_ASSIGN(text, Run({"graph", "show", "/g.pbtxt"}, false));
  const Json json = Json::parse(text);
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[2]["name"], "twice");
  EXPECT_EQ(json[2]["inputs"], Json({"v/read", "v/read:0", "^v"}));
  EXPECT_EQ(json[2]["attrs"], Json({{"T", "DT_FLOAT"}}));
}

TEST_F(GraphCommandsTest, NodesAreListedByNameAndOp) {
  Write("/g.pbtxt", kText);
  const auto names = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> words = {"graph", "show", "/g.pbtxt", "--json"};
    words.insert(words.end(), flags.begin(), flags.end());
    const auto text = Run(words);
    EXPECT_OK(text);
    std::vector<std::string> result;
    if (text.ok()) {
      for (const Json& node : Json::parse(*text))
        result.push_back(node["name"]);
    }
    return result;
  };
  EXPECT_THAT(names({"--name=^v"}), ElementsAre("v", "v/read"));
  EXPECT_THAT(names({"--name=^(v|twice)$"}), ElementsAre("v", "twice"));
  EXPECT_THAT(names({"--op=AddV2,Identity"}), ElementsAre("v/read", "twice"));
  EXPECT_THAT(names({"--op=Identity", "--name=twice"}), IsEmpty());
  EXPECT_THAT(Run({"graph", "show", "/g.pbtxt", "--name=(v"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "--name=(v"));
}

TEST_F(GraphCommandsTest, SerializedGraphsAndUnknownOpsAreListed) {
  ASSERT_OK_AND_ASSIGN(
      const GraphFile file,
      ReadGraphFile("x.pbtxt", "node { name: \"a\" op: \"NobodyKnowsThis\" }"));
  Write("/g.pb", file.graph_def);
  ASSERT_OK_AND_ASSIGN(const std::string text, Run({"graph", "/g.pb"}));
  EXPECT_EQ(text,
            "NODE  OP               DEVICE  INPUTS  ATTRS\n"
            "a     NobodyKnowsThis\n"
            "\n"
            "Ops that are not registered: NobodyKnowsThis (1 node)\n");
  ASSERT_OK_AND_ASSIGN(const std::string json, Run({"graph", "/g.pb"}, false));
  EXPECT_EQ(Json::parse(json)[0]["unknown_op"], true);
  EXPECT_OK(Run({"graph", "explain", "/g.pb", Devices()}));
}

TEST_F(GraphCommandsTest, UnknownOpsFollowTheirNeighbors) {
  Write("/g.pbtxt", absl::StrCat(kText, R"(
node { name: "post" op: "NobodyKnowsThis" input: "twice" }
node { name: "init" op: "NobodyKnowsThat" input: "v" })"));
  ASSERT_OK_AND_ASSIGN(std::string text, Run({"graph", "explain", "/g.pbtxt",
                                              Devices(), "--json"}));
  Json json = Json::parse(text);
  ASSERT_EQ(json.size(), 5u);
  EXPECT_EQ(json[3]["device"], kWorkerCpu);
  EXPECT_EQ(json[4]["device"], kPsCpu);
  ASSERT_OK_AND_ASSIGN(text, Run({"graph", "stats", "/g.pbtxt"}, false));
  json = Json::parse(text);
  EXPECT_EQ(json["unknown_ops"],
            Json({{"NobodyKnowsThat", {{"before", 1}, {"after", 1}}},
                  {"NobodyKnowsThis", {{"before", 1}, {"after", 1}}}}));
  EXPECT_OK(Run({"graph", "stats", "/g.pbtxt", "twice:0"}));
  EXPECT_THAT(Run({"graph", "stats", "/g.pbtxt", "post"}),
              StatusIs(absl::StatusCode::kNotFound, "NobodyKnowsThis"));
}

TEST_F(GraphCommandsTest, FilesWithoutGraphAreRejected) {
  Write("/g.pb", "\xff\xff\xff");
  EXPECT_THAT(Run({"graph", "/g.pb"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "/g.pb"));
  Write("/g.pbtxt", "node {\n nmae: \"x\" }");
  EXPECT_THAT(Run({"graph", "/g.pbtxt"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "line 2"));
  EXPECT_THAT(Run({"graph", "/none.pb"}),
              StatusIs(absl::StatusCode::kNotFound, "/none.pb"));
  ASSERT_OK(files_.CreateDirectory("/folder"));
  EXPECT_THAT(Run({"graph", "/folder"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "/folder"));
}

// A graph with two constants. Their sum is used twice through an Identity, so
// passes can fold it.
constexpr char kFoldable[] = R"(
node { name: "one" op: "Const"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
node { name: "two" op: "Add" input: "one" input: "one"
  attr { key: "T" value { type: DT_FLOAT } } }
node { name: "x" op: "Placeholder" device: "/job:worker/task:1"
  attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "same" op: "Identity" input: "x" device: "/job:worker/task:1"
  attr { key: "T" value { type: DT_FLOAT } } }
node { name: "y" op: "Mul" input: "two" input: "same" device: "/job:worker/task:1"
  attr { key: "T" value { type: DT_FLOAT } } }
node { name: "other" op: "Neg" input: "y"
  attr { key: "T" value { type: DT_FLOAT } } }
)";

TEST_F(GraphCommandsTest, StatsShowNodesBeforeAndAfterPasses) {
  Write("/g.pbtxt", kFoldable);
  ASSERT_OK_AND_ASSIGN(std::string text, Run({"graph", "stats", "/g.pbtxt"}));
  EXPECT_THAT(text, HasSubstr("nodes"));
  EXPECT_THAT(text, HasSubstr("Identity"));
  ASSERT_OK_AND_ASSIGN(text, Run({"graph", "stats", "/g.pbtxt"}, false));
  const Json json = Json::parse(text);
  EXPECT_EQ(json["nodes"], Json({{"before", 6}, {"after", 4}}));
  EXPECT_EQ(json["constant_bytes"], Json({{"before", 4}, {"after", 4}}));
  EXPECT_EQ(json["ops"]["Identity"], Json({{"before", 1}, {"after", 0}}));
  EXPECT_EQ(json["ops"]["Add"], Json({{"before", 1}, {"after", 0}}));
  EXPECT_EQ(json["devices"][kWorkerCpu], Json({{"before", 3}, {"after", 2}}));
}

TEST_F(GraphCommandsTest, StatsOfAStepShowItsNodesOnly) {
  Write("/g.pbtxt", kFoldable);
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       Run({"graph", "stats", "/g.pbtxt", "two:0"}, false));
  const Json json = Json::parse(text);
  EXPECT_EQ(json["nodes"], Json({{"before", 2}, {"after", 1}}));
  EXPECT_THAT(Run({"graph", "stats", "/g.pbtxt", "nothing:0"}),
              StatusIs(absl::StatusCode::kNotFound, "nothing"));
}

TEST_F(GraphCommandsTest, ExplainShowsDeviceAndReason) {
  Write("/g.pbtxt", kText);
  ASSERT_OK_AND_ASSIGN(std::string text, Run({"graph", "explain", "/g.pbtxt",
                                              Devices(), "--json"}));
  const Json json = Json::parse(text);
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["device"], kPsCpu);
  EXPECT_EQ(json[1]["device"], kPsCpu);  // colocated with the variable
  EXPECT_EQ(json[2]["device"], kWorkerCpu);
  for (const Json& node : json) {
    EXPECT_THAT(node["reason"].get<std::string>(), Not(IsEmpty()));
  }
  ASSERT_OK_AND_ASSIGN(
      text, Run({"graph", "/g.pbtxt", Devices(), "--explain=twice"}));
  EXPECT_THAT(text, HasSubstr(std::string("twice: (AddV2): ") + kWorkerCpu));
  EXPECT_THAT(text, Not(HasSubstr("VariableV2): ")));
}

TEST_F(GraphCommandsTest, PlacementErrorMatchesSession) {
  Write("/g.pbtxt", kText);
  EXPECT_THAT(
      Run({"graph", "explain", "/g.pbtxt", "--devices=/job:ps/task:0/cpu:0"}),
      StatusIs(absl::StatusCode::kInvalidArgument, "twice"));
  EXPECT_THAT(Run({"graph", "explain", "/g.pbtxt", "--devices=/job:ps/cpu:0"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "--devices"));
  EXPECT_THAT(Run({"graph", "explain", "/g.pbtxt", "nothing", Devices()}),
              StatusIs(absl::StatusCode::kNotFound, "\"nothing\""));
  EXPECT_THAT(Run({"graph", "explain", "/g.pbtxt"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "WEFT_TARGET"));
}

}  // namespace
}  // namespace weft::tools
