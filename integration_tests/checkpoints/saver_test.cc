// Tests the Saver. Real sessions save ref and resource variables, whole and
// partitioned, and other sessions restore them. Some saves are sharded over the
// tasks of a cluster. Also restores checkpoints that TensorFlow 2.21 saved.
#include "libs/train/saving/saver.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration_tests/testing/saver_test.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/bundle_writer.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/checkpoint_writer/testing/gated_file_system.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/runtime/process/process.h"
#include "libs/train/saved_model/saved_model_builder.h"

namespace weft::saver_tests {
namespace {

using train::Saver;
using train::SaverOptions;

class SaverFamilyTest : public SaverTest,
                        public testing::WithParamInterface<bool> {};

TEST_P(SaverFamilyTest, SavedVariablesAreRestored) {
  const Scope root = Scope::Root();
  const ops::VariableOptions family = {.use_resource = GetParam()};
  const ops::Variable w(root.WithName("w"), Floats({2, 3}, 1), family);
  const ops::Variable s(root.WithName("s"),
                        Tensor::Vector<std::string>({"a", "b"}), family);
  const ops::Variable none(root.WithName("none"), Tensor(DT_STRING, {0, 3}),
                           family);
  const ops::Variable empty(root.WithName("empty"), Tensor(DT_FLOAT, {2, 0}),
                            family);
  Saver saver(root, Options());
  const Output twice = ops::Assign(root, w, ops::Add(root, w, w));
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK_AND_ASSIGN(
      const std::string path,
      saver.Save(*session, "/job/model.ckpt", {.global_step = 7}));
  EXPECT_EQ(path, "/job/model.ckpt-7");
  ASSERT_OK(session->Run(twice));
  ASSERT_OK(saver.Restore(*session, path));
  ASSERT_OK_AND_ASSIGN(const Tensor restored, session->Run(w));
  EXPECT_TRUE(SameBits(restored, Floats({2, 3}, 1)));
  ASSERT_OK_AND_ASSIGN(const Tensor stored, Stored(path, "s"));
  EXPECT_TRUE(SameBits(stored, Tensor::Vector<std::string>({"a", "b"})));
  ASSERT_OK_AND_ASSIGN(const Tensor no_strings, Stored(path, "none"));
  EXPECT_TRUE(SameBits(no_strings, Tensor(DT_STRING, {0, 3})));
  ASSERT_OK_AND_ASSIGN(const Tensor no_floats, Stored(path, "empty"));
  EXPECT_TRUE(SameBits(no_floats, Tensor(DT_FLOAT, {2, 0})));
  // A new session, in which no variable is initialized.
  const auto other = Connect(root);
  ASSERT_OK(saver.Restore(*other, path));
  ASSERT_OK_AND_ASSIGN(const Tensor again, other->Run(w));
  EXPECT_TRUE(SameBits(again, Floats({2, 3}, 1)));
}

INSTANTIATE_TEST_SUITE_P(Families, SaverFamilyTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& family) {
                           return family.param ? "Resource" : "Reference";
                         });

// Saves while a thread continuously trains a variable and its momentum slot.
// Each checkpoint must contain both from the same step. With momentum 1 and
// gradients -1, after n steps each element of the slot is -n and each element
// of the variable is n (n + 1) / 2.
TEST_P(SaverFamilyTest, SaveOfVariableAndSlotIsConsistent) {
  constexpr int64_t kSize = 700000;  // three chunks
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Tensor(DT_FLOAT, {kSize}),
                        {.use_resource = GetParam()});
  const Output loss =
      ops::Neg(root, ops::Sum(root, w, Tensor::Vector<int32_t>({0})));
  const Operation train = train::Momentum(1.0f, 1.0f).Minimize(root, loss);
  Saver saver(root, Options());
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  std::atomic<bool> stop{false};
  std::thread trains([&] {
    while (!stop) EXPECT_OK(session->Run(train));
  });
  for (int64_t i = 0; i < 10; ++i) {
    auto path = saver.Save(*session, "/job/model.ckpt", {.global_step = i});
    if (!path.ok()) {
      ADD_FAILURE() << path.status();
      break;
    }
    const Tensor value = Stored(*path, "w").value_or(Tensor());
    const Tensor slot = Stored(*path, "w/Momentum").value_or(Tensor());
    if (value.num_elements() != kSize || slot.num_elements() != kSize) {
      ADD_FAILURE() << "not all is stored";
      break;
    }
    const float n = -slot.flat<float>()[0];
    int64_t torn = 0;
    for (int64_t k = 0; k < kSize; ++k) {
      torn += slot.flat<float>()[k] != -n;
      torn += value.flat<float>()[k] != n * (n + 1) / 2;
    }
    EXPECT_EQ(torn, 0) << "after " << n << " steps";
  }
  stop = true;
  trains.join();
}

// A saver test that can block the save of a variable.
class GatedSaverTest : public SaverTest {
 protected:
  // Returns options that let a concurrent save wait for `max_wait`.
  SaverOptions Waits(absl::Duration max_wait) {
    SaverOptions options = Options();
    options.file_system = &gated_;
    options.max_wait = max_wait;
    return options;
  }
  std::unique_ptr<Session> ConnectAndInitialize() {
    return InitializedSession(process_of_gated_, root_);
  }
  void Shut() { gated_.Shut(process_of_gated_.scheduler(), "m-1"); }
  void AwaitFirst() {
    while (gated_.num_waiting() == 0) std::this_thread::yield();
  }

  GatedFileSystem gated_;
  Process process_of_gated_ = Process(InMemory(gated_));
  const Scope root_ = Scope::Root();
  const ops::Variable w_ = ops::Variable(root_.WithName("w"), Floats({2}, 1));
};

// A second save waits for the first one, or is rejected, depending on
// SaverOptions::max_wait.
TEST_F(GatedSaverTest, ConcurrentSavesAreSerialized) {
  Saver waits(root_, Waits(SaverOptions().max_wait));
  Saver refuses(root_, Waits(absl::ZeroDuration()));
  const auto session = ConnectAndInitialize();
  ASSERT_NE(session, nullptr);
  for (Saver* saver : {&waits, &refuses}) {
    Shut();
    std::thread first([&] {
      EXPECT_OK(saver->Save(*session, "/job/m", {.global_step = 1}));
    });
    AwaitFirst();
    std::atomic<bool> has_ended{false};
    absl::Status second;
    std::thread other([&] {
      second = saver->Save(*session, "/job/m", {.global_step = 2}).status();
      has_ended = true;
    });
    if (saver == &refuses) other.join();
    EXPECT_EQ(has_ended, saver == &refuses);
    gated_.Open();
    first.join();
    if (saver == &waits) other.join();
    if (saver == &waits) {
      EXPECT_OK(second);
      EXPECT_OK(gated_.FileExists("/job/m-2.index"));
    } else {
      EXPECT_THAT(second, StatusIs(absl::StatusCode::kFailedPrecondition,
                                   "Another thread is saving"));
    }
  }
}

// A save waits for a slow save of another session. The wait ends when the
// session of the waiting save is closed.
TEST_F(GatedSaverTest, WaitingSaveEndsWithItsSession) {
  Saver saver(root_, Waits(absl::Seconds(20)));
  const auto saves = ConnectAndInitialize();
  ASSERT_NE(saves, nullptr);
  const auto ends = ConnectAndInitialize();
  ASSERT_NE(ends, nullptr);
  Shut();
  std::thread first(
      [&] { EXPECT_OK(saver.Save(*saves, "/job/m", {.global_step = 1})); });
  AwaitFirst();
  absl::Status second;
  std::thread other([&] {
    second = saver.Save(*ends, "/job/m", {.global_step = 2}).status();
  });
  ASSERT_OK(ends->Close());
  other.join();
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kFailedPrecondition,
                               "Session has been closed"));
  gated_.Open();
  first.join();
}

// During a save, memory is used only for copies of bytes that change before
// they are read, one block of pages, and memory preallocated for updates. Here
// it is preallocated for sixteen updates like the previous one.
TEST_F(GatedSaverTest, SaveCopiesOnlyChangedBytes) {
  constexpr int64_t kRow = 1024, kRows = 4096, kSize = int64_t{2} << 20;
  constexpr int64_t kRowsBytes = 64 * 4 * kRow, kDenseBytes = 4 * kSize;
  constexpr int64_t kTableBytes = 4 * kRows * kRow, kBlock = kTableBytes / 16;
  constexpr int64_t kSlack = int64_t{256} << 10;
  const ops::Variable table(root_.WithName("table"),
                            Tensor(DT_FLOAT, {kRows, kRow}),
                            {.use_resource = true});
  const ops::Variable dense(root_.WithName("dense"), Tensor(DT_FLOAT, {kSize}),
                            {.use_resource = true});
  Tensor rows(DT_INT32, {64});
  for (int i = 0; i < 64; ++i) rows.mutable_flat<int32_t>()[i] = 7 * i;
  const Operation scatter =
      ops::ResourceScatterAdd(root_, table.handle(), ops::Const(root_, rows),
                              ops::Const(root_, Floats({64, kRow}, 1)));
  const Output grown = ops::AssignAdd(
      root_, dense, ops::Const(root_, Tensor(DT_FLOAT, {kSize})));
  const Operation train =
      ops::Group(root_, {scatter, Operation(grown)}, "train");
  Saver saver(root_, Waits(SaverOptions().max_wait));
  const auto session = ConnectAndInitialize();
  ASSERT_NE(session, nullptr);
  // Before its first update, a variable shares memory with the constant that
  // initializes it.
  ASSERT_OK(session->Run(train));
  const auto in_use = [&] {
    return process_of_gated_.buffers().stats().bytes_in_use;
  };
  const int64_t before = in_use();
  for (const int64_t ahead : {int64_t{0}, 16 * kRowsBytes}) {
    // A completed save records that the variables were not updated since, so no
    // memory is preallocated for updates.
    if (ahead == 0) {
      ASSERT_OK(saver.Save(*session, "/job/m", {.write_meta_graph = false}));
    }
    Shut();
    std::thread saves([&] {
      EXPECT_OK(saver.Save(*session, "/job/m",
                           {.global_step = 1, .write_meta_graph = false}));
    });
    AwaitFirst();
    for (int i = 0; i < 5; ++i) EXPECT_OK(session->Run(train));
    const int64_t held = in_use() - before;
    EXPECT_GE(held, kDenseBytes + kRowsBytes);
    EXPECT_LE(held, kDenseBytes + kRowsBytes + kBlock + ahead + kSlack);
    gated_.Open();
    saves.join();
    EXPECT_LE(in_use(), before + kSlack);
  }
}

TEST_F(SaverTest, NodeNamesMatchTensorFlow) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1),
                        {.use_resource = false});
  const Saver saver(root, Options());
  ASSERT_OK(root.status());
  EXPECT_EQ(saver.filename_tensor().name(), "save/Const:0");
  EXPECT_EQ(saver.save_tensor().name(), "save/control_dependency:0");
  EXPECT_EQ(saver.restore_op().name(), "save/restore_all");
  for (const char* name :
       {"save/filename", "save/SaveV2", "save/SaveV2/tensor_names",
        "save/SaveV2/shape_and_slices", "save/RestoreV2", "save/Assign"}) {
    EXPECT_NE(root.graph().FindNode(name), nullptr) << name;
  }
}

// A checkpoint contains a partitioned variable as one tensor, and each of its
// slots, too. So another partitioning can restore them.
TEST_F(SaverTest, CheckpointFitsOtherPartitioning) {
  const auto build = [](const Scope& root, int parts) {
    ops::GetVariableOptions options;
    if (parts > 0) options.partitioner = ops::FixedSizePartitioner(parts);
    options.initializer = ops::initializers::RandomUniform();
    const auto x = ops::GetPartitionedVariable(root, "x", {10, 2}, options);
    Output loss = ops::Const(root, 0.0f);
    for (const ops::Variable& part : x.parts()) {
      loss = ops::Add(root, loss,
                      ops::Sum(root, ops::Mul(root, part, part), {0, 1}));
    }
    train::Momentum(0.1f, 0.9f).Minimize(root, loss);
    return x;
  };
  const Scope three = Scope::Root();
  build(three, 3);
  ASSERT_NO_FATAL_FAILURE(SaveAs("/job/three", three));
  ASSERT_OK_AND_ASSIGN(const Tensor x, Stored("/job/three", "x"));
  EXPECT_EQ(x.shape(), TensorShape({10, 2}));
  ASSERT_OK_AND_ASSIGN(const Tensor slot, Stored("/job/three", "x/Momentum"));
  EXPECT_TRUE(SameBits(slot, Tensor(DT_FLOAT, {10, 2})));
  for (const int parts : {0, 1, 2, 5, 10}) {
    const Scope root = Scope::Root();
    const auto variable = build(root, parts);
    Saver saver(root, Options());
    const Output all = variable.AsTensor(root);
    const auto session = Connect(root);
    ASSERT_NE(session, nullptr);
    ASSERT_OK(saver.Restore(*session, "/job/three")) << parts;
    ASSERT_OK_AND_ASSIGN(const Tensor restored, session->Run(all));
    EXPECT_TRUE(SameBits(restored, x)) << parts;
  }
}

// Within a variable scope, TensorFlow saves the slot of each part as a separate
// variable. Weft saves all parts as one variable, which any partition can
// restore. It also restores TensorFlow's checkpoints.
TEST_F(SaverTest, SlotsOfPartsAreSavedAsOneVariable) {
  const auto build = [](const Scope& root, int parts) {
    ops::VariableScopeOptions in_parts;
    in_parts.partitioner = ops::FixedSizePartitioner(parts);
    const Scope m = ops::VariableScope(root, "m", in_parts);
    const auto x = ops::GetPartitionedVariable(
        m, "x", {10}, {.initializer = ops::initializers::Constant(1.0f)});
    Output loss = ops::Const(m, 0.0f);
    for (const ops::Variable& part : x.parts()) {
      loss = ops::Add(m, loss, ops::Sum(m, ops::Mul(m, part, part), {0}));
    }
    train::Momentum optimizer(0.1f, 0.9f);
    optimizer.Minimize(m, loss);
    std::vector<Output> slots;
    for (const ops::Variable& part : x.parts()) {
      slots.push_back(optimizer.GetSlot(part, "momentum").value());
    }
    if (slots.size() == 1) return slots[0];
    return ops::Concat(root, InputList(slots.begin(), slots.end()), 0);
  };
  const auto restored = [&](const std::string& path, int parts) {
    const Scope root = Scope::Root();
    const Output slots = build(root, parts);
    Saver saver(root, Options());
    const auto session = Connect(root);
    const absl::Status status = saver.Restore(*session, path);
    return status.ok() ? session->Run(slots) : status;
  };
  const Scope two = Scope::Root();
  build(two, 2);
  ASSERT_NO_FATAL_FAILURE(SaveAs("/job/two", two));
  EXPECT_OK(Stored("/job/two", "m/x/Momentum"));
  EXPECT_FALSE(Stored("/job/two", "m/x/0/Momentum").ok());
  // Checkpoints as TensorFlow writes them for two parts and for one part.
  const Tensor values = Floats({10}, 1);
  const auto random = NewSeededRandom(1);
  const auto write = [&](const std::string& path, int parts) {
    ASSERT_OK_AND_ASSIGN(const auto writer, checkpoint::BundleWriter::Create(
                                                files_, path, *random));
    ASSERT_OK(writer->Add("m/x", values));
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t size = 10 / parts;
      ASSERT_OK_AND_ASSIGN(const auto slice,
                           checkpoint::TensorSlice::Create({{i * size, size}}));
      ASSERT_OK(writer->AddSlice(
          absl::StrCat("m/x/", i, "/Momentum"), TensorShape({10}), slice,
          Floats({size}, static_cast<float>(1 + i * size))));
    }
    ASSERT_OK(writer->Finish());
  };
  ASSERT_NO_FATAL_FAILURE(write("/job/tf_two", 2));
  ASSERT_NO_FATAL_FAILURE(write("/job/tf_one", 1));
  for (const int parts : {1, 2, 5}) {
    EXPECT_OK(restored("/job/two", parts)) << parts;
    ASSERT_OK_AND_ASSIGN(const Tensor slots, restored("/job/tf_one", parts));
    EXPECT_TRUE(SameBits(slots, values)) << parts;
  }
  ASSERT_OK_AND_ASSIGN(const Tensor slots, restored("/job/tf_two", 2));
  EXPECT_TRUE(SameBits(slots, values));
}

TEST_F(SaverTest, CheckpointNamesCanBeChosen) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  const ops::Variable v(root.WithName("v"), Floats({2}, 5));
  ASSERT_NO_FATAL_FAILURE(SaveAs("/job/all", root));
  SaverOptions crossed = Options();
  crossed.var_list = {{"v", w}};
  Saver saver(root, crossed);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Restore(*session, "/job/all"));
  ASSERT_OK_AND_ASSIGN(const Tensor restored, session->Run(w));
  EXPECT_TRUE(SameBits(restored, Floats({2}, 5)));
}

TEST_F(SaverTest, MissingTensorIsNamedInTheError) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  ASSERT_NO_FATAL_FAILURE(SaveAs("/job/w", root));
  const ops::Variable v(root.WithName("v"), Floats({2}, 1));
  Saver saver(root, Options());
  const auto session = Connect(root);
  EXPECT_THAT(
      saver.Restore(*session, "/job/w"),
      StatusIs(absl::StatusCode::kNotFound, "Key v not found in checkpoint"));
  EXPECT_THAT(saver.Restore(*session, "/job/none"),
              StatusIs(absl::StatusCode::kNotFound, "/job/none"));
  // A save of uninitialized variables fails and writes only its marker file.
  EXPECT_THAT(saver.Save(*session, "/job/v"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(Files(), (Paths{"checkpoint", "v.saving", "w.data-00000-of-00001",
                            "w.index", "w.meta"}));
}

TEST_F(SaverTest, RestoreWithOtherShapeIsRejected) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  ASSERT_NO_FATAL_FAILURE(SaveAs("/job/w", root));
  const Scope other = Scope::Root();
  const ops::Variable longer(other.WithName("w"), Floats({3}, 1));
  Saver saver(other, Options());
  const auto session = Connect(other);
  EXPECT_THAT(
      saver.Restore(*session, "/job/w"),
      StatusIs(kInvalid,
               "tensor_name = w; shape in shape_and_slice spec [3] does "
               "not match the shape stored in checkpoint: [2]"));
}

TEST_F(SaverTest, UnsaveableVariableIsNamedInTheError) {
  const Scope empty = Scope::Root();
  Saver none(empty, Options());
  EXPECT_THAT(empty.status(), StatusIs(kInvalid, "No variables to save"));
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  const ops::Variable v(root.WithName("v"), Floats({2}, 1));
  SaverOptions twice = Options();
  twice.var_list = {{"x", w}, {"x", v}};
  Saver saver(root, twice);
  EXPECT_THAT(root.status(),
              StatusIs(kInvalid, "At least two variables have the same name"));
  // Parts of one variable under the name "x" are not adjacent, so they cannot
  // be saved as slices of one tensor.
  const Scope parts = Scope::Root();
  const auto whole = ops::GetPartitionedVariable(
      parts, "p", {4}, {.partitioner = ops::FixedSizePartitioner(2)});
  SaverOptions mixed = Options();
  for (const ops::Variable& part : whole.parts()) {
    mixed.var_list.emplace_back("x", part);
  }
  mixed.var_list.emplace_back("x", whole.parts()[0]);
  Saver thrice(parts, mixed);
  EXPECT_THAT(parts.status(),
              StatusIs(kInvalid, "At least two variables have the same name"));
}

TEST_F(SaverTest, InvalidPathsAreRejected) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  Saver saver(root, Options());
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(saver.Save(*session, "/job/checkpoint"),
              StatusIs(kInvalid, "'latest_filename' collides"));
  EXPECT_THAT(saver.Save(*session, "/job/m", {.latest_filename = "a/b"}),
              StatusIs(kInvalid, "must not contain path components"));
  EXPECT_THAT(saver.Save(*session, "/job/"),
              StatusIs(kInvalid, "has to end with a name"));
}

// In a sharded save, each task of the cluster writes its own variables.
TEST(ShardedSaverTest, EachTaskWritesItsVariables) {
  TestCluster cluster({.jobs = {{"ps", 2}, {"worker", 1}}});
  LocalFileSystem files;
  const std::string folder =
      absl::StrCat(testing::TempDir(), "/sharded_saver_test");
  (void)files.DeleteRecursively(folder);
  const Scope root = Scope::Root();
  const Scope ps0 = root.WithDevice("/job:ps/task:0");
  const Scope ps1 = root.WithDevice("/job:ps/task:1");
  const ops::Variable a(ps0.WithName("a"), Floats({2, 3}, 1));
  const ops::Variable b(ps1.WithName("b"), Floats({4}, 10));
  const Output cleared =
      ops::Assign(ps1, b, ops::Sub(ps1, b, ops::Const(ps1, Floats({4}, 10))));
  SaverOptions options;
  options.sharded = true;
  Saver saver(root, options);
  const Operation init = ops::GlobalVariablesInitializer(root);
  auto session = Session::Connect(cluster.target("worker", 0), root,
                                  cluster.session_options());
  ASSERT_OK(session);
  ASSERT_OK((*session)->Run(init));
  ASSERT_OK_AND_ASSIGN(const std::string path,
                       saver.Save(**session, absl::StrCat(folder, "/m")));
  ASSERT_OK_AND_ASSIGN(const auto names, files.ListDirectory(folder));
  EXPECT_EQ(names, (Paths{"checkpoint", "m.data-00000-of-00002",
                          "m.data-00001-of-00002", "m.index", "m.meta"}));
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       checkpoint::BundleReader::Open(files, path));
  ASSERT_OK_AND_ASSIGN(const auto entry, reader->Find("b"));
  EXPECT_EQ(entry->shard, 1);
  ASSERT_OK((*session)->Run(cleared));
  ASSERT_OK(saver.Restore(**session, path));
  ASSERT_OK_AND_ASSIGN(const Tensor restored, (*session)->Run(b));
  EXPECT_TRUE(SameBits(restored, Floats({4}, 10)));
  (void)files.DeleteRecursively(folder);
}

// In an unsharded save, the task of the session writes the files. The saver
// asks that task, too, whether the files exist.
TEST(UnshardedSaverTest, UnshardedSaveAsksWritingTaskForFiles) {
  std::map<std::string, std::unique_ptr<MemoryFileSystem>> disks;
  TestCluster::Options options;
  options.kind = ClusterKind::kSimulated;
  options.jobs = {{"ps", 1}, {"worker", 1}};
  options.file_system = [&](const std::string& name) {
    auto& disk = disks[absl::StrContains(name, "worker") ? "worker" : "shared"];
    if (disk == nullptr) disk = std::make_unique<MemoryFileSystem>();
    return disk.get();
  };
  TestCluster cluster(options);
  const Scope root = Scope::Root();
  const ops::Variable a(root.WithDevice("/job:ps/task:0").WithName("a"),
                        Floats({2}, 1));
  SaverOptions saves;
  MemoryFileSystem* const shared = [&] {
    auto& disk = disks["shared"];
    if (disk == nullptr) disk = std::make_unique<MemoryFileSystem>();
    return disk.get();
  }();
  saves.file_system = shared;
  Saver saver(root, saves);
  const Operation init = ops::GlobalVariablesInitializer(root);
  ASSERT_OK_AND_ASSIGN(const auto session,
                       Session::Connect(cluster.target("worker", 0), root,
                                        cluster.session_options()));
  ASSERT_OK(session->Run(init));
  EXPECT_THAT(saver.Save(*session, "/job/m"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "[the session's own] do not find /job/m.saving"));
  EXPECT_EQ(shared->ListDirectory("/job").value(), (Paths{"m.saving"}));
  EXPECT_FALSE(disks["worker"]->FileExists("/job").ok());
}

// The saver of SavedModelBuilder writes neither checkpoint state nor graph, and
// so it does not check for them on the disk.
TEST(SavedModelBuilderTest, VariablesOnAnotherDiskAreReported) {
  std::map<std::string, std::unique_ptr<MemoryFileSystem>> disks;
  const auto disk_of = [&](const std::string& name) {
    auto& disk = disks[absl::StrContains(name, "ps") ? "ps" : "program"];
    if (disk == nullptr) disk = std::make_unique<MemoryFileSystem>();
    return disk.get();
  };
  TestCluster::Options options;
  options.kind = ClusterKind::kSimulated;
  options.jobs = {{"ps", 1}, {"worker", 1}};
  options.file_system = disk_of;
  TestCluster cluster(options);
  const Scope root = Scope::Root();
  const ops::Variable a(root.WithDevice("/job:ps/task:0").WithName("a"),
                        Floats({2}, 1));
  Saver saver(root, {.sharded = true});
  const Operation init = ops::GlobalVariablesInitializer(root);
  ASSERT_OK_AND_ASSIGN(const auto session,
                       Session::Connect(cluster.target("worker", 0), root,
                                        cluster.session_options()));
  ASSERT_OK(session->Run(init));
  const auto add = [&](FileSystem& files) -> absl::Status {
    ASSIGN_OR_RETURN(const auto builder,
                     train::SavedModelBuilder::Create(files, "/export"));
    return builder->AddMetaGraphAndVariables(
        *session, root, {.tags = {"serve"}, .saver = &saver});
  };
  EXPECT_THAT(add(*disk_of("program")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "does not find /export/variables/variables.index"));
  EXPECT_OK(disks["ps"]->FileExists("/export/variables/variables.index"));
  ASSERT_OK(disks["ps"]->DeleteRecursively("/export"));
  EXPECT_OK(add(*disk_of("ps")));
}

// If tasks have separate disks, shards could neither be merged nor restored. So
// the save is rejected before it writes anything.
TEST(ShardedSaverTest, TasksWithoutSharedDiskAreRejectedFirst) {
  std::map<std::string, std::unique_ptr<MemoryFileSystem>> disks;
  TestCluster::Options options;
  options.kind = ClusterKind::kSimulated;
  options.jobs = {{"ps", 2}, {"worker", 1}};
  options.file_system = [&](const std::string& name) {
    auto& disk =
        disks[absl::StrContains(name, "ps") && absl::StrContains(name, "task:1")
                  ? "another"
                  : "shared"];
    if (disk == nullptr) disk = std::make_unique<MemoryFileSystem>();
    return disk.get();
  };
  TestCluster cluster(options);
  const Scope root = Scope::Root();
  const ops::Variable a(root.WithDevice("/job:ps/task:0").WithName("a"),
                        Floats({2}, 1));
  const ops::Variable b(root.WithDevice("/job:ps/task:1").WithName("b"),
                        Floats({2}, 1));
  SaverOptions saves;
  saves.sharded = true;
  Saver saver(root, saves);
  const Operation init = ops::GlobalVariablesInitializer(root);
  ASSERT_OK_AND_ASSIGN(const auto session,
                       Session::Connect(cluster.target("worker", 0), root,
                                        cluster.session_options()));
  ASSERT_OK(session->Run(init));
  const auto saved = saver.Save(*session, "/job/m");
  EXPECT_THAT(saved, StatusIs(absl::StatusCode::kFailedPrecondition,
                              "/job:ps/task:1/device:CPU:0] do not find "
                              "/job/m.saving"));
  EXPECT_THAT(saved, StatusIs(absl::StatusCode::kFailedPrecondition,
                              "zmq://HOST:PORT/PATH"));
  EXPECT_EQ(disks["shared"]->ListDirectory("/job").value(),
            (Paths{"m.saving"}));
  EXPECT_FALSE(disks["another"]->FileExists("/job").ok());
}

// A mark belongs to the save of one path, and can be used only once.
TEST_F(SaverTest, MarkOfAnotherSaveIsRejected) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.consistency = train::SaveConsistency::kStep;
  Saver saver(root, options);
  const Operation mark(root.graph().FindNode("save/mark_all"));
  ASSERT_TRUE(mark);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  const auto prefix = [&](const char* path) -> FeedList {
    return {{saver.filename_tensor(), Tensor::Scalar<std::string>(path)}};
  };
  ASSERT_OK(files_.CreateDirectories("/job"));
  ASSERT_OK(session->Run(prefix("/job/a"), mark));
  EXPECT_THAT(
      session->Run(prefix("/job/b"), saver.save_tensor()),
      StatusIs(absl::StatusCode::kFailedPrecondition, "for another save"));
  ASSERT_OK(session->Run(prefix("/job/a"), saver.save_tensor()));
  EXPECT_THAT(session->Run(prefix("/job/a"), saver.save_tensor()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "not marked"));
}

TEST(TensorFlowCheckpointTest, IsRestored) {
  LocalFileSystem files;
  const std::string golden =
      "integration_tests/testdata/conformance/checkpoints/sharded/model.ckpt";
  const Scope root = Scope::Root();
  const ops::Variable w1(root.WithName("w1"), Tensor(DT_FLOAT, {4, 3}));
  const ops::Variable b1(root.WithName("b1"), Tensor(DT_FLOAT, {3}));
  Saver saver(root);
  const auto session = Session::Connect("", root);
  ASSERT_OK(session);
  ASSERT_OK(saver.Restore(**session, golden));
  ASSERT_OK_AND_ASSIGN(const Tensor weights, (*session)->Run(w1));
  EXPECT_EQ(weights.flat<float>()[0], -0.41675785183906555f);
  ASSERT_OK_AND_ASSIGN(const Tensor bias, (*session)->Run(b1));
  EXPECT_EQ(bias.flat<float>()[2], 0.5390583276748657f);
}

}  // namespace
}  // namespace weft::saver_tests
