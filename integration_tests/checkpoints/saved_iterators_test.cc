// Tests iterator positions that are saved in a checkpoint, together with the
// variables or separately. A session that restores the position continues with
// the next element. Covers plain sessions, a MonitoredSession, several tasks,
// and pipelines with background threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"

namespace weft {
namespace {

using ops::Dataset;
using testing::ElementsAre;
using Values = std::vector<Output>;
using Int64s = std::vector<int64_t>;

constexpr char kPrefix[] = "/job/model.ckpt";

Values Same(const Scope&, const Values& v) { return v; }

// Returns a pipeline that passes numbers unchanged through windows, background
// threads and a shuffle, and yields one number per step.
Dataset Pipeline(const Scope& scope) {
  return Dataset::Range(scope, 12)
      .Window(4)
      .FlatMap([](const Scope& s, const Values& v) {
        return Dataset::FromVariant(s, v[0], {{DT_INT64, PartialShape()}})
            .Batch(2);
      })
      .Unbatch()
      .Map(Same, {.num_parallel_calls = 2})
      .Shuffle(3, {.seed = 7})
      .Prefetch(2);
}

// A model that sums the elements of its iterator.
struct Model {
  explicit Model(const Scope& on = Scope::Root()) : root(on) {
    iterator = Pipeline(root).MakeInitializableIterator();
    iterator.MakeSaveable(root);
    step = train::GetOrCreateGlobalStep(root);
    next = iterator.GetNext(root)[0];
    train = Trained(root, step, next);
  }

  // Returns the element. A control dependency increments the step counter
  // first.
  static Output Trained(const Scope& root, const ops::Variable& step,
                        const Output& next) {
    const Output count = ops::AssignAdd(
        root.WithControlDependencies({Operation(next)}), step, 1);
    return ops::Identity(root.WithControlDependencies({Operation(count)}),
                         next);
  }

  Scope root;
  ops::Iterator iterator;
  ops::Variable step;
  Output next;
  Output train;
};

class SavedIteratorsTest : public testing::Test {
 protected:
  std::unique_ptr<Session> Connect(const Model& model) {
    EXPECT_OK(model.root.status());
    auto session = Session::Connect("", model.root, {.process = &process_});
    EXPECT_OK(session);
    return session.ok() ? *std::move(session) : nullptr;
  }
  static Int64s Take(Session& session, const Output& next, int most) {
    Int64s taken;
    for (int i = 0; i < most; ++i) {
      const auto value = session.Run(next);
      if (absl::IsOutOfRange(value.status())) break;
      EXPECT_OK(value);
      if (!value.ok()) break;
      taken.push_back(value->scalar<int64_t>());
    }
    return taken;
  }
  static ProcessOptions InMemory(FileSystem& files) {
    ProcessOptions options;
    options.file_system = &files;
    return options;
  }
  static absl::Status Initialize(Session& session, const Model& model) {
    RETURN_IF_ERROR(session.Run(ops::GlobalVariablesInitializer(model.root)));
    return session.Run(model.iterator.initializer());
  }

  MemoryFileSystem files_;
  Process process_{InMemory(files_)};
};

class SavedWithVariablesTest : public SavedIteratorsTest,
                               public testing::WithParamInterface<bool> {};

TEST_P(SavedWithVariablesTest, SessionResumesWithTheNextElement) {
  for (const int taken : {0, 5, 12}) {
    Model before;
    train::SaverOptions options = {.sharded = GetParam()};
    options.max_hold = absl::Seconds(30);
    if (taken == 5) options.consistency = train::SaveConsistency::kStep;
    train::Saver saver(before.root, options);
    const auto session = Connect(before);
    ASSERT_NE(session, nullptr);
    ASSERT_OK(Initialize(*session, before));
    Take(*session, before.next, taken);
    ASSERT_OK(saver.Save(*session, kPrefix));
    const Int64s rest = Take(*session, before.next, 100);

    Model after;
    train::Saver other(after.root, {.sharded = GetParam()});
    const auto restored = Connect(after);
    ASSERT_OK(Initialize(*restored, after));
    Take(*restored, after.next, 3);
    ASSERT_OK(other.Restore(*restored, kPrefix));
    EXPECT_EQ(Take(*restored, after.next, 100), rest) << taken;
  }
}

INSTANTIATE_TEST_SUITE_P(Sharded, SavedWithVariablesTest, testing::Bool());

TEST_F(SavedIteratorsTest, UninitializedIteratorFailsSaveAndRestore) {
  Model model;
  train::Saver saver(model.root);
  const auto session = Connect(model);
  ASSERT_OK(session->Run(ops::GlobalVariablesInitializer(model.root)));
  EXPECT_THAT(saver.Save(*session, kPrefix),
              StatusIs(absl::StatusCode::kFailedPrecondition, "Iterator"));
  ASSERT_OK(session->Run(model.iterator.initializer()));
  ASSERT_OK(saver.Save(*session, kPrefix));
  const auto other = Connect(model);
  EXPECT_THAT(saver.Restore(*other, kPrefix),
              StatusIs(absl::StatusCode::kFailedPrecondition, "Iterator"));
}

TEST_F(SavedIteratorsTest, CheckpointWithoutIteratorIsRejected) {
  Model model;
  train::Saver variables(model.root, {.var_list = {{"", model.step}}});
  train::Saver all(model.root);
  const auto session = Connect(model);
  ASSERT_OK(Initialize(*session, model));
  ASSERT_OK(variables.Save(*session, kPrefix));
  EXPECT_THAT(all.Restore(*session, kPrefix),
              StatusIs(absl::StatusCode::kNotFound, "_STATE"));
  EXPECT_OK(all.RestoreVariables(*session, kPrefix));
}

TEST_F(SavedIteratorsTest, IteratorHandleIsNotSaveable) {
  const Scope root = Scope::Root();
  const Output text = ops::Placeholder(root, DT_STRING);
  ops::Iterator::FromStringHandle(root, text, {{DT_INT64, PartialShape()}})
      .MakeSaveable(root);
  EXPECT_THAT(root.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      "refers to another iterator"));
  const Scope other = Scope::Root();
  const train::Saver saver(other,
                           {.iterators = {ops::Iterator::FromStringHandle(
                                other, ops::Placeholder(other, DT_STRING),
                                {{DT_INT64, PartialShape()}})}});
  EXPECT_THAT(other.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       "handle of another iterator"));
}

// Recovery logs the iterators that it did not restore. If they were initialized
// later, they would silently start at their first element.
TEST_F(SavedIteratorsTest, UnrestoredIteratorsAreLogged) {
  Model model;
  const ops::Variable late(model.root.WithName("late"),
                           Tensor::Scalar<float>(0));
  train::Saver saver(model.root, {.var_list = {{"", model.step}},
                                  .iterators = {model.iterator}});
  RecordingLogger logger;
  train::SessionManager manager(
      model.root, {.ready_for_local_init_op =
                       train::ReportUninitializedVariables(model.root),
                   .logger = &logger});
  {
    const auto session = Connect(model);
    ASSERT_NE(session, nullptr);
    ASSERT_OK(Initialize(*session, model));
    ASSERT_OK(saver.Save(*session, kPrefix));
  }
  ASSERT_OK_AND_ASSIGN(
      const auto recovered,
      manager.RecoverSession("", {.process = &process_},
                             {.saver = &saver, .filename_with_path = kPrefix}));
  EXPECT_FALSE(recovered.is_initialized);
  EXPECT_THAT(logger.lines(),
              testing::Contains(testing::HasSubstr("are not restored")));
}

// The program is restarted twice, and training sees each element exactly once.
TEST_F(SavedIteratorsTest, RestartedTrainingResumesItsInput) {
  Int64s all;
  for (int start = 0; start < 3; ++start) {
    Model model;
    ASSERT_OK_AND_ASSIGN(auto session,
                         train::MonitoredTrainingSession(
                             model.root, {.checkpoint_dir = "/job",
                                          .config = {.process = &process_}}));
    for (int i = 0; i < 5 && !session->ShouldStop(); ++i) {
      const auto value = session->Run(model.train);
      if (absl::IsOutOfRange(value.status())) break;
      ASSERT_OK(value);
      all.push_back(value->scalar<int64_t>());
    }
    ASSERT_OK(session->Close());
  }
  EXPECT_THAT(
      all, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

// The iterator is not saved with the variables, so CheckpointInputPipelineHook
// saves it in its own checkpoint.
TEST_F(SavedIteratorsTest, HookSavesInputSeparately) {
  Int64s all;
  for (int start = 0; start < 3; ++start) {
    const Scope root = Scope::Root();
    const ops::Iterator iterator = Pipeline(root).MakeInitializableIterator();
    const ops::Variable step = train::GetOrCreateGlobalStep(root);
    const Output next = iterator.GetNext(root)[0];
    const Output train = Model::Trained(root, step, next);
    const auto hook = std::make_shared<train::CheckpointInputPipelineHook>(
        train::CheckpointInputPipelineOptions{
            .checkpoint_dir = "/job",
            .save_steps = 2,
            .iterators = {iterator},
            .checkpoint_basename = "input_worker_0.ckpt"});
    ASSERT_OK_AND_ASSIGN(auto session,
                         train::MonitoredTrainingSession(
                             root, {.checkpoint_dir = "/job",
                                    .hooks = {hook},
                                    .config = {.process = &process_}}));
    for (int i = 0; i < 5; ++i) {
      const auto value = session->Run(train);
      if (absl::IsOutOfRange(value.status())) break;
      ASSERT_OK(value);
      all.push_back(value->scalar<int64_t>());
    }
    ASSERT_OK(session->Close());
    EXPECT_OK(files_.FileExists("/job/checkpoint_input_worker_0"));
  }
  EXPECT_THAT(
      all, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

// Two workers use checkpoint names that differ only in their suffix. Each
// restores its own iterator.
TEST_F(SavedIteratorsTest, HooksOfTwoNamesKeepSeparateStates) {
  const Scope root = Scope::Root();
  std::vector<std::shared_ptr<train::SessionRunHook>> hooks;
  std::vector<ops::Iterator> iterators;
  const ops::Variable step = train::GetOrCreateGlobalStep(root);
  for (const std::string name : {"input.0", "input.1"}) {
    iterators.push_back(Pipeline(root).MakeInitializableIterator());
    hooks.push_back(std::make_shared<train::CheckpointInputPipelineHook>(
        train::CheckpointInputPipelineOptions{.checkpoint_dir = "/job",
                                              .save_steps = 2,
                                              .iterators = {iterators.back()},
                                              .checkpoint_basename = name}));
  }
  const Output train =
      Model::Trained(root, step, iterators[0].GetNext(root)[0]);
  ASSERT_OK_AND_ASSIGN(auto session,
                       train::MonitoredTrainingSession(
                           root, {.checkpoint_dir = "/job",
                                  .hooks = hooks,
                                  .config = {.process = &process_}}));
  ASSERT_OK(session->Run(train));
  ASSERT_OK(session->Close());
  for (const std::string name : {"input.0", "input.1"}) {
    ASSERT_OK_AND_ASSIGN(
        const std::string state,
        files_.ReadFile(absl::StrCat("/job/checkpoint_", name)));
    EXPECT_THAT(state, testing::HasSubstr(name + "-1"));
  }
}

// The iterator is on a worker and the variable is on a ps. Each task writes its
// own state.
TEST(SavedIteratorsOnTasksTest, EachTaskSavesItsOwnIterator) {
  TestCluster cluster(
      {.kind = ClusterKind::kOneProcess, .jobs = {{"ps", 1}, {"worker", 2}}});
  const std::string prefix =
      absl::StrCat(testing::TempDir(), "/saved_iterators/model.ckpt");
  Int64s rest[2];
  for (int pass = 0; pass < 2; ++pass) {
    const Scope root = Scope::Root();
    const ops::Variable v(root.WithName("v").WithDevice("/job:ps/task:0"),
                          0.0f);
    const ops::Iterator iterator =
        Pipeline(root.WithDevice("/job:worker/task:1"))
            .MakeInitializableIterator();
    iterator.MakeSaveable(root);
    const Output next = iterator.GetNext(root)[0];
    train::Saver sharded(root, {.sharded = true, .name = "sharded"});
    train::Saver whole(root);
    ASSERT_OK(root.status());
    ASSERT_OK_AND_ASSIGN(const auto session,
                         Session::Connect(cluster.target("worker", 0), root,
                                          cluster.session_options()));
    ASSERT_OK(session->Run(ops::GlobalVariablesInitializer(root)));
    ASSERT_OK(session->Run(iterator.initializer()));
    if (pass == 0) {
      for (int i = 0; i < 7; ++i) ASSERT_OK(session->Run(next));
      ASSERT_OK(sharded.Save(*session, prefix + "_sharded"));
      ASSERT_OK(whole.Save(*session, prefix));
    } else {
      ASSERT_OK(sharded.Restore(*session, prefix));
      ASSERT_OK(session->Run(next));
      ASSERT_OK(whole.Restore(*session, prefix + "_sharded"));
    }
    while (true) {
      const auto value = session->Run(next);
      if (!value.ok()) break;
      rest[pass].push_back(value->scalar<int64_t>());
    }
  }
  EXPECT_EQ(rest[0].size(), 5u);
  EXPECT_EQ(rest[0], rest[1]);
}

}  // namespace
}  // namespace weft
