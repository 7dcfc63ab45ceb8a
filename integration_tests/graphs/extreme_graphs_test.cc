// Checks that graphs with excessive demands end in time, within the memory of
// the process, with values or errors. There must be no crash, no step that
// ignores its deadline, and no memory that the limits do not count.
// integration_tests/testing/graph_seeds.h selects the seeds.
//
// If a test crashes, or ends by SIGALRM ("Alarm clock") because a graph does
// not end, last_graph.txt among its outputs contains the graph and its seed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/extreme_graph.h"
#include "integration_tests/testing/graph_seeds.h"
#include "integration_tests/testing/process_limits.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/base/text_proto.h"
#include "libs/fs/memory_file_system.h"
#include "libs/graph/import/graph_def.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 12;
constexpr absl::Duration kStepTimeout = absl::Milliseconds(100);
// The time limit for all steps of one graph. Steps that respect their deadlines
// need far less.
constexpr unsigned kGraphSeconds = 60;
constexpr int64_t kTensorBytes = int64_t{256} << 20;
// The bound for the total memory of the process, including tensors and threads.
constexpr int64_t kPeakBytes = int64_t{3} << 29;
// The memory limit that the system enforces, which protects the machine if a
// test fails.
constexpr int64_t kProcessBytes = int64_t{3} << 30;
constexpr size_t kMaxSteps = 4;

using Feeds = std::vector<std::pair<std::string, Tensor>>;

Feeds FeedsOf(const Graph& graph) {
  Feeds feeds;
  for (const Node* node : graph.nodes()) {
    const Tensor* value = node->attr<Tensor>("_value");
    if (value == nullptr || node->num_outputs() == 0) continue;
    feeds.emplace_back(absl::StrCat(node->name(), ":0"), *value);
  }
  return feeds;
}

std::vector<const Node*> EndsOf(const Graph& graph) {
  absl::flat_hash_set<const Node*> used;
  for (const Node* node : graph.nodes()) {
    for (const OutputTensor& input : node->inputs()) used.insert(input.node);
  }
  std::vector<const Node*> ends;
  for (const Node* node : graph.nodes()) {
    if (!used.contains(node) && ends.size() < kMaxSteps) ends.push_back(node);
  }
  return ends;
}

class ExtremeGraphsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { LimitMemory(kProcessBytes); }

  void Run(const std::string& text) {
    tf::GraphDef def;
    ASSERT_OK(ParseTextProto(text, def, {.allow_unknown_fields = true}));
    const Scope root = Scope::Root();
    if (!ImportGraphDef(def.SerializeAsString(), root.graph()).ok()) return;
    ++graphs_;
    SessionOptions options;
    options.process = &process_;
    ASSERT_OK_AND_ASSIGN(const auto session,
                         Session::Connect("", root, options));
    RunSteps(root.graph(), *session);
  }

  // Runs the nodes whose outputs are not used, one by one, until a node takes
  // too long.
  void RunSteps(const Graph& graph, Session& session) {
    const Feeds feeds = FeedsOf(graph);
    for (const Node* node : EndsOf(graph)) {
      std::vector<std::string> fetches, targets = {node->name()};
      if (node->num_outputs() > 0) fetches = {absl::StrCat(node->name(), ":0")};
      const absl::Status ran =
          session.RunNamed(feeds, fetches, targets, {.timeout = kStepTimeout})
              .status();
      values_ += ran.ok() ? 1 : 0;
      if (absl::IsDeadlineExceeded(ran)) return;
    }
  }

  MemoryFileSystem files_;
  Process process_{{.compute_threads = 2,
                    .file_system = &files_,
                    .memory_bound = [] { return kTensorBytes; }}};
  int graphs_ = 0;  // number of valid graphs
  int values_ = 0;  // number of steps that returned values
};

TEST_F(ExtremeGraphsTest, GraphsEndInTimeAndWithinMemory) {
  const GraphSeeds seeds(kSeeds);
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    const std::string graph = ExtremeGraph(seed);
    KeepGraph(absl::StrCat("# seed ", seed, "\n", graph));
    LimitTime(kGraphSeconds);
    Run(graph);
    ASSERT_LT(PeakMemory(), kPeakBytes) << "the graph of seed " << seed;
  }
  LimitTime(0);
  RecordProperty("graphs", graphs_);
  RecordProperty("values", values_);
  EXPECT_GE(graphs_, static_cast<int>(seeds.end - seeds.begin) / 4);
}

// The sizes of a graph with one large string, and of the remaining memory, in
// which the graph can be copied once but not twice.
constexpr int64_t kLargeBytes = int64_t{64} << 20;
constexpr int64_t kLittleBytes = kLargeBytes / 2 * 3;

// Sanitizers end the program when an allocation fails.
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
constexpr bool kFailureThrows = false;
#else
constexpr bool kFailureThrows = true;
#endif

Scope LargeGraph() {
  const Scope root = Scope::Root();
  ops::Const(root, std::string(kLargeBytes, 'x'));
  return root;
}

// Ends this process, which is a child process of the test, with the code of
// `status`.
[[noreturn]] void ExitWith(const absl::Status& status) {
  std::_Exit(static_cast<int>(status.code()));
}

const ::testing::ExitedWithCode kIsExhausted(
    static_cast<int>(absl::StatusCode::kResourceExhausted));

TEST(GraphWithoutMemoryDeathTest, ExportFailsCleanly) {
  if (!kFailureThrows) GTEST_SKIP();
  const Scope root = LargeGraph();
  EXPECT_EXIT(
      {
        LimitMemory(kLittleBytes);
        ExitWith(ExportGraphDef(root.graph()).status());
      },
      kIsExhausted, "");
}

TEST(GraphWithoutMemoryDeathTest, FailedImportLeavesGraphUnchanged) {
  if (!kFailureThrows) GTEST_SKIP();
  ASSERT_OK_AND_ASSIGN(const std::string bytes,
                       ExportGraphDef(LargeGraph().graph()));
  EXPECT_EXIT(
      {
        const Scope root = Scope::Root();
        LimitMemory(kLittleBytes);
        const absl::Status status = ImportGraphDef(bytes, root.graph());
        ExitWith(root.graph().num_nodes() == 0 ? status : absl::OkStatus());
      },
      kIsExhausted, "");
}

TEST(ExtremeGraphTest, ExtremeGraphIsTheSameForTheSameSeed) {
  for (uint64_t seed = 1; seed < 20; ++seed) {
    EXPECT_EQ(ExtremeGraph(seed), ExtremeGraph(seed));
  }
  EXPECT_NE(ExtremeGraph(1), ExtremeGraph(2));
}

}  // namespace
}  // namespace weft
