// Tests that placement depends on the content of a graph and not on its order:
// random graphs, each placed again with everything permuted that should not
// matter.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/placement/testing/test_graph.h"

namespace weft {
namespace {

using Devices = std::map<std::string, std::string>;  // by node

std::vector<std::string> DeviceNames() {
  std::vector<std::string> names;
  for (const char* job : {"ps", "worker"}) {
    for (int task = 0; task < 3; ++task) {
      names.push_back(absl::StrCat("/job:", job, "/replica:0/task:", task,
                                   "/device:CPU:0"));
    }
  }
  names.push_back("/job:worker/replica:0/task:1/device:GPU:0");
  names.push_back("/job:worker/replica:0/task:2/device:GPU:0");
  names.push_back("/job:worker/replica:0/task:2/device:GPU:1");
  return names;
}

class RandomGraph {
 public:
  RandomGraph(uint32_t seed, bool soft_placement)
      : random_(seed), soft_placement_(soft_placement) {
    for (int i = 0; i < 40; ++i) AddNode(i);
  }

  // Returns the same graph in another order.
  PlacementGraph Permuted() {
    const std::vector<int> order = RandomOrder();
    std::vector<int> position(order.size());
    for (size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
    PlacementGraph result;
    for (int i : order) {
      PlacementNode node = graph_.nodes[i];
      for (PlacementNode::Input& input : node.inputs) {
        input.node = position[input.node];
      }
      Shuffle(node.colocate_with);
      Shuffle(node.kernel_types);
      result.nodes.push_back(std::move(node));
    }
    return result;
  }

  template <typename T>
  void Shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[Below(static_cast<int>(i))]);
    }
  }

 private:
  int Below(int bound) { return static_cast<int>(random_() % bound); }

  void AddNode(int i) {
    switch (i < 4 ? 0 : Below(5)) {
      case 0:
        return AddVariable(i);
      case 1:
        return AddUpdate(i);
      case 2:
        graph_.nodes.push_back({.name = absl::StrCat("const", i),
                                .op = "Const",
                                .requested_device = Request(),
                                .kernel_types = Kernels(),
                                .is_generator = true});
        return;
      default:
        return AddOp(i);
    }
  }

  void AddVariable(int i) {
    const std::string name = absl::StrCat("v", i);
    variables_.push_back(i);
    graph_.nodes.push_back(
        {.name = name,
         .op = "VarHandleOp",
         .requested_device = soft_placement_ ? "" : Request(),
         .kernel_types = Kernels(),
         .resource = NamedResource{.name = name, .kind = "Var"}});
  }

  void AddUpdate(int i) {
    graph_.nodes.push_back(
        {.name = absl::StrCat("update", i),
         .op = "Update",
         .kernel_types = Kernels(),
         .inputs = {{.node = SomeVariable(), .shares_device = true},
                    {.node = Below(i)}}});
  }

  void AddOp(int i) {
    PlacementNode node{.name = absl::StrCat("op", i),
                       .op = "Op",
                       .requested_device = Request(),
                       .kernel_types = Kernels(),
                       .is_metadata = Below(4) == 0};
    for (int n = Below(3); n >= 0; --n) node.inputs.push_back({Below(i)});
    if (!node.is_metadata && (soft_placement_ || Below(3) == 0)) {
      if (!soft_placement_) node.requested_device.clear();
      node.colocate_with.push_back(graph_.nodes[SomeVariable()].name);
    }
    graph_.nodes.push_back(std::move(node));
  }

  int SomeVariable() {
    return variables_[Below(static_cast<int>(variables_.size()))];
  }

  // Under soft placement no request names another task: which of two
  // conflicting ones is given up does depend on their order.
  std::string Request() {
    static constexpr const char* kFirm[] = {
        "", "", "/job:ps", "/job:ps/task:1", "/job:worker", "/device:CPU:0"};
    static constexpr const char* kSoft[] = {"", "/device:CPU:0",
                                            "/device:GPU:0", "/device:GPU:1"};
    return soft_placement_ ? kSoft[Below(4)] : kFirm[Below(6)];
  }

  std::vector<std::string> Kernels() {
    std::vector<std::string> types = {"CPU"};
    if (Below(2) == 0) types.push_back("GPU");
    return types;
  }

  // Returns an order in which every node comes after its inputs.
  std::vector<int> RandomOrder() {
    const int num_nodes = static_cast<int>(graph_.nodes.size());
    std::vector<bool> done(num_nodes, false);
    std::vector<int> order;
    while (static_cast<int>(order.size()) < num_nodes) {
      const int i = Below(num_nodes);
      bool ready = !done[i];
      for (const auto& input : graph_.nodes[i].inputs) {
        ready = ready && done[input.node];
      }
      if (!ready) continue;
      done[i] = true;
      order.push_back(i);
    }
    return order;
  }

  std::mt19937 random_;
  const bool soft_placement_;
  PlacementGraph graph_;
  std::vector<int> variables_;
};

// Some resources live on a device, chosen by name alone.
bool Lives(const NamedResource& resource, const std::string& device) {
  return resource.name.back() % 3 == 0 &&
         device == "/job:ps/replica:0/task:2/device:CPU:0";
}

class PermutationTest : public ::testing::TestWithParam<bool> {};

TEST_P(PermutationTest, PlacementIsIndependentOfNodeOrder) {
  const bool soft = GetParam();
  int num_placed = 0;
  std::set<std::string> used;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    RandomGraph graph(seed, soft);
    std::vector<std::string> names = DeviceNames();
    absl::StatusOr<Devices> first;
    for (int round = 0; round < 4; ++round) {
      TestGraph permuted;
      permuted.graph() = graph.Permuted();
      graph.Shuffle(names);
      auto placed =
          permuted.Place(TestDevices(names),
                         {.allow_soft_placement = soft,
                          .default_task = "/job:worker/replica:0/task:1"},
                         Lives);
      if (round == 0) first = placed;
      ASSERT_EQ(placed.ok(), first.ok())
          << "seed " << seed << ": " << first.status() << placed.status();
      if (!placed.ok()) continue;
      EXPECT_EQ(*placed, *first) << "seed " << seed;
    }
    if (!first.ok()) continue;
    ++num_placed;
    for (const auto& [node, device] : *first) used.insert(device);
  }
  EXPECT_GE(num_placed, 10);
  EXPECT_GE(used.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(All, PermutationTest, ::testing::Bool(),
                         [](const auto& param) {
                           return param.param ? "Soft" : "Firm";
                         });

}  // namespace
}  // namespace weft
