// Tests a session's graph: its versions, its requests to the coordinator, and
// the state after an extension fails.
#include "libs/master/session_graph.h"

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/import/graph_def.h"
#include "libs/ops/standard_ops.h"
#include "libs/protocol/testing/recording_coordinator.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kTask[] = "/job:worker/replica:0/task:0";
constexpr char kDevice[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr char kPsDevice[] = "/job:ps/replica:0/task:0/device:CPU:0";

class SessionGraphTest : public ::testing::Test {
 protected:
  using Extended = absl::StatusOr<protocol::ExtensionResult>;

  SessionGraphTest()
      : options_{
            .scheduler = &scheduler_,
            .random = random_.get(),
            .ops = StandardOps(),
            .coordinator = &coordinator_,
            .task = kTask,
            .incarnation = 7,
            .device_types =
                [](const Node&) { return std::vector<std::string>{"CPU"}; },
            .log_placement =
                [this](const std::string& line) { lines_.push_back(line); }} {
    config_.log_device_placement = true;
  }

  // Returns the bytes of the nodes that `add` adds to those sent before.
  template <typename Add>
  std::string Nodes(Add add) {
    const int first = client_.num_nodes();
    add(client_);
    return ExportGraphDef(client_, {.first_id = first}).value();
  }
  std::string Placeholder(const std::string& name) {
    return Nodes([&](Graph& graph) {
      EXPECT_OK(graph.AddNode(
          {.name = name, .op = "Placeholder", .attrs = {{"dtype", DT_FLOAT}}}));
    });
  }
  std::string IdentityOf(const std::string& input, const std::string& name) {
    return Nodes([&](Graph& graph) {
      EXPECT_OK(graph.AddNode({.name = name,
                               .op = "Identity",
                               .inputs = {{graph.FindNode(input), 0}}}));
    });
  }
  std::string Variable(const std::string& name) {
    return Nodes([&](Graph& graph) {
      EXPECT_OK(graph.AddNode(
          {.name = name,
           .op = "VariableV2",
           .attrs = {{"dtype", DT_FLOAT}, {"shape", PartialShape({2})}}}));
    });
  }

  // The coordinator places new nodes, and older ones that the request names, on
  // `devices`.
  Extended Extend(int64_t from_version, std::string nodes,
                  std::vector<std::string> devices) {
    coordinator_.placement_reply.devices = std::move(devices);
    Extended result = absl::UnknownError("not answered yet");
    Begin(from_version, std::move(nodes), &result);
    return result;
  }
  void Begin(int64_t from_version, std::string nodes, Extended* result,
             Cancellation* client = nullptr) {
    absl::StatusOr<OpenCalls::CallPtr> open = calls_.Begin(nullptr, client);
    ASSERT_OK(open);
    graph_->Extend(
        *open, {std::move(nodes), from_version}, absl::InfiniteFuture(),
        [result](Extended extended) { *result = std::move(extended); });
    open->reset();
    scheduler_.RunUntilIdle();
  }
  absl::Status Fetch(const std::string& tensor) {
    return graph_->Prune({.fetches = {tensor}}).status();
  }
  void NewGraph() {
    graph_ = std::make_unique<SessionGraph>(1, config_, options_);
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  const std::unique_ptr<Random> random_ = NewSeededRandom(1);
  protocol::RecordingCoordinator coordinator_;
  std::vector<std::string> lines_;
  MasterOptions options_;
  protocol::SessionConfig config_;
  OpenCalls calls_;
  Graph client_{StandardOps()};  // as the client has it
  std::unique_ptr<SessionGraph> graph_ =
      std::make_unique<SessionGraph>(1, config_, options_);
};

TEST_F(SessionGraphTest, EachExtensionIsPlacedAsAVersion) {
  ASSERT_OK_AND_ASSIGN(auto result, Extend(0, Placeholder("x"), {kPsDevice}));
  EXPECT_EQ(result.version, 1);
  ASSERT_OK_AND_ASSIGN(result,
                       Extend(1, IdentityOf("x", "y"), {kPsDevice, kDevice}));
  EXPECT_EQ(result.version, 2);
  ASSERT_EQ(coordinator_.placements.size(), 2);
  const PlacementGraph& second = coordinator_.placements[1].graph;
  ASSERT_EQ(second.nodes.size(), 2);
  EXPECT_EQ(second.nodes[0].name, "x");
  EXPECT_EQ(second.nodes[0].assigned_device, kPsDevice) << "it stays";
  EXPECT_EQ(second.nodes[1].assigned_device, "");
  EXPECT_OK(Fetch("y:0"));
  EXPECT_THAT(lines_, ElementsAre("x: (Placeholder): " + std::string(kPsDevice),
                                  "y: (Identity): " + std::string(kDevice)));
}

// Its client has not received the answer.
TEST_F(SessionGraphTest, RepeatedExtensionIsAnsweredAgain) {
  const std::string nodes = Placeholder("x");
  ASSERT_OK(Extend(0, nodes, {kDevice}));
  ASSERT_OK_AND_ASSIGN(const auto again, Extend(0, nodes, {kPsDevice}));
  EXPECT_EQ(again.version, 1);
  ASSERT_EQ(again.placement.size(), 1);
  EXPECT_EQ(again.placement[0].device, kDevice);
  EXPECT_EQ(coordinator_.placements.size(), 1);
}

TEST_F(SessionGraphTest, AnExtensionOfAnotherVersionIsAborted) {
  ASSERT_OK(Extend(0, Placeholder("x"), {kDevice}));
  for (const int64_t version : {-1, 0, 2}) {
    EXPECT_THAT(
        Extend(version, Placeholder(absl::StrCat("y", version + 1)), {kDevice}),
        StatusIs(absl::StatusCode::kAborted, "Current version is 1"));
  }
  EXPECT_EQ(coordinator_.placements.size(), 1);
}

TEST_F(SessionGraphTest, UnplaceableNodesAreRemoved) {
  const std::string nodes = Placeholder("x");
  coordinator_.answer = absl::InvalidArgumentError("no such device");
  EXPECT_THAT(Extend(0, nodes, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "no such device"));
  EXPECT_FALSE(Fetch("x:0").ok());
  coordinator_.answer = absl::OkStatus();
  ASSERT_OK_AND_ASSIGN(const auto result, Extend(0, nodes, {kDevice}));
  EXPECT_EQ(result.version, 1) << "under the same name";
  EXPECT_OK(Fetch("x:0"));
}

// Also after the nodes were imported.
TEST_F(SessionGraphTest, ExtensionWithoutMemoryLeavesTheGraph) {
  bool has_memory = false;
  options_.device_types = [&](const Node&) -> std::vector<std::string> {
    if (!has_memory) throw std::bad_alloc();
    return {"CPU"};
  };
  NewGraph();
  const std::string nodes = Variable("v");
  EXPECT_THAT(Extend(0, nodes, {kDevice}),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_TRUE(coordinator_.placements.empty());
  EXPECT_FALSE(Fetch("v:0").ok());
  has_memory = true;
  ASSERT_OK_AND_ASSIGN(const auto result, Extend(0, nodes, {kDevice}));
  EXPECT_EQ(result.version, 1) << "under the same name";
  EXPECT_OK(Fetch("v:0"));
  EXPECT_EQ(graph_->declared().size(), 1);
}

TEST_F(SessionGraphTest, LoggingWithoutMemoryDoesNotFailTheExtension) {
  options_.log_placement = [](const std::string&) { throw std::bad_alloc(); };
  NewGraph();
  EXPECT_OK(Extend(0, Placeholder("x"), {kDevice}));
  EXPECT_OK(Fetch("x:0"));
}

TEST_F(SessionGraphTest, AnAnswerForAnotherGraphIsRefused) {
  const std::string nodes = Placeholder("x");
  EXPECT_THAT(
      Extend(0, nodes, {kDevice, kDevice}),
      StatusIs(absl::StatusCode::kInternal, "placement of another graph"));
  EXPECT_THAT(Extend(0, nodes, {}), StatusIs(absl::StatusCode::kInternal,
                                             "placement of another graph"));
  EXPECT_FALSE(Fetch("x:0").ok());
}

TEST_F(SessionGraphTest, PendingExtensionKeepsTheOldVersion) {
  ASSERT_OK(Extend(0, Placeholder("x"), {kDevice}));
  coordinator_.hold = true;
  coordinator_.placement_reply.devices = {kDevice, kDevice};
  Extended second = absl::UnknownError("not answered yet");
  Begin(1, IdentityOf("x", "y"), &second);
  Extended third = absl::UnknownError("not answered yet");
  Begin(2, IdentityOf("y", "z"), &third);
  EXPECT_OK(Fetch("x:0"));
  EXPECT_FALSE(Fetch("y:0").ok());
  EXPECT_EQ(coordinator_.placements.size(), 2) << "one after the other";
  coordinator_.Release();
  scheduler_.RunUntilIdle();
  ASSERT_OK(second);
  EXPECT_OK(Fetch("y:0"));
  EXPECT_EQ(coordinator_.placements.size(), 3);
  coordinator_.Release();
  scheduler_.RunUntilIdle();
  ASSERT_OK(third);
  EXPECT_EQ(third->version, 3);
}

// Reverting a large graph takes time, which a control thread does not have.
TEST_F(SessionGraphTest, CancelledPlacementIsUndoneOnTheGraphPool) {
  ASSERT_OK(Extend(0, Placeholder("x"), {kDevice}));
  coordinator_.hold = true;
  Cancellation client;
  Extended second = absl::UnknownError("not answered yet");
  Begin(1, IdentityOf("x", "y"), &second, &client);
  client.Cancel(absl::CancelledError("the client is gone"));
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kUnknown));
  scheduler_.RunUntilIdle();
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kCancelled, "is gone"));
  coordinator_.hold = false;
  coordinator_.Release();
  EXPECT_OK(Extend(1, IdentityOf("x", "z"), {kDevice, kDevice}));
}

TEST_F(SessionGraphTest, InternalPartitionOpsAreRefused) {
  const std::string nodes = Nodes([](Graph& graph) {
    EXPECT_OK(
        graph.AddNode({.name = "arg",
                       .op = "_Arg",
                       .attrs = {{"T", DT_FLOAT}, {"index", int64_t{0}}}}));
  });
  EXPECT_THAT(Extend(0, nodes, {kDevice}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Node 'arg': the op _Arg is created when graphs are"));
  EXPECT_TRUE(coordinator_.placements.empty());
}

TEST_F(SessionGraphTest, GraphBytesAreLimited) {
  const std::string nodes = Placeholder("x");
  options_.quotas.max_graph_bytes = 2 * SessionQuotas::kLeastNodeBytes - 1;
  NewGraph();
  ASSERT_OK(Extend(0, nodes, {kDevice}));
  EXPECT_THAT(Extend(1, Placeholder("y"), {kDevice}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "max_graph_bytes_per_session"));
}

// f0 negates; each of the others calls the one before it twice.
class ExpandingGraphTest : public SessionGraphTest {
 protected:
  static constexpr int kFunctions = 9;

  ExpandingGraphTest() {
    std::string text = "library {";
    for (int i = 0; i < kFunctions; ++i) absl::StrAppend(&text, Function(i));
    EXPECT_OK(ImportGraphDefText(absl::StrCat(text, " }"), client_));
    EXPECT_OK(client_.AddNode(
        {.name = "x", .op = "Placeholder", .attrs = {{"dtype", DT_FLOAT}}}));
    first_ = ExportGraphDef(client_).value();
  }
  static std::string Function(int i) {
    const std::string op = i == 0 ? "Neg" : absl::StrCat("f", i - 1);
    const std::string attr =
        i == 0 ? "attr { key: 'T' value { type: DT_FLOAT } }" : "";
    const std::string end = i == 0 ? ":y:0" : ":out:0";
    return absl::StrCat(
        " function { signature { name: 'f", i,
        "' input_arg { name: 'in' type: DT_FLOAT } output_arg { name: 'out' "
        "type: DT_FLOAT } } node_def { name: 'a' op: '",
        op, "' input: 'in' ", attr, " } node_def { name: 'b' op: '", op,
        "' input: 'a", end, "' ", attr, " } ret { key: 'out' value: 'b", end,
        "' } }");
  }
  std::string CallOf(int function, const std::string& name) {
    const int first = client_.num_nodes();
    EXPECT_OK(client_.AddNode({.name = name,
                               .op = absl::StrCat("f", function),
                               .inputs = {{client_.FindNode("x"), 0}}}));
    return ExportGraphDef(client_,
                          {.first_id = first, .first_function = kFunctions})
        .value();
  }
  // All nodes that are new to the session, on one device.
  Extended ExtendAll(int64_t version, const std::string& nodes) {
    coordinator_.place_all_on = kDevice;
    return Extend(version, nodes, {});
  }

  std::string first_;
};

TEST_F(ExpandingGraphTest, ExpandedNodesCountInTheQuota) {
  options_.quotas.max_graph_bytes = 60'000;
  NewGraph();
  ASSERT_OK(ExtendAll(0, first_));
  const std::string large = CallOf(kFunctions - 1, "large");
  EXPECT_LT(large.size(), 200u);
  EXPECT_THAT(ExtendAll(1, large),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "max_graph_bytes_per_session"));
  EXPECT_FALSE(Fetch("large:0").ok());
}

TEST_F(ExpandingGraphTest, ExpansionsAreSummed) {
  options_.quotas.max_graph_bytes = 60'000;
  NewGraph();
  ASSERT_OK(ExtendAll(0, first_));
  int64_t version = 1;
  absl::Status status;
  while (status.ok() && version < 50) {
    status =
        ExtendAll(version, CallOf(2, absl::StrCat("call", version))).status();
    if (status.ok()) ++version;
  }
  EXPECT_GT(version, 3) << "small ones fit";
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               "max_graph_bytes_per_session"));
  EXPECT_OK(Fetch("call1:0"));
}

TEST_F(SessionGraphTest, SharedResourcesAreDeclared) {
  ASSERT_OK(Extend(0, Variable("v"), {kPsDevice}));
  const std::vector<protocol::PlacedResource> declared = graph_->declared();
  ASSERT_EQ(declared.size(), 1);
  EXPECT_EQ(declared[0].device, kPsDevice);
  EXPECT_EQ(declared[0].resource.name, "v");
  EXPECT_EQ(declared[0].resource.container, "ps") << "as its job is called";
}

TEST_F(SessionGraphTest, IsolatedSessionDeclaresNoResources) {
  config_.isolate_session_state = true;
  NewGraph();
  ASSERT_OK(Extend(0, Variable("v"), {kPsDevice}));
  EXPECT_THAT(graph_->declared(), IsEmpty());
  EXPECT_TRUE(coordinator_.placements[0].isolated);
}

}  // namespace
}  // namespace weft
