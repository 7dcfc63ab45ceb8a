#include "libs/passes/prune.h"

#include <gtest/gtest.h>

#include "libs/base/test_matchers.h"
#include "libs/graph/unknown_op.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

class PruneTest : public ::testing::Test {
 protected:
  const Node* Add(NodeSpec spec) {
    auto node = graph_.AddNode(std::move(spec));
    EXPECT_TRUE(node.ok()) << node.status();
    graph_.set_assigned_device(*node, "/device:CPU:0");
    return *node;
  }
  const Node* Placeholder(const std::string& name) {
    return Add(
        {.name = name, .op = "Placeholder", .attrs = {{"dtype", DT_FLOAT}}});
  }
  const Node* Identity(const std::string& name, const Node* input,
                       std::vector<const Node*> controls = {}) {
    return Add({.name = name,
                .op = "Identity",
                .inputs = {{input, 0}},
                .control_inputs = std::move(controls)});
  }
  const Node* NoOp(const std::string& name, std::vector<const Node*> controls) {
    return Add(
        {.name = name, .op = "NoOp", .control_inputs = std::move(controls)});
  }

  Graph graph_{StandardOps()};
};

TEST_F(PruneTest, KeepsOnlyNodesTheFetchNeeds) {
  const Node* x = Placeholder("x");
  const Node* y = Identity("y", x);
  Identity("unused", x);
  auto pruned = Prune(graph_, {.feeds = {{x, 0}}, .fetches = {{y, 0}}});
  ASSERT_OK(pruned);
  EXPECT_EQ((*pruned)->num_nodes(), 3);  // _Arg, y, _Retval
  EXPECT_EQ((*pruned)->FindNode("unused"), nullptr);
  EXPECT_EQ((*pruned)->FindNode("x"), nullptr);
  EXPECT_EQ((*pruned)->FindNode("y")->input(0).node->type(), "_Arg");
  EXPECT_EQ((*pruned)->FindNode("y")->assigned_device(), "/device:CPU:0");
}

TEST_F(PruneTest, FedOutputDropsItsProducers) {
  const Node* x = Placeholder("x");
  const Node* y = Identity("y", x);
  const Node* z = Identity("z", y);
  auto pruned = Prune(graph_, {.feeds = {{y, 0}}, .fetches = {{z, 0}}});
  ASSERT_OK(pruned);
  EXPECT_EQ((*pruned)->FindNode("y"), nullptr);
}

// A node inside the loop has a value in each iteration; an Exit has one.
TEST_F(PruneTest, AFetchFromInsideALoopIsRefused) {
  const Node* enter = Add({.name = "enter",
                           .op = "Enter",
                           .inputs = {{Placeholder("x"), 0}},
                           .attrs = {{"frame_name", "turns"}}});
  const Node* inside = Identity("inside", enter);
  const Node* exit =
      Add({.name = "exit", .op = "Exit", .inputs = {{inside, 0}}});
  const Node* after = Identity("after", exit);
  EXPECT_OK(Prune(graph_, {.fetches = {{exit, 0}, {after, 0}}}));
  EXPECT_OK(Prune(graph_, {.fetches = {{after, 0}}, .targets = {inside}}));
  EXPECT_THAT(
      Prune(graph_, {.fetches = {{after, 0}, {inside, 0}}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "Tensor inside:0 can't be fetched: it is inside the loop "
               "'turns' and has a value in each iteration"));
}

TEST_F(PruneTest, TargetsKeepTheirControlInputs) {
  const Node* x = Placeholder("x");
  const Node* first = NoOp("first", {});
  const Node* target = NoOp("target", {first});
  auto pruned = Prune(graph_, {.targets = {target}});
  ASSERT_OK(pruned);
  EXPECT_EQ((*pruned)->num_nodes(), 2);
  ASSERT_EQ((*pruned)->FindNode("target")->control_inputs().size(), 1u);
  EXPECT_EQ(x->name(), "x");
}

TEST_F(PruneTest, ControlEdgeOfFedPlaceholderMovesToFeed) {
  const Node* x = Placeholder("x");
  const Node* after = NoOp("after", {x});
  auto pruned = Prune(graph_, {.feeds = {{x, 0}}, .targets = {after}});
  ASSERT_OK(pruned);
  const Node* copy = (*pruned)->FindNode("after");
  ASSERT_EQ(copy->control_inputs().size(), 1u);
  EXPECT_EQ(copy->control_inputs()[0]->type(), "_Arg");
}

TEST_F(PruneTest, NeededUnknownNodesAreRefused) {
  const Node* x = Placeholder("x");
  const auto unknown = [&](const std::string& name, const std::string& op) {
    NodeSpec spec{.name = name, .op = op, .inputs = {{x, 0}}};
    MarkUnknown(1, spec);
    return Add(std::move(spec));
  };
  const Node* a = unknown("a", "Foo");
  const Node* b = unknown("b", "Bar");
  const Node* after = NoOp("after", {a, b});
  EXPECT_OK(Prune(graph_, {.fetches = {{x, 0}}}));
  EXPECT_THAT(Prune(graph_, {.fetches = {{a, 0}}}),
              StatusIs(absl::StatusCode::kNotFound,
                       "Op type not registered 'Foo' (node 'a')"));
  EXPECT_THAT(Prune(graph_, {.targets = {after}}),
              StatusIs(absl::StatusCode::kNotFound,
                       "'Bar' (node 'b'), 'Foo' (node 'a')"));
}

TEST_F(PruneTest, AFetchedReferenceIsReadAfterItsWriters) {
  const Node* v =
      Add({.name = "v",
           .op = "VariableV2",
           .attrs = {{"dtype", DT_FLOAT}, {"shape", PartialShape{}}}});
  const Node* x = Placeholder("x");
  const Node* add =
      Add({.name = "add", .op = "AssignAdd", .inputs = {{v, 0}, {x, 0}}});
  auto pruned =
      Prune(graph_, {.feeds = {{x, 0}}, .fetches = {{v, 0}}, .targets = {add}});
  ASSERT_OK(pruned);
  const Node* retval = (*pruned)->nodes().back();
  ASSERT_EQ(retval->type(), "_Retval");
  ASSERT_EQ(retval->control_inputs().size(), 1u);
  EXPECT_EQ(retval->control_inputs()[0]->name(), "add");
  // In a partial run the writers may wait for feeds that come after the fetch.
  pruned = Prune(graph_, {.feeds = {{x, 0}},
                          .fetches = {{v, 0}},
                          .targets = {add},
                          .client_device = "/job:worker/replica:0/task:0"});
  ASSERT_OK(pruned);
  const Node* send = (*pruned)->nodes().back();
  ASSERT_EQ(send->type(), "_Send");
  EXPECT_TRUE(send->control_inputs().empty());
}

TEST_F(PruneTest, PartialRunUsesEdgesToTheClient) {
  const Node* x = Placeholder("x");
  const Node* y = Identity("y", x);
  const std::string client = "/job:worker/replica:0/task:0/device:CPU:0";
  auto pruned =
      Prune(graph_,
            {.feeds = {{x, 0}}, .fetches = {{y, 0}}, .client_device = client});
  ASSERT_OK(pruned);
  const Node* feed = (*pruned)->FindNode("y")->input(0).node;
  EXPECT_EQ(feed->type(), "_Recv");
  EXPECT_EQ(feed->assigned_device(), client);
  EXPECT_EQ(*feed->attr<int64_t>("edge"), static_cast<int64_t>(FeedEdge(0)));
  const Node* fetch = (*pruned)->node((*pruned)->num_nodes() - 1);
  EXPECT_EQ(fetch->type(), "_Send");
  EXPECT_EQ(fetch->assigned_device(), client);
  EXPECT_EQ(*fetch->attr<int64_t>("edge"), static_cast<int64_t>(FetchEdge(0)));
}

TEST_F(PruneTest, AFetchMayRepeat) {
  const Node* x = Placeholder("x");
  const Node* y = Identity("y", x);
  auto pruned = Prune(graph_, {.feeds = {{x, 0}}, .fetches = {{y, 0}, {y, 0}}});
  ASSERT_OK(pruned);
  EXPECT_EQ((*pruned)->num_nodes(), 4);
}

}  // namespace
}  // namespace weft
