// Tests saves between steps (SaveConsistency::kStep). While workers train, a
// checkpoint must contain each step completely or not at all. A step that
// cannot be paused fails only the save.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/seeds.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/fs/memory_file_system.h"
#include "libs/runtime/process/process.h"

namespace weft {
namespace {

using train::SaveConsistency;
using train::Saver;
using train::SaverOptions;

// Two counters on two tasks; each step of a worker increments both.
struct Counters {
  explicit Counters(bool use_resource) {
    const ops::VariableOptions family = {.use_resource = use_resource};
    const Scope ps0 = root.WithDevice("/job:ps/task:0");
    const Scope ps1 = root.WithDevice("/job:ps/task:1");
    a = ops::Variable(ps0.WithName("a"), Tensor::Scalar<int64_t>(0), family);
    b = ops::Variable(ps1.WithName("b"), Tensor::Scalar<int64_t>(0), family);
    const Output one = ops::Const(root, Tensor::Scalar<int64_t>(1));
    count = ops::Group(
        root, {ops::AssignAdd(ps0, a, one), ops::AssignAdd(ps1, b, one)});
    init = ops::GlobalVariablesInitializer(root);
  }
  Scope root = Scope::Root();
  ops::Variable a, b;
  Operation count, init;
};

SaverOptions Between(bool sharded) {
  SaverOptions options;
  options.sharded = sharded;
  options.consistency = SaveConsistency::kStep;
  options.max_hold = absl::Seconds(30);
  return options;
}

class StepSavesTest : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  TestCluster::Options OnOneDisk(ClusterKind kind, int num_workers = 2) {
    return {.kind = kind,
            .jobs = {{"ps", 2}, {"worker", num_workers}},
            .file_system = [this](const std::string&) { return &files_; }};
  }
  std::unique_ptr<Session> Connect(TestCluster& cluster, int worker,
                                   const Scope& root) {
    auto session = Session::Connect(cluster.target("worker", worker), root,
                                    cluster.session_options());
    EXPECT_OK(session);
    return session.ok() ? *std::move(session) : nullptr;
  }
  int64_t Stored(const std::string& path, const std::string& name) {
    auto reader = checkpoint::BundleReader::Open(files_, path);
    EXPECT_OK(reader);
    if (!reader.ok()) return -1;
    auto value = (*reader)->Read(name, HeapAllocator());
    EXPECT_OK(value);
    return value.ok() ? value->scalar<int64_t>() : -1;
  }

  MemoryFileSystem files_;
};

// Returns the number of saves per case; tools/nightly.sh sets more.
int64_t NumSaves(int64_t otherwise) {
  return static_cast<int64_t>(
      SeedsFromEnvironment("WEFT_STEP_SAVES", otherwise));
}

// Both counters are equal in each checkpoint, and workers are paused only
// briefly.
TEST_P(StepSavesTest, CheckpointContainsOnlyWholeSteps) {
  const auto [use_resource, sharded] = GetParam();
  Counters graph(use_resource);
  SaverOptions options = Between(sharded);
  options.file_system = &files_;
  Saver saver(graph.root, options);
  TestCluster cluster(OnOneDisk(ClusterKind::kSockets));
  const auto chief = Connect(cluster, 0, graph.root);
  const auto other = Connect(cluster, 1, graph.root);
  ASSERT_OK(chief->Run(graph.init));
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (Session* session : {chief.get(), other.get()}) {
    workers.emplace_back([&, session] {
      while (!stop) ASSERT_OK(session->Run(graph.count));
    });
  }
  int64_t last = 0;
  for (int64_t n = 0; n < NumSaves(50); ++n) {
    ASSERT_OK_AND_ASSIGN(const std::string path,
                         saver.Save(*chief, "/job/m", {.global_step = n}));
    const int64_t a = Stored(path, "a");
    EXPECT_EQ(Stored(path, "b"), a) << "save " << n;
    EXPECT_GE(a, last);
    last = a;
  }
  stop = true;
  for (std::thread& worker : workers) worker.join();
  EXPECT_GT(last, 0);
}

// Builds steps that wait at a full queue. A worker runs them.
struct Waiting {
  explicit Waiting(const Counters& counters) : root(counters.root) {
    const Scope ps0 = root.WithDevice("/job:ps/task:0");
    queue = ops::FIFOQueue(ps0.WithName("q"), {DT_INT64},
                           {.capacity = 1, .shared_name = "q"});
    one = ops::QueueEnqueue(root, queue,
                            {ops::Const(root, Tensor::Scalar<int64_t>(1))});
    taken = ops::QueueDequeue(root, queue, {DT_INT64})[0];
    // The step `writes` increments a counter before it waits. The step `reads`
    // only reads the counter.
    const Output counted = ops::AssignAdd(
        ps0, counters.a, ops::Const(root, Tensor::Scalar<int64_t>(1)));
    writes = ops::QueueEnqueue(
        root.WithControlDependencies({Operation(counted)}), queue,
        {ops::Const(root, Tensor::Scalar<int64_t>(2))});
    reads = ops::QueueEnqueue(root, queue, {ops::Identity(root, counters.a)});
  }
  Scope root;
  Output queue, taken;
  Operation one, writes, reads;
};

TEST_P(StepSavesTest, HungStepFailsOnlyTheSave) {
  const auto [use_resource, sharded] = GetParam();
  Counters graph(use_resource);
  const Waiting waiting(graph);
  SaverOptions options = Between(sharded);
  options.file_system = &files_;
  options.max_hold = absl::Milliseconds(50);
  Saver saver(graph.root, options);
  TestCluster cluster(OnOneDisk(ClusterKind::kSockets));
  const auto chief = Connect(cluster, 0, graph.root);
  const auto other = Connect(cluster, 1, graph.root);
  ASSERT_OK(chief->Run(graph.init));
  ASSERT_OK(chief->Run(waiting.one));
  // When the counter is incremented, the step has begun.
  std::thread stuck([&] { EXPECT_OK(other->Run(waiting.writes)); });
  int64_t counted = 0;
  while (counted == 0) {
    ASSERT_OK_AND_ASSIGN(const Tensor a, chief->Run(graph.a));
    counted = a.scalar<int64_t>();
  }
  const auto failed = saver.Save(*chief, "/job/m", {.global_step = 1});
  EXPECT_THAT(failed, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               "On /job:worker/replica:0/task:1, step"));
  EXPECT_THAT(failed, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               "writes the variables and did not end in time"));
  EXPECT_FALSE(files_.FileExists("/job/m-1.index").ok());
  // All steps continue, including writers and the waiting step.
  ASSERT_OK(chief->Run(graph.count));
  ASSERT_OK(chief->Run(waiting.taken).status());
  stuck.join();
  ASSERT_OK_AND_ASSIGN(const std::string path,
                       saver.Save(*chief, "/job/m", {.global_step = 2}));
  EXPECT_EQ(Stored(path, "a"), 2);
  EXPECT_EQ(Stored(path, "b"), 1);
}

// The step of a queue runner writes no variable, so a save does not wait for
// it.
TEST_P(StepSavesTest, SaveDoesNotWaitForReadOnlyStep) {
  const auto [use_resource, sharded] = GetParam();
  Counters graph(use_resource);
  const Waiting waiting(graph);
  SaverOptions options = Between(sharded);
  options.file_system = &files_;
  Saver saver(graph.root, options);
  TestCluster cluster(OnOneDisk(ClusterKind::kSockets));
  const auto chief = Connect(cluster, 0, graph.root);
  const auto other = Connect(cluster, 1, graph.root);
  ASSERT_OK(chief->Run(graph.init));
  ASSERT_OK(chief->Run(waiting.one));
  std::thread runner([&] { EXPECT_OK(other->Run(waiting.reads)); });
  for (int64_t n = 0; n < 3; ++n) {
    ASSERT_OK(chief->Run(graph.count));
    ASSERT_OK_AND_ASSIGN(const std::string path,
                         saver.Save(*chief, "/job/m", {.global_step = n}));
    EXPECT_EQ(Stored(path, "a"), n + 1);
  }
  ASSERT_OK(chief->Run(waiting.taken).status());
  ASSERT_OK(chief->Run(waiting.taken).status());
  runner.join();
}

// A graph for synchronous training, in which workers push gradients to an
// accumulator. A separate step usually waits for two gradients. It adds their
// mean to the counters and releases the workers. The accumulator drops
// gradients of earlier training steps.
struct Synchronous {
  Synchronous(const Counters& counters, int num_workers) {
    const Scope& root = counters.root;
    const Scope ps0 = root.WithDevice("/job:ps/task:0");
    const Scope ps1 = root.WithDevice("/job:ps/task:1");
    const Output sums = ops::ConditionalAccumulator(
        ps0.WithName("sums"), DT_FLOAT, PartialShape::Scalar(),
        {.shared_name = "sums"});
    const Output tokens = ops::FIFOQueue(
        ps0.WithName("tokens"), {DT_INT64},
        {.shapes = {PartialShape::Scalar()}, .shared_name = "tokens"});
    const Operation push = ops::AccumulatorApplyGradient(
        root, sums, ops::Identity(ps0, counters.a), 1.0f);
    token = ops::QueueDequeue(root.WithControlDependencies({push}), tokens,
                              {DT_INT64})[0];
    const Output taken = ops::Cast(
        root,
        ops::AccumulatorTakeGradient(
            root, sums, ops::Const(root, Tensor::Scalar<int32_t>(2)), DT_FLOAT),
        DT_INT64);
    const Operation counted =
        ops::Group(root, {ops::AssignAdd(ps0, counters.a, taken),
                          ops::AssignAdd(ps1, counters.b, taken)});
    sync = ops::QueueEnqueueMany(
        root.WithControlDependencies({counted}), tokens,
        {ops::Const(
            root, Tensor::Vector<int64_t>(std::vector<int64_t>(num_workers)))});
  }
  Output token;    // a worker fetches it to push a gradient and wait
  Operation sync;  // updates the counters and releases the workers
};

class SynchronousSavesTest : public StepSavesTest {
 protected:
  // Runs `what` repeatedly, until it fails because the test closes the queue.
  template <typename What>
  void Loop(Session& session, const What& what) {
    while (true) {
      const absl::Status status = [&] {
        if constexpr (std::is_same_v<What, Output>) {
          return session.Run(what).status();
        } else {
          return session.Run(what);
        }
      }();
      if (status.ok()) continue;
      EXPECT_TRUE(stop_) << status;
      return;
    }
  }

  // Saves during synchronous training. A save must not pause the steps that
  // compute gradients, because another step waits for their gradients and could
  // not end.
  void SaveWhileTraining(int num_workers) {
    const auto [use_resource, sharded] = GetParam();
    Counters graph(use_resource);
    const Synchronous training(graph, num_workers);
    SaverOptions options = Between(sharded);
    options.file_system = &files_;
    Saver saver(graph.root, options);
    ASSERT_OK(graph.root.status());
    TestCluster cluster(OnOneDisk(ClusterKind::kSockets, num_workers));
    std::vector<std::unique_ptr<Session>> sessions;
    for (int i = 0; i < num_workers; ++i) {
      sessions.push_back(Connect(cluster, i, graph.root));
      ASSERT_NE(sessions.back(), nullptr);
    }
    ASSERT_OK(sessions[0]->Run(graph.init));
    std::vector<std::thread> threads;
    for (const auto& session : sessions) {
      threads.emplace_back([&] { Loop(*session, training.token); });
    }
    threads.emplace_back([&] { Loop(*sessions[0], training.sync); });
    const auto saves = Connect(cluster, 0, graph.root);
    int64_t counted = 0;
    while (counted == 0) {
      ASSERT_OK_AND_ASSIGN(const Tensor a, saves->Run(graph.a));
      counted = a.scalar<int64_t>();
    }
    SaveOften(saver, *saves);
    stop_ = true;
    for (const auto& session : sessions) EXPECT_OK(session->Close());
    for (std::thread& thread : threads) thread.join();
  }

  void SaveOften(Saver& saver, Session& session) {
    int64_t last = 0;
    for (int64_t n = 0; n < NumSaves(20); ++n) {
      const auto path = saver.Save(session, "/job/m", {.global_step = n});
      EXPECT_OK(path);
      if (!path.ok()) return;
      const int64_t a = Stored(*path, "a");
      EXPECT_EQ(Stored(*path, "b"), a) << "save " << n;
      EXPECT_GE(a, last);
      last = a;
    }
    EXPECT_GT(last, 0);
  }

  std::atomic<bool> stop_{false};
};

TEST_P(SynchronousSavesTest, TrainingContinues) { SaveWhileTraining(2); }

// With three workers and two gradients per update, the third gradient may be
// late.
TEST_P(SynchronousSavesTest, TrainingWithBackupWorkerContinues) {
  SaveWhileTraining(3);
}

// A node without a device may be placed on a GPU. The nodes that mark and save
// variables must not be placed there.
TEST_P(StepSavesTest, TasksWithGpusCanSave) {
  const auto [use_resource, sharded] = GetParam();
  const Scope root = Scope::Root();
  const ops::Variable a(root.WithName("a"), Tensor::Scalar<int64_t>(3),
                        {.use_resource = use_resource});
  const Operation init = ops::GlobalVariablesInitializer(root);
  SaverOptions options = Between(sharded);
  options.file_system = &files_;
  Saver saver(root, options);
  TestCluster::Options cluster_options = OnOneDisk(ClusterKind::kOneProcess);
  cluster_options.host_gpus = 1;
  TestCluster cluster(cluster_options);
  const auto session = Connect(cluster, 0, root);
  ASSERT_OK(session->Run(init));
  ASSERT_OK_AND_ASSIGN(const std::string path, saver.Save(*session, "/job/m"));
  EXPECT_EQ(Stored(path, "a"), 3);
}

// A step that waits for gradients has not written anything yet, but may write
// at any time. If the gradient must come from the thread that saves, the save
// fails with an error.
TEST_P(StepSavesTest, StepWaitingForSaverGradientIsNamed) {
  const auto [use_resource, sharded] = GetParam();
  Counters graph(use_resource);
  const Scope ps0 = graph.root.WithDevice("/job:ps/task:0");
  const Output sums = ops::ConditionalAccumulator(
      ps0.WithName("sums"), DT_FLOAT, PartialShape::Scalar(),
      {.shared_name = "sums"});
  const Operation push = ops::AccumulatorApplyGradient(
      graph.root, sums,
      ops::Const(graph.root, Tensor::Scalar<int64_t>(int64_t{1} << 40)), 1.0f);
  const Output taken = ops::Cast(
      graph.root,
      ops::AccumulatorTakeGradient(
          graph.root, sums, ops::Const(graph.root, Tensor::Scalar<int32_t>(1)),
          DT_FLOAT),
      DT_INT64);
  const Operation counted =
      ops::Group(graph.root, {ops::AssignAdd(ps0, graph.a, taken)}, "counted");
  SaverOptions options = Between(sharded);
  options.file_system = &files_;
  options.max_hold = absl::Milliseconds(50);
  Saver saver(graph.root, options);
  TestCluster cluster(OnOneDisk(ClusterKind::kSockets));
  const auto chief = Connect(cluster, 0, graph.root);
  ASSERT_OK(chief->Run(graph.init));
  std::thread sync([&] { EXPECT_OK(chief->Run(counted)); });
  absl::Status saved;
  // The save fails as soon as the step has begun.
  for (int64_t n = 0; saved.ok(); ++n) {
    saved = saver.Save(*chief, "/job/m", {.global_step = n}).status();
  }
  EXPECT_THAT(saved, StatusIs(absl::StatusCode::kDeadlineExceeded,
                              "(fetches [], targets [counted])"));
  ASSERT_OK(chief->Run(push));
  sync.join();
  EXPECT_OK(saver.Save(*chief, "/job/m", {.global_step = 1}));
}

// Imports a saver from its SaverDef. Its saves between steps work, too.
TEST_P(StepSavesTest, ImportedSaverMarksVariables) {
  const auto [use_resource, sharded] = GetParam();
  Counters graph(use_resource);
  SaverOptions options = Between(sharded);
  options.file_system = &files_;
  const Saver exported(graph.root, options);
  ASSERT_OK_AND_ASSIGN(
      const train::MetaGraph meta,
      train::ExportMetaGraph(graph.root, {.saver_def = exported.def()}));
  const Scope root = Scope::Root();
  ASSERT_OK_AND_ASSIGN(
      const auto saver,
      train::ImportMetaGraph(root, meta, {.file_system = &files_}));
  TestCluster cluster(OnOneDisk(ClusterKind::kOneProcess));
  const auto session = Connect(cluster, 0, root);
  ASSERT_OK(session->Run(Operation(root.graph().FindNode(graph.init.name()))));
  ASSERT_OK_AND_ASSIGN(const std::string path, saver->Save(*session, "/job/m"));
  EXPECT_EQ(Stored(path, "a"), 0);
  // A mark fixes the values that a save writes, and each mark can be saved only
  // once. A save without a mark could contain a part of a step.
  EXPECT_THAT(session->Run({{saver->filename_tensor(),
                             Tensor::Scalar<std::string>("/job/n")}},
                           saver->save_tensor()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "The variables are not marked"));
}

// A mark without a save keeps copies of the old values of updated variables, so
// it expires after a limited time.
TEST_P(StepSavesTest, MarksOfFailedSaveExpire) {
  const auto [use_resource, sharded] = GetParam();
  constexpr int64_t kSize = int64_t{1} << 20;
  constexpr int64_t kBytes = 4 * kSize;
  const Scope root = Scope::Root();
  const Scope ps0 = root.WithDevice("/job:ps/task:0");
  const ops::Variable w(ps0.WithName("w"), Tensor(DT_FLOAT, {kSize}),
                        {.use_resource = use_resource});
  const Output grown =
      ops::AssignAdd(ps0, w, ops::Const(ps0, Tensor(DT_FLOAT, {kSize})));
  const Operation grow = ops::Group(root, {grown}, "grow");
  SaverOptions options = Between(sharded);
  options.file_system = &files_;
  options.max_hold = absl::Seconds(20);
  Saver saver(root.WithDevice("/job:ps/task:0"), options);
  const Operation init = ops::GlobalVariablesInitializer(root);
  const Operation mark(root.graph().FindNode("save/mark_all"));
  ASSERT_TRUE(mark);
  TestCluster cluster(OnOneDisk(ClusterKind::kSimulated));
  const auto session = Connect(cluster, 0, root);
  ASSERT_OK(session->Run(init));
  // Before its first update, a variable shares memory with the constant that
  // initializes it.
  ASSERT_OK(session->Run(grow));
  const auto in_use = [&] {
    return cluster.process("ps", 0).buffers().stats().bytes_in_use;
  };
  const int64_t before = in_use();
  const FeedList prefix = {
      {saver.filename_tensor(), Tensor::Scalar<std::string>("/job/m")}};
  ASSERT_OK(session->Run(prefix, mark));
  ASSERT_OK(session->Run(grow));
  EXPECT_GE(in_use(), before + kBytes / 2);
  cluster.scheduler().AdvanceBy(absl::Seconds(60));
  EXPECT_GE(in_use(), before + kBytes / 2);
  cluster.scheduler().AdvanceBy(absl::Seconds(30));
  EXPECT_LT(in_use(), before + kBytes / 2);
  EXPECT_THAT(session->Run(prefix, saver.save_tensor()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "a minute"));
  // Each mark expires on its own.
  ASSERT_OK(session->Run(prefix, mark));
  cluster.scheduler().AdvanceBy(absl::Seconds(40));
  ASSERT_OK(session->Run(prefix, mark));
  cluster.scheduler().AdvanceBy(absl::Seconds(40));
  ASSERT_OK(files_.CreateDirectories("/job"));
  EXPECT_OK(session->Run(prefix, saver.save_tensor()).status());
}

std::string FamilyName(
    const testing::TestParamInfo<std::tuple<bool, bool>>& families) {
  return absl::StrCat(std::get<0>(families.param) ? "Resource" : "Reference",
                      std::get<1>(families.param) ? "Sharded" : "");
}

INSTANTIATE_TEST_SUITE_P(Families, StepSavesTest,
                         testing::Combine(testing::Bool(), testing::Bool()),
                         FamilyName);
INSTANTIATE_TEST_SUITE_P(Families, SynchronousSavesTest,
                         testing::Combine(testing::Bool(), testing::Bool()),
                         FamilyName);

}  // namespace
}  // namespace weft
