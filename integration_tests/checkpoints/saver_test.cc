// The Saver: variables of both families, whole and in parts, saved by real
// sessions and restored by others; which checkpoints stay; sharded over the
// tasks of a cluster. Restores what TensorFlow 2.21 saved.
#include "libs/train/saving/saver.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/bundle_writer.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/checkpoint_writer/testing/gated_file_system.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/routed_file_system.h"
#include "libs/runtime/process/process.h"
#include "libs/train/saved_model/saved_model_builder.h"

namespace weft {
namespace {

using train::Saver;
using train::SaverOptions;
using Paths = std::vector<std::string>;

Tensor Floats(const TensorShape& shape, float first) {
  Tensor tensor(DT_FLOAT, shape);
  for (float& value : tensor.mutable_flat<float>()) value = first++;
  return tensor;
}

std::unique_ptr<Session> ConnectTo(Process& process, const Scope& scope) {
  auto session = Session::Connect("", scope, {.process = &process});
  EXPECT_OK(session);
  return session.ok() ? *std::move(session) : nullptr;
}

// Returns a session with initialized variables; null if that failed.
std::unique_ptr<Session> InitializedSession(Process& process,
                                            const Scope& scope) {
  const Operation init = ops::GlobalVariablesInitializer(scope);
  auto session = ConnectTo(process, scope);
  if (session == nullptr) return nullptr;
  const absl::Status initialized = session->Run(init);
  EXPECT_OK(initialized);
  return initialized.ok() ? std::move(session) : nullptr;
}

// Sessions of one process whose files are in memory.
class SaverTest : public testing::Test {
 protected:
  static ProcessOptions InMemory(FileSystem& files) {
    ProcessOptions options;
    options.file_system = &files;
    return options;
  }
  SaverTest() : process_(InMemory(files_)) {}

  // A session of its own: its variables have no values yet.
  std::unique_ptr<Session> Connect(const Scope& scope) {
    return ConnectTo(process_, scope);
  }
  // Returns a session with initialized variables; null if that failed.
  std::unique_ptr<Session> ConnectAndInitialize(const Scope& scope) {
    return InitializedSession(process_, scope);
  }
  SaverOptions Options() {
    SaverOptions options;
    options.file_system = &files_;
    options.clock = &clock_;
    return options;
  }
  // Builds, initialises and saves.
  void SaveAs(const std::string& path, const Scope& scope) {
    Saver saver(scope, Options());
    const Operation init = ops::GlobalVariablesInitializer(scope);
    const auto session = Connect(scope);
    ASSERT_NE(session, nullptr);
    ASSERT_OK(session->Run(init));
    ASSERT_OK_AND_ASSIGN(const std::string saved, saver.Save(*session, path));
    EXPECT_EQ(saved, path);
  }
  absl::StatusOr<Tensor> Stored(const std::string& path,
                                const std::string& name) {
    ASSIGN_OR_RETURN(const auto reader,
                     checkpoint::BundleReader::Open(files_, path));
    return reader->Read(name, HeapAllocator());
  }
  Paths Files() { return files_.ListDirectory("/job").value_or(Paths()); }

  MemoryFileSystem files_;
  ManualClock clock_;
  Process process_;
};

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
  // A new session, which has initialised nothing.
  const auto other = Connect(root);
  ASSERT_OK(saver.Restore(*other, path));
  ASSERT_OK_AND_ASSIGN(const Tensor again, other->Run(w));
  EXPECT_TRUE(SameBits(again, Floats({2, 3}, 1)));
}

INSTANTIATE_TEST_SUITE_P(Families, SaverFamilyTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& family) {
                           return family.param ? "Resource" : "Reference";
                         });

// While a variable and its slot are trained continuously by a thread, each
// checkpoint captures both atomically: with a momentum of 1 and gradients of
// -1, after n steps the slot is -n and the variable n (n + 1) / 2, everywhere.
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

// Leftovers of a crashed save are deleted by the next save of the same path,
// which finds them in the marker; other files are not, however similar their
// names.
TEST_F(SaverTest, LeftoversOfSaveAreDeleted) {
  const std::string of_tensorflow(32, 'b');
  const Paths folders = {"model.ckpt-7_temp_00000000000a1b0c",
                         "model.ckpt-7_temp_" + of_tensorflow};
  const Paths other_folders = {"model.ckpt-7_temp",
                               "model.ckpt-7_temp2",
                               "model.ckpt-7_temp_20261125",
                               "model.ckpt-7_temp_00000000000a1b0d",
                               "model.ckpt_temp",
                               "model.ckpt_temp_0123456789abcdef",
                               "model.ckpt-8_temp_00000000000a1b0c",
                               "model.ckpt-8_temp_" + of_tensorflow};
  for (const Paths* names : {&folders, &other_folders}) {
    for (const std::string& name : *names) {
      ASSERT_OK(files_.CreateDirectories("/job/" + name));
    }
  }
  const Paths swept = {"model.ckpt-7.index.tempstate12",
                       "model.ckpt-7.data-00000-of-00001.tempstate3",
                       "model.ckpt-7.data-00000-of-00001",
                       "model.ckpt-9.meta.tmp",
                       "model.ckpt-9.index.tempstate5",
                       folders[0] + "/part-00000-of-00002.index"};
  const Paths stay = {
      // No save that has not ended makes one.
      "model.ckpt-7.meta",
      // Names of other files.
      "model.ckpt-7.data-mine.index", "model.ckpt-7.data-1-of-2x",
      "model.ckpt-9.data-00000-of-00001", "model.ckpt-9.meta",
      "model.ckpt-9.index",
      // Files of saves that this one does not know.
      "model.ckpt-8.index.tempstate1", "model.ckpt-8.data-00000-of-00001",
      "model.ckpt-8.meta", "model.ckpt-7.index.tempstate",
      "model.ckpt-7_of_mine.meta", "model.ckpt-7.data-00000-of-00001.old",
      "other.data-00000-of-00001"};
  for (const Paths* names : {&swept, &stay}) {
    for (const std::string& name : *names) {
      ASSERT_OK(files_.WriteFileAtomically("/job/" + name, "bytes"));
    }
  }
  ASSERT_OK(files_.WriteFileAtomically(
      "/job/model.ckpt.saving",
      "save 12\nsaving a1b0c model.ckpt-7\nsaving 5 model.ckpt-9\n"
      "saving 6 other\nsaving 7 ../job/model.ckpt-8\nmodel.ckpt-8\n"));
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaveAs("/job/model.ckpt", root);
  for (const std::string& name : swept) {
    EXPECT_FALSE(files_.FileExists("/job/" + name).ok()) << name;
  }
  for (const std::string& name : folders) {
    EXPECT_FALSE(files_.FileExists("/job/" + name).ok()) << name;
  }
  for (const std::string& name : stay) {
    EXPECT_OK(files_.FileExists("/job/" + name)) << name;
  }
  for (const std::string& name : other_folders) {
    EXPECT_OK(files_.FileExists("/job/" + name)) << name;
  }
}

// Checkpoints that another process was about to delete are deleted, except
// those that the state names, even if a dead process named them for deletion.
TEST_F(SaverTest, OldCheckpointsOfDeadProcessAreDeleted) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 2;
  Saver first(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  for (const int64_t step : {1, 2, 3}) {
    ASSERT_OK(first.Save(*session, "/job/m",
                         {.global_step = step, .write_state = step != 1}));
  }
  ASSERT_OK(files_.WriteFileAtomically(
      "/job/m.saving",
      "save 9\nsaving 9 m-3\ndeleting m-1\ndeleting m-2\ndeleting m-0\n"));
  Saver second(root, options);
  ASSERT_OK(second.Save(*session, "/job/m", {.global_step = 4}));
  Paths indexes;
  for (const std::string& name : Files()) {
    if (absl::EndsWith(name, ".index")) indexes.push_back(name);
    EXPECT_FALSE(absl::StartsWith(name, "m-1")) << name;
  }
  EXPECT_EQ(indexes, (Paths{"m-2.index", "m-3.index", "m-4.index"}));
}

// One checkpoint under two spellings is one.
TEST_F(SaverTest, OtherSpellingOfNewCheckpointIsKept) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 1;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m"));
  for (const char* path : {"/job//m", "/job/./m", "/job/m"}) {
    ASSERT_OK(saver.Save(*session, path));
    EXPECT_EQ(saver.LastCheckpoints(), Paths{path});
    ASSERT_OK(saver.Restore(*session, "/job/m")) << path;
  }
}

// A folder by its path from here and by its whole one.
TEST(SaverPathsTest, AbsolutePathOfNewCheckpointIsKept) {
  LocalFileSystem files;
  const std::string name = "saver_paths_test";
  const std::string here = std::filesystem::current_path();
  (void)files.DeleteRecursively(name);
  Process process;
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options;
  options.max_to_keep = 1;
  Saver saver(root, options);
  const auto session = InitializedSession(process, root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, name + "/m"));
  const std::string whole = absl::StrCat(here, "/", name, "/m");
  ASSERT_OK(saver.Save(*session, whole));
  ASSERT_OK(saver.Restore(*session, whole));
  (void)files.DeleteRecursively(name);
}

// A disk on which "/alias" is a link to "/job".
class LinkedFiles : public RoutedFileSystem {
 public:
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override {
    if (path == unreadable) return absl::UnavailableError("the disk is away");
    return RoutedFileSystem::NewRandomAccessFile(path);
  }
  MemoryFileSystem disk;
  std::string unreadable;  // the path of a file that can't be read for now

 private:
  absl::StatusOr<Place> Find(absl::string_view path) override {
    std::string target(path);
    if (absl::ConsumePrefix(&path, "/alias")) {
      target = absl::StrCat("/job", path);
    }
    return Place{&disk, nullptr, target};
  }
};

// An old checkpoint whose index cannot be read may be the new one under another
// path, or one that the state names.
TEST(SaverPathsTest, PossibleAliasOfCheckpointIsKept) {
  LinkedFiles files;
  ASSERT_OK(files.CreateDirectory("/job"));
  Process process({.compute_threads = 1, .file_system = &files});
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options;
  options.max_to_keep = 1;
  Saver saver(root, options);
  Saver next(root, options);
  const auto session = InitializedSession(process, root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m"));
  files.unreadable = "/job/m.index";
  ASSERT_OK(saver.Save(*session, "/alias/m"));
  EXPECT_OK(saver.Restore(*session, "/alias/m"));
  // It is deleted once it is known that it is not kept.
  files.unreadable.clear();
  ASSERT_OK(saver.Save(*session, "/alias/n"));
  EXPECT_FALSE(files.FileExists("/job/m.index").ok());
  EXPECT_OK(saver.Restore(*session, "/alias/n"));

  // Another process was about to delete what the state names by now.
  ASSERT_OK(files.WriteFileAtomically("/job/checkpoint",
                                      R"(model_checkpoint_path: "/alias/n")"));
  ASSERT_OK(files.WriteFileAtomically("/job/n.saving", "save 9\ndeleting n\n"));
  files.unreadable = "/alias/n.index";
  ASSERT_OK(next.Save(*session, "/job/n", {.global_step = 2}));
  files.unreadable.clear();
  EXPECT_OK(next.Restore(*session, "/alias/n"));
}

// Files whose names only begin like the checkpoint's are kept.
TEST_F(SaverTest, CheckpointWithLongerNameIsKept) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 1;
  Saver saver(root, options);
  Saver other(root, Options());
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  for (const char* mine : {"/job/m", "/job/m", "/job/n"}) {
    ASSERT_OK(other.Save(*session, "/job/m.data-aug", {.write_state = false}));
    ASSERT_OK(saver.Save(*session, mine));
    ASSERT_OK(saver.Restore(*session, "/job/m.data-aug"));
    ASSERT_OK(files_.FileExists("/job/m.data-aug.meta"));
  }
  EXPECT_FALSE(files_.FileExists("/job/m.index").ok());
}

TEST_F(SaverTest, StateWithRelativePathsMayBeMoved) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.save_relative_paths = true;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 1}));
  ASSERT_OK(files_.CreateDirectories("/moved"));
  for (const std::string& name : Files()) {
    ASSERT_OK(files_.RenameFile("/job/" + name, "/moved/" + name));
  }
  ASSERT_OK_AND_ASSIGN(const auto latest,
                       checkpoint::LatestCheckpoint(files_, "/moved"));
  EXPECT_EQ(latest, "/moved/m-1");
}

// A training in a copy of a directory, whose state file names the original's
// paths: once with all files copied, once with the newest checkpoint only.
TEST_F(SaverTest, TrainingInACopyLeavesOriginalUnchanged) {
  for (const std::string& copied : {"m-", "m-2"}) {
    const Scope root = Scope::Root();
    const ops::Variable w(root.WithName("w"), Floats({2}, 1));
    SaverOptions options = Options();
    options.max_to_keep = 2;
    Saver first(root, options);
    Saver second(root, options);
    const Output twice = ops::Assign(root, w, ops::Add(root, w, w));
    const auto session = ConnectAndInitialize(root);
    ASSERT_NE(session, nullptr);
    ASSERT_OK(first.Save(*session, "/job/m", {.global_step = 1}));
    ASSERT_OK(first.Save(*session, "/job/m", {.global_step = 2}));
    const std::string copy = "/copy_of_" + copied;
    const Paths original = Files();
    ASSERT_OK(files_.CreateDirectories(copy));
    for (const std::string& name : original) {
      if (name != "checkpoint" && !absl::StartsWith(name, copied)) continue;
      ASSERT_OK_AND_ASSIGN(const std::string bytes,
                           files_.ReadFile("/job/" + name));
      ASSERT_OK(files_.WriteFileAtomically(copy + "/" + name, bytes));
    }
    ASSERT_OK_AND_ASSIGN(const auto state,
                         checkpoint::ReadCheckpointState(files_, copy));
    EXPECT_EQ(state.model_checkpoint_path, copy + "/m-2");
    ASSERT_OK(second.Restore(*session, state.model_checkpoint_path));
    ASSERT_OK(second.RecoverLastCheckpoints(*session,
                                            state.all_model_checkpoint_paths));
    ASSERT_OK(session->Run(twice));
    for (const int64_t step : {3, 4, 5}) {
      ASSERT_OK(second.Save(*session, copy + "/m", {.global_step = step}));
    }
    EXPECT_EQ(Files(), original);
    EXPECT_EQ(Stored("/job/m-2", "w")->flat<float>()[1], 2);
    EXPECT_EQ(second.LastCheckpoints(), (Paths{copy + "/m-4", copy + "/m-5"}));
    EXPECT_FALSE(files_.FileExists(copy + "/m-2.index").ok());
    for (const std::string& name : original) {
      ASSERT_OK(files_.DeleteFile("/job/" + name));
    }
  }
}

// A crafted marker, or one truncated by a failing disk.
TEST_F(SaverTest, CorruptSaveMarkerIsHarmless) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  Saver saver(root, Options());
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(files_.CreateDirectories("/job"));
  for (const std::string& contents :
       {std::string(), std::string("save "), std::string("save 1\nsaving "),
        std::string("save 1\nsaving 1 m-\\"),
        std::string("save 1\ndeleting \\x00\ndeleting /\ndeleting ..\n"
                    "deleting m/../../x\nsaving x m\ndeleting "),
        std::string(2 << 20, 'm')}) {
    ASSERT_OK(files_.WriteFileAtomically("/job/m.saving", contents));
    ASSERT_OK(saver.Save(*session, "/job/m").status());
  }
  EXPECT_EQ(Stored("/job/m", "w")->flat<float>()[1], 2);
}

// Whatever fails of what the saver does to files, but one save later nothing is
// left of it.
TEST_F(SaverTest, FailedDeletionsAreRetriedByNextSave) {
  FailingFileSystem failing(files_);
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.file_system = &failing;
  options.max_to_keep = 1;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(files_.CreateDirectories("/job"));
  int64_t step = 0;
  const auto save = [&] {
    return saver.Save(*session, "/job/m", {.global_step = ++step}).status();
  };
  ASSERT_OK(save());
  const int64_t before = failing.num_operations();
  ASSERT_OK(save());
  const int64_t operations = failing.num_operations() - before;
  ASSERT_GT(operations, 5);
  for (int64_t n = 0; n < operations; ++n) {
    failing.FailOperation(n, absl::UnavailableError("not now"));
    (void)save();
    failing.Heal();
    ASSERT_OK(save()) << n;
    const std::string newest = absl::StrCat("m-", step);
    Paths files = Files();
    std::erase(files, "m.saving");  // which knows of the failed one for a while
    EXPECT_EQ(files, (Paths{"checkpoint", newest + ".data-00000-of-00001",
                            newest + ".index", newest + ".meta"}))
        << n;
  }
  clock_.Advance(absl::Minutes(20));
  for (int i = 0; i < 2; ++i) ASSERT_OK(save());
  EXPECT_FALSE(files_.FileExists("/job/m.saving").ok());
}

// A save of a variable may be held up.
class GatedSaverTest : public SaverTest {
 protected:
  // Options with this timeout for another save.
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

// Depending on the options, a second save waits for the first, or is rejected.
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

// A save of another session may take its time.
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

// Memory during a save: the variables once more as far as they change before
// they are read, a block of pages, and what was allocated ahead, here for
// sixteen updates of rows like the one before.
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
  ASSERT_OK(session->Run(train));  // the first values are the constants'
  const auto in_use = [&] {
    return process_of_gated_.buffers().stats().bytes_in_use;
  };
  const int64_t before = in_use();
  for (const int64_t ahead : {int64_t{0}, 16 * kRowsBytes}) {
    // The marks of a save that is over say that nothing was updated.
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

// A variable in parts is one tensor to a checkpoint, and so are its slots.
TEST_F(SaverTest, RestoresIntoOtherPartition) {
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

// Within a variable scope TensorFlow saves the slot of each part as a variable
// of its own. Weft saves all parts as one variable, which any partition can
// restore. It also restores what TensorFlow saved.
TEST_F(SaverTest, SlotsOfPartitionsAreOneVariable) {
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
  // TensorFlow's form of two parts, and of one.
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

TEST_F(SaverTest, MissingTensorIsNamed) {
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
  // Nothing was initialised, so nothing can be saved, and nothing is; it is
  // noted that a save was begun.
  EXPECT_THAT(saver.Save(*session, "/job/v"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(Files(), (Paths{"checkpoint", "v.saving", "w.data-00000-of-00001",
                            "w.index", "w.meta"}));
}

TEST_F(SaverTest, OtherShapeIsRejected) {
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

TEST_F(SaverTest, UnsaveableVariableIsNamed) {
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
  // Parts of one name from two savers that are not adjacent.
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

TEST_F(SaverTest, PathsAreChecked) {
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

// As TensorFlow's Saver(max_to_keep=3) does (cases max_to_keep and
// max_to_keep_one of its recorded histories).
TEST_F(SaverTest, LatestCheckpointsAreKept) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 3;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  for (const int64_t step : {1, 2, 3, 5, 3, 8}) {
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = step}));
  }
  EXPECT_EQ(saver.LastCheckpoints(),
            (Paths{"/job/m-5", "/job/m-3", "/job/m-8"}));
  ASSERT_OK_AND_ASSIGN(const auto state,
                       checkpoint::ReadCheckpointState(files_, "/job"));
  EXPECT_EQ(state.model_checkpoint_path, "/job/m-8");
  EXPECT_EQ(state.all_model_checkpoint_paths, saver.LastCheckpoints());
  ASSERT_OK_AND_ASSIGN(const auto latest,
                       checkpoint::LatestCheckpoint(files_, "/job"));
  EXPECT_EQ(latest, "/job/m-8");
  // The third was saved twice: its data may not take the name of the old one.
  EXPECT_EQ(Files(), (Paths{"checkpoint", "m-3.data-00000-of-00002",
                            "m-3.index", "m-3.meta", "m-5.data-00000-of-00001",
                            "m-5.index", "m-5.meta", "m-8.data-00000-of-00001",
                            "m-8.index", "m-8.meta"}));
}

TEST_F(SaverTest, PeriodicCheckpointsAreKeptForever) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 1;
  options.keep_checkpoint_every = absl::Hours(1);
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  // One each 25 minutes: the first after an hour stays, and so does the first
  // after two.
  for (int64_t i = 0; i < 8; ++i) {
    clock_.Advance(absl::Minutes(25));
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = i}));
  }
  for (int64_t i = 0; i < 8; ++i) {
    const bool stays = i == 2 || i == 4 || i == 7;
    EXPECT_EQ(files_.FileExists(absl::StrCat("/job/m-", i, ".index")).ok(),
              stays)
        << i;
  }
}

// The machine's clock may be set; what is between two saves is not.
class SetClock : public ManualClock {
 public:
  absl::Time WallTime() const override { return Now() + ahead; }
  absl::Duration ahead = absl::ZeroDuration();
};

TEST_F(SaverTest, StateUsesWallClock) {
  SetClock clock;
  clock.ahead = absl::Hours(3);
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.clock = &clock;
  options.max_to_keep = 2;
  options.keep_checkpoint_every = absl::Hours(1);
  Saver saver(root, options);
  Saver next(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 1}));
  const auto timestamps = [this] {
    return checkpoint::ReadCheckpointState(files_, "/job")
        .value()
        .all_model_checkpoint_timestamps;
  };
  const double saved = absl::ToUnixSeconds(clock.WallTime());
  EXPECT_EQ(timestamps(), std::vector<double>{saved});
  // A saver that continues with it keeps its time.
  clock.Advance(absl::Minutes(30));
  ASSERT_OK(next.RecoverLastCheckpoints(*session, {"/job/m-1"}, timestamps()));
  ASSERT_OK(next.Save(*session, "/job/m", {.global_step = 2}));
  EXPECT_EQ(timestamps(), (std::vector<double>{saved, saved + 1800}));
  // An hour has not passed because it is three hours later.
  ASSERT_OK(next.Save(*session, "/job/m", {.global_step = 3}));
  ASSERT_OK(next.Save(*session, "/job/m", {.global_step = 4}));
  EXPECT_FALSE(files_.FileExists("/job/m-1.index").ok());
  EXPECT_FALSE(files_.FileExists("/job/m-2.index").ok());
}

TEST_F(SaverTest, NextProcessContinuesRetention) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 2;
  Saver first(root, options);
  Saver second(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(first.Save(*session, "/job/m", {.global_step = 1}));
  ASSERT_OK(first.Save(*session, "/job/m", {.global_step = 2}));
  clock_.Advance(absl::Hours(5));
  ASSERT_OK(second.RecoverLastCheckpoints(
      *session, {"/job/gone", "/job/m-1", "/job/m-2"}, {1, 2, 3}));
  ASSERT_OK(second.Save(*session, "/job/m", {.global_step = 3}));
  ASSERT_OK_AND_ASSIGN(const auto state,
                       checkpoint::ReadCheckpointState(files_, "/job"));
  ASSERT_EQ(state.all_model_checkpoint_timestamps.size(), 2u);
  EXPECT_EQ(state.all_model_checkpoint_timestamps[0], 3);
  EXPECT_EQ(second.LastCheckpoints(), (Paths{"/job/m-2", "/job/m-3"}));
  EXPECT_FALSE(files_.FileExists("/job/m-1.index").ok());
}

// Save number two, cut off by a power failure at each of its operations: what
// the state names afterwards is whole, and the first checkpoint or the second.
// With numbers that a checkpoint gets after its path, or without, where the new
// one takes the place of the old.
class SaverPowerTest
    : public testing::TestWithParam<std::pair<bool, std::optional<int64_t>>> {};

TEST_P(SaverPowerTest, PowerFailureLeavesOldOrNewCheckpoint) {
  SaverOptions options;
  options.max_to_keep = 1;  // the old one is deleted by the same save
  const auto [sharded, second_step] = GetParam();
  options.sharded = sharded;
  const std::optional<int64_t> first_step =
      second_step ? std::optional<int64_t>(1) : std::nullopt;
  bool is_cut_off = true;
  int old_ones = 0;
  int new_ones = 0;
  for (int64_t n = 0; is_cut_off; ++n) {
    const Scope root = Scope::Root();
    const ops::Variable w(root.WithName("w"), Floats({3}, 1));
    MemoryFileSystem disk({.tracks_syncs = true});
    FailingFileSystem files(disk);
    Process process({.compute_threads = 1, .file_system = &files});
    Saver saver(root, options);
    const Output twice = ops::Assign(root, w, ops::Add(root, w, w));
    const Operation init = ops::GlobalVariablesInitializer(root);
    ASSERT_OK_AND_ASSIGN(const auto session,
                         Session::Connect("", root, {.process = &process}));
    ASSERT_OK(session->Run(init));
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = first_step}));
    ASSERT_OK(session->Run(twice));
    const int64_t before = files.num_operations();
    files.FailAllFrom(n, absl::InternalError("no power"));
    (void)saver.Save(*session, "/job/m", {.global_step = second_step});
    is_cut_off = files.num_operations() - before > n;
    disk.LosePower(*NewSeededRandom(static_cast<uint64_t>(n)));
    ASSERT_OK_AND_ASSIGN(const auto newest,
                         checkpoint::LatestCheckpoint(disk, "/job"));
    ASSERT_TRUE(newest.has_value()) << "operation " << n;
    ASSERT_OK_AND_ASSIGN(const auto reader,
                         checkpoint::BundleReader::Open(disk, *newest));
    ASSERT_OK_AND_ASSIGN(const Tensor stored,
                         reader->Read("w", HeapAllocator()));
    const bool is_old = SameBits(stored, Floats({3}, 1));
    EXPECT_TRUE(is_old || stored.flat<float>()[2] == 6) << "operation " << n;
    EXPECT_TRUE(!second_step || is_old == (*newest == "/job/m-1"));
    ++(is_old ? old_ones : new_ones);
  }
  EXPECT_GT(old_ones, 10);
  EXPECT_GT(new_ones, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Saves, SaverPowerTest,
    testing::Values(std::pair(true, std::optional<int64_t>(2)),
                    std::pair(true, std::optional<int64_t>()),
                    std::pair(false, std::optional<int64_t>(2)),
                    std::pair(false, std::optional<int64_t>())));

// As in TensorFlow, such a save is not counted, so no named checkpoint is
// deleted.
TEST_F(SaverTest, WithoutStateOldCheckpointsAreKept) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 2;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 1}));
  for (const int64_t step : {2, 3, 4}) {
    ASSERT_OK(saver.Save(*session, "/job/m",
                         {.global_step = step, .write_state = false}));
  }
  ASSERT_OK(saver.Save(
      *session, "/job/m",
      {.global_step = 5, .write_state = false, .write_meta_graph = false}));
  EXPECT_EQ(saver.LastCheckpoints(), (Paths{"/job/m-1"}));
  ASSERT_OK_AND_ASSIGN(const auto latest,
                       checkpoint::LatestCheckpoint(files_, "/job"));
  EXPECT_EQ(latest, "/job/m-1");
  for (const int64_t step : {1, 2, 3, 4, 5}) {
    EXPECT_OK(files_.FileExists(absl::StrCat("/job/m-", step, ".index")));
  }
}

// A graph that can't be written leaves no state that names the checkpoint.
TEST_F(SaverTest, WriteMetaGraphOptionIsHonored) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  Saver saver(root, Options());
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/a", {.write_meta_graph = false}));
  EXPECT_FALSE(files_.FileExists("/job/a.meta").ok());
  ASSERT_OK(files_.CreateDirectory("/job/b.meta"));
  EXPECT_THAT(saver.Save(*session, "/job/b"),
              StatusIs(absl::StatusCode::kFailedPrecondition, "/job/b.meta"));
  ASSERT_OK_AND_ASSIGN(const auto latest,
                       checkpoint::LatestCheckpoint(files_, "/job"));
  EXPECT_EQ(latest, "/job/a");
}

TEST_F(SaverTest, ZeroMaxToKeepKeepsAllCheckpoints) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 0;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  for (const int64_t step : {1, 2, 3}) {
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = step}));
  }
  EXPECT_EQ(Files().size(), 10u);
  EXPECT_EQ(saver.LastCheckpoints(), Paths());
  // Another saver that continues with them does not count either.
  Saver second(root, options);
  ASSERT_OK(second.RecoverLastCheckpoints(*session, {"/job/m-1", "/job/m-2"}));
  ASSERT_OK(second.Save(*session, "/job/m", {.global_step = 4}));
  EXPECT_EQ(Files().size(), 13u);
}

// As in TensorFlow, the state of a program that keeps all checkpoints still
// names the earlier ones. A later program with a limit deletes them.
TEST_F(SaverTest, StatePathsCountForLaterLimit) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  Saver five(root, options);
  options.max_to_keep = 0;
  Saver all(root, options);
  options.max_to_keep = 2;
  Saver two(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  const auto named = [&] {
    return checkpoint::ReadCheckpointState(files_, "/job")
        .value_or(checkpoint::CheckpointState())
        .all_model_checkpoint_paths;
  };
  const auto save = [&](Saver& saver, int64_t step) {
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = step}));
  };
  for (const int64_t step : {1, 2}) save(five, step);
  ASSERT_OK(all.RecoverLastCheckpoints(*session, named()));
  for (const int64_t step : {3, 4}) save(all, step);
  EXPECT_EQ(named(), (Paths{"/job/m-1", "/job/m-2", "/job/m-4"}));
  save(all, 1);
  EXPECT_EQ(named(), (Paths{"/job/m-2", "/job/m-1"}));
  save(all, 4);
  EXPECT_EQ(Files().size(), 13u);  // four, and the state
  ASSERT_OK(two.RecoverLastCheckpoints(*session, named()));
  save(two, 5);
  EXPECT_EQ(named(), (Paths{"/job/m-4", "/job/m-5"}));
  for (const int64_t step : {1, 2, 3, 4, 5}) {
    const bool is_there =
        files_.FileExists(absl::StrCat("/job/m-", step, ".index")).ok();
    EXPECT_EQ(is_there, step >= 3) << step;  // 3 was never named since
  }
}

// Checkpoints are counted, and old ones deleted, although what comes after a
// commit fails for a while: none is left behind for good.
TEST_F(SaverTest, ErrorsAfterCommitLeakNoCheckpoint) {
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options = Options();
  options.max_to_keep = 2;
  Saver saver(root, options);
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  const auto save = [&](int64_t step) {
    return saver.Save(*session, "/job/m", {.global_step = step}).status();
  };
  ASSERT_OK(save(1));
  ASSERT_OK(files_.CreateDirectory("/job/m-2.meta"));
  ASSERT_OK(files_.CreateDirectory("/job/m-3.meta"));
  EXPECT_FALSE(save(2).ok());
  EXPECT_FALSE(save(3).ok());
  // The state names it, so it is still there.
  ASSERT_OK_AND_ASSIGN(const auto latest,
                       checkpoint::LatestCheckpoint(files_, "/job"));
  EXPECT_EQ(latest, "/job/m-1");
  ASSERT_OK(save(4));
  EXPECT_EQ(saver.LastCheckpoints(), (Paths{"/job/m-3", "/job/m-4"}));
  EXPECT_FALSE(files_.FileExists("/job/m-1.index").ok());
  EXPECT_FALSE(files_.FileExists("/job/m-2.index").ok());
  EXPECT_FALSE(files_.FileExists("/job/m-2.data-00000-of-00001").ok());
  EXPECT_OK(files_.FileExists("/job/m-3.index"));
}

// Cleanup must not fail a save: a directory may be too long to list, or not
// readable.
TEST(SaverSweepTest, UnlistableDirectoryAcceptsSaves) {
  class Unlisted : public MemoryFileSystem {
   public:
    absl::StatusOr<std::vector<std::string>> ListDirectory(
        absl::string_view path) override {
      if (!is_listed) return absl::ResourceExhaustedError("too many names");
      return MemoryFileSystem::ListDirectory(path);
    }
    bool is_listed = false;
  } files;
  Process process({.compute_threads = 1, .file_system = &files});
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options;
  options.max_to_keep = 2;
  Saver saver(root, options);
  const auto session = InitializedSession(process, root);
  ASSERT_NE(session, nullptr);
  for (const int64_t step : {1, 2, 3, 4}) {
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = step}));
  }
  for (const std::string name : {"/job/m-1", "/job/m-2"}) {
    EXPECT_FALSE(files.FileExists(name + ".index").ok());
    EXPECT_FALSE(files.FileExists(name + ".data-00000-of-00001").ok());
  }
  EXPECT_OK(files.FileExists("/job/m-3.data-00000-of-00001"));
  files.is_listed = true;
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 5}));
  ASSERT_OK_AND_ASSIGN(const Paths left, files.ListDirectory("/job"));
  for (const std::string& name : left) {
    EXPECT_FALSE(absl::StartsWith(name, "m-1.") ||
                 absl::StartsWith(name, "m-2.") ||
                 absl::StartsWith(name, "m-3."))
        << name;
  }
}

// If the directory cannot be listed, only the index names the data of an old
// checkpoint.
TEST(SaverSweepTest, UnreadableIndexIsKeptForTheNextSave) {
  class FailsOnce : public MemoryFileSystem {
   public:
    absl::StatusOr<Paths> ListDirectory(absl::string_view) override {
      return absl::ResourceExhaustedError("too many names");
    }
    absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
        absl::string_view path) override {
      if (path == unreadable) {
        unreadable.clear();
        return absl::UnavailableError("503 Slow Down");
      }
      return MemoryFileSystem::NewRandomAccessFile(path);
    }
    std::string unreadable;
  } files;
  Process process({.compute_threads = 1, .file_system = &files});
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  SaverOptions options;
  options.max_to_keep = 1;
  Saver saver(root, options);
  const auto session = InitializedSession(process, root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 1}));
  files.unreadable = "/job/m-1.index";
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 2}));
  EXPECT_EQ(files.unreadable, "") << "it was not read";
  EXPECT_OK(files.FileExists("/job/m-1.index"));
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 3}));
  for (const std::string ending : {".index", ".meta", ".data-00000-of-00001"}) {
    EXPECT_FALSE(files.FileExists("/job/m-1" + ending).ok()) << ending;
  }
}

// Simulates a save that committed, but whose reply was lost.
class AnswerIsLost : public FailingFileSystem {
 public:
  using FailingFileSystem::FailingFileSystem;
  absl::Status RenameFile(absl::string_view from,
                          absl::string_view to) override {
    if (interrupts && absl::EndsWith(to, ".index")) {
      return absl::UnavailableError("the saving process is killed here");
    }
    RETURN_IF_ERROR(FailingFileSystem::RenameFile(from, to));
    if (!loses || !absl::EndsWith(to, ".index")) return absl::OkStatus();
    return absl::UnavailableError("the answer is lost");
  }
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override {
    if (path == "/job/checkpoint") RETURN_IF_ERROR(state_error);
    return FailingFileSystem::NewRandomAccessFile(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) override {
    if (!full_for.empty() && absl::StrContains(path, full_for)) {
      clock.Advance(absl::Minutes(16));  // a disk that is slow, too
      return absl::ResourceExhaustedError("the disk is full");
    }
    return FailingFileSystem::NewWritableFile(path);
  }
  absl::Status DeleteFile(absl::string_view path) override {
    if (keeps_marker && absl::EndsWith(path, ".saving")) {
      return absl::UnavailableError("the saving process is killed here");
    }
    return FailingFileSystem::DeleteFile(path);
  }
  bool loses = false;
  bool interrupts = false;
  bool keeps_marker = false;
  std::string full_for;      // files with that in their path
  ManualClock clock;         // of savers
  absl::Status state_error;  // error of reading the state
};

class SaverLostAnswerTest : public testing::Test {
 protected:
  // Savers add nodes, so that all are made before the session runs.
  SaverLostAnswerTest() {
    for (int i = 0; i < 8; ++i) {
      SaverOptions options;
      options.max_to_keep = i < 6 ? 5 : 0;
      options.name = absl::StrCat("save_", i);
      options.clock = &files_.clock;
      savers_.push_back(std::make_unique<Saver>(root_, options));
    }
    const Operation init = ops::GlobalVariablesInitializer(root_);
    auto session = Session::Connect("", root_, {.process = &process_});
    EXPECT_OK(session.status());
    session_ = *std::move(session);
    EXPECT_OK(session_->Run(init));
  }
  // A new process each time.
  Saver& NewSaver() { return *savers_[num_savers_++]; }
  Saver& NewSaverThatKeepsAll() { return *savers_[6 + num_that_keep_all_++]; }
  absl::Status Save(Saver& saver, int64_t step, bool write_state = true) {
    return saver
        .Save(*session_, "/job/m",
              {.global_step = step, .write_state = write_state})
        .status();
  }
  // Creates the state of step 1, and a checkpoint of step 2 whose reply was
  // lost.
  void LoseTheAnswerOf2(Saver& saver) {
    ASSERT_OK(Save(saver, 1));
    files_.loses = true;
    EXPECT_FALSE(Save(saver, 2).ok());
    files_.loses = false;
    ASSERT_OK(disk_.FileExists("/job/m-2.index"));
  }
  bool IsAnythingLeftOf2() {
    return !disk_.GetMatchingPaths("/job/m-2.*").value().empty();
  }

  MemoryFileSystem disk_;
  AnswerIsLost files_{disk_};
  Process process_{{.compute_threads = 1, .file_system = &files_}};
  Scope root_ = Scope::Root();
  ops::Variable w_{root_.WithName("w"), Floats({3}, 1)};
  int num_savers_ = 0;
  int num_that_keep_all_ = 0;
  std::vector<std::unique_ptr<Saver>> savers_;
  std::unique_ptr<Session> session_;
};

TEST_F(SaverLostAnswerTest, UncountedCheckpointIsDeleted) {
  Saver& saver = NewSaver();
  LoseTheAnswerOf2(saver);
  ASSERT_OK(Save(saver, 3));
  EXPECT_FALSE(IsAnythingLeftOf2());
  EXPECT_EQ(saver.LastCheckpoints(), (Paths{"/job/m-1", "/job/m-3"}));
  EXPECT_OK(disk_.FileExists("/job/m-1.index"));
}

TEST_F(SaverLostAnswerTest, NextProcessDeletesUncountedCheckpoint) {
  LoseTheAnswerOf2(NewSaver());
  Saver& next = NewSaver();
  ASSERT_OK(next.RecoverLastCheckpoints(*session_, {"/job/m-1"}));
  // The checkpoints named by the state are unknown for a while.
  files_.state_error = absl::UnavailableError("the state is away");
  EXPECT_THAT(Save(next, 3), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(IsAnythingLeftOf2());
  files_.state_error = absl::OkStatus();
  ASSERT_OK(Save(next, 3));
  EXPECT_FALSE(IsAnythingLeftOf2());
  EXPECT_OK(disk_.FileExists("/job/m-1.index"));
}

// Two saves are interrupted between their data and their index, and the data of
// each save has different names.
TEST_F(SaverLostAnswerTest, DataOfInterruptedSavesIsDeleted) {
  const auto save = [&](Saver& saver) {
    return saver.Save(*session_, "s3://bucket/job/m").status();
  };
  const auto num_data = [&] {
    const Paths names = disk_.ListDirectory("s3://bucket/job").value();
    return absl::c_count_if(names, [](const auto& name) {
      return absl::StrContains(name, ".data-");
    });
  };
  ASSERT_OK(save(NewSaver()));
  files_.interrupts = true;
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(save(NewSaver()).ok());
  files_.interrupts = false;
  Saver& next = NewSaver();
  ASSERT_OK(save(next));
  EXPECT_GT(num_data(), 1) << "those saves may still be running";
  files_.clock.Advance(absl::Minutes(16));
  ASSERT_OK(save(next));
  EXPECT_EQ(num_data(), 1);
  EXPECT_OK(next.Restore(*session_, "s3://bucket/job/m"));
}

// The disk has room for the checkpoint, and none for what names it.
TEST_F(SaverLostAnswerTest, UnnamedCheckpointIsDeletedAfterRecovery) {
  for (const std::string full_for : {"/job/checkpoint", ".meta"}) {
    for (const bool goes_on : {true, false}) {
      SCOPED_TRACE(absl::StrCat(full_for, goes_on));
      Saver& saver = NewSaver();
      ASSERT_OK(Save(saver, 1));
      files_.full_for = full_for;
      EXPECT_THAT(Save(saver, 2),
                  StatusIs(absl::StatusCode::kResourceExhausted));
      files_.full_for.clear();
      ASSERT_OK(disk_.FileExists("/job/m-2.index"));
      // After a lost session, training resumes from the checkpoint that the
      // state names.
      if (!goes_on) {
        ASSERT_OK(saver.RecoverLastCheckpoints(*session_, {"/job/m-1"}));
      }
      ASSERT_OK(Save(saver, 3));
      EXPECT_EQ(IsAnythingLeftOf2(), goes_on);
      EXPECT_EQ(saver.LastCheckpoints(),
                goes_on ? (Paths{"/job/m-1", "/job/m-2", "/job/m-3"})
                        : (Paths{"/job/m-1", "/job/m-3"}));
      ASSERT_OK(disk_.DeleteRecursively("/job"));
    }
  }
}

TEST_F(SaverLostAnswerTest, CheckpointSavedAgainIsKept) {
  for (const bool write_state : {true, false}) {
    Saver& saver = NewSaver();
    LoseTheAnswerOf2(saver);
    ASSERT_OK(Save(saver, 2, write_state));
    ASSERT_OK(Save(saver, 3));
    ASSERT_OK(Save(saver, 4));
    EXPECT_TRUE(IsAnythingLeftOf2()) << write_state;
    // Nor does another process.
    ASSERT_OK(Save(NewSaver(), 5));
    EXPECT_TRUE(IsAnythingLeftOf2()) << write_state;
    ASSERT_OK(disk_.DeleteRecursively("/job"));
  }
}

TEST_F(SaverLostAnswerTest, KeepAllSaverKeepsUncountedCheckpoint) {
  Saver& saver = NewSaverThatKeepsAll();
  LoseTheAnswerOf2(saver);
  ASSERT_OK(Save(saver, 3));
  ASSERT_OK(Save(NewSaverThatKeepsAll(), 4));
  EXPECT_TRUE(IsAnythingLeftOf2());
}

// The next program restores it, say, and saves without counting what was there.
TEST_F(SaverLostAnswerTest, CheckpointNamedByStateIsKept) {
  for (const bool is_killed : {false, true}) {
    Saver& saver = NewSaver();
    if (is_killed) {
      files_.keeps_marker = true;
    } else {
      LoseTheAnswerOf2(saver);
    }
    ASSERT_OK(Save(saver, 3));
    files_.keeps_marker = false;
    ASSERT_OK(disk_.FileExists("/job/m.saving"));
    Saver& next = NewSaver();
    for (const int64_t step : {4, 5, 6}) ASSERT_OK(Save(next, step));
    EXPECT_OK(disk_.FileExists("/job/m-3.index")) << is_killed;
    EXPECT_FALSE(IsAnythingLeftOf2());
    ASSERT_OK(disk_.DeleteRecursively("/job"));
  }
}

// A saver that keeps all has adopted it.
TEST_F(SaverLostAnswerTest, CheckpointAdoptedByKeepAllSaverIsKept) {
  files_.keeps_marker = true;
  ASSERT_OK(Save(NewSaver(), 1));
  ASSERT_OK(Save(NewSaverThatKeepsAll(), 2));
  files_.keeps_marker = false;
  Saver& next = NewSaver();
  for (const int64_t step : {3, 4}) ASSERT_OK(Save(next, step));
  EXPECT_OK(disk_.FileExists("/job/m-1.index"));
}

TEST_F(SaverLostAnswerTest, CheckpointNamedByAnotherFileIsKept) {
  files_.keeps_marker = true;
  ASSERT_OK(Save(NewSaver(), 1));
  files_.keeps_marker = false;
  Saver& best = NewSaver();
  const auto save = [&](int64_t step) {
    return best
        .Save(*session_, "/job/m",
              {.global_step = step, .latest_filename = "best"})
        .status();
  };
  for (const int64_t step : {2, 3}) ASSERT_OK(save(step));
  EXPECT_OK(disk_.FileExists("/job/m-1.index"));
  // A checkpoint that neither file names is deleted.
  files_.loses = true;
  EXPECT_FALSE(save(4).ok());
  files_.loses = false;
  ASSERT_OK(Save(NewSaver(), 5));
  EXPECT_FALSE(disk_.FileExists("/job/m-4.index").ok());
  EXPECT_OK(disk_.FileExists("/job/m-3.index"));
}

// If the state is unreadable, saves continue, and leftovers are kept.
TEST_F(SaverLostAnswerTest, UnreadableStateDoesNotBlockSaves) {
  for (const absl::Status& error : {absl::PermissionDeniedError("not yours"),
                                    absl::FailedPreconditionError("a folder"),
                                    absl::DataLossError("damaged")}) {
    Saver& saver = NewSaver();
    LoseTheAnswerOf2(saver);
    files_.state_error = error;
    ASSERT_OK(Save(saver, 3)) << error;
    files_.state_error = absl::OkStatus();
    ASSERT_OK(Save(saver, 4));
    EXPECT_TRUE(IsAnythingLeftOf2());
    ASSERT_OK_AND_ASSIGN(const auto latest,
                         checkpoint::LatestCheckpoint(disk_, "/job"));
    EXPECT_EQ(latest, "/job/m-4");
    ASSERT_OK(disk_.DeleteRecursively("/job"));
  }
}

// Deletions recorded by another process are not decided by another directory's
// state, and not forgotten.
TEST_F(SaverLostAnswerTest, DeletionInOtherDirectoryWaitsForItsState) {
  Saver& first = NewSaver();
  ASSERT_OK(Save(first, 1, /*write_state=*/false));
  ASSERT_OK(Save(first, 2));
  ASSERT_OK(disk_.WriteFileAtomically("/job/m.saving",
                                      "save 9\ndeleting m-1\ndeleting m-2\n"));
  Saver& next = NewSaver();
  files_.state_error = absl::UnavailableError("the state is away");
  EXPECT_THAT(Save(next, 3), StatusIs(absl::StatusCode::kUnavailable));
  for (const int64_t step : {7, 8}) {
    ASSERT_OK(next.Save(*session_, "/other/m", {.global_step = step}));
    EXPECT_OK(disk_.FileExists("/job/m-1.index"));
    EXPECT_OK(disk_.FileExists("/job/m-2.index"));
  }
  files_.state_error = absl::OkStatus();
  ASSERT_OK(Save(next, 3));
  EXPECT_FALSE(disk_.FileExists("/job/m-1.index").ok());
  EXPECT_OK(disk_.FileExists("/job/m-2.index"));
}

// A disk that makes a callback when the graph of a checkpoint is written.
class CallsAtGraph : public FailingFileSystem {
 public:
  using FailingFileSystem::FailingFileSystem;
  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) override {
    if (on_graph && absl::StrContains(path, ".meta")) {
      std::exchange(on_graph, nullptr)();
    }
    return FailingFileSystem::NewWritableFile(path);
  }
  std::function<void()> on_graph;
};

// A session that is lost may leave a save behind that still counts.
TEST(SaverTurnTest, RecoveryDoesNotDisturbRunningSave) {
  MemoryFileSystem disk;
  CallsAtGraph files(disk);
  Process process({.compute_threads = 1, .file_system = &files});
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({3}, 1));
  Saver saver(root);
  const auto session = InitializedSession(process, root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 1}));
  files.on_graph = [&] {
    EXPECT_OK(saver.RecoverLastCheckpoints(*session, {"/job/m-1"}));
  };
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 2}));
  EXPECT_EQ(files.on_graph, nullptr);
  EXPECT_EQ(saver.LastCheckpoints(), (Paths{"/job/m-1", "/job/m-2"}));
  EXPECT_OK(saver.RecoverLastCheckpoints(*session, {"/job/m-1"}));
  EXPECT_EQ(saver.LastCheckpoints(), (Paths{"/job/m-1"}));
}

// A sharded save that fails in the middle leaves shards, which the next one
// deletes before it begins.
TEST(SaverSweepTest, ShardsOfFailedSaveAreDeletedByNext) {
  MemoryFileSystem disk;
  FailingFileSystem files(disk);
  Process process({.compute_threads = 1, .file_system = &files});
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({3}, 1));
  SaverOptions options;
  options.sharded = true;
  Saver saver(root, options);
  const auto session = InitializedSession(process, root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 1}));
  int left = 0;
  for (int64_t n = 0; n < 30; ++n) {
    files.FailAllFrom(n, absl::InternalError("no disk"));
    const auto failed = saver.Save(*session, "/job/m", {.global_step = 2});
    files.Heal();
    if (failed.ok()) break;
    const auto num_folders = [&] {
      return disk.GetMatchingPaths("/job/m-2_temp*").value().size();
    };
    if (num_folders() > 0) ++left;
    ASSERT_OK(saver.Save(*session, "/job/m", {.global_step = 3}));
    EXPECT_EQ(num_folders(), 0u) << "operation " << n;
  }
  EXPECT_GT(left, 0);
}

// A disk whose power fails right before one of the syncs of a directory, which
// then succeeds, like one retried after a restart.
class PowerFailsBeforeSync : public FailingFileSystem {
 public:
  explicit PowerFailsBeforeSync(MemoryFileSystem& disk)
      : FailingFileSystem(disk), disk_(disk) {}

  // Before the `n`-th from now.
  void FailBefore(int n, uint64_t seed) {
    syncs_left_ = n;
    random_ = NewSeededRandom(seed);
  }
  absl::Status SyncDirectory(absl::string_view path) override {
    if (syncs_left_ >= 0 && syncs_left_-- == 0) disk_.LosePower(*random_);
    return FailingFileSystem::SyncDirectory(path);
  }
  void FailNoMore() { syncs_left_ = -1; }
  bool has_failed() const { return syncs_left_ < 0; }

 private:
  MemoryFileSystem& disk_;
  int syncs_left_ = -1;
  std::unique_ptr<Random> random_;
};

// Saves three times, keeping one checkpoint; `disturb` is called before the
// second save, and `after` afterwards. Returns the files in the directory at
// the end.
Paths AfterADisturbedSave(MemoryFileSystem& disk, FileSystem& files,
                          absl::FunctionRef<void()> disturb,
                          absl::FunctionRef<void()> after) {
  Process process({.compute_threads = 1, .file_system = &files});
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({3}, 1));
  SaverOptions options;
  options.sharded = true;
  options.max_to_keep = 1;
  Saver saver(root, options);
  const Operation init = ops::GlobalVariablesInitializer(root);
  const auto session = Session::Connect("", root, {.process = &process});
  EXPECT_OK(session.status());
  EXPECT_OK((*session)->Run(init));
  const auto save = [&](int64_t step) {
    return saver.Save(**session, "/job/m", {.global_step = step}).status();
  };
  EXPECT_OK(save(1));
  disturb();
  save(2).IgnoreError();
  after();
  EXPECT_OK(save(3));
  return disk.ListDirectory("/job").value();
}

// Returns the files that belong neither to the state nor to the newest
// checkpoint, of step 3, nor the marker.
Paths LeftBeside(const Paths& names) {
  Paths left;
  for (const std::string& name : names) {
    if (name != "checkpoint" && name != "m.saving" &&
        !absl::StartsWith(name, "m-3.")) {
      left.push_back(name);
    }
  }
  return left;
}

// An operation fails, and then the power: old checkpoints that come back, or
// parts of them, are deleted again.
TEST(SaverSweepTest, CheckpointsRevivedByPowerLossAreDeleted) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    bool has_failed = true;
    int64_t n = 0;
    for (; has_failed; ++n) {
      MemoryFileSystem disk({.tracks_syncs = true});
      FailingFileSystem files(disk);
      const std::unique_ptr<Random> random = NewSeededRandom(seed);
      int64_t before = 0;
      const Paths names = AfterADisturbedSave(
          disk, files,
          [&] {
            before = files.num_operations();
            files.FailOperation(n, absl::UnavailableError("no disk"));
          },
          [&] {
            has_failed = files.num_operations() - before > n;
            files.Heal();
            disk.LosePower(*random);
          });
      EXPECT_EQ(LeftBeside(names), Paths())
          << "seed " << seed << ", operation " << n;
    }
    EXPECT_GT(n, 20);
  }
}

TEST(SaverSweepTest, FilesRevivedBeforeSyncAreDeleted) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    bool has_failed = true;
    int n = 0;
    for (; has_failed; ++n) {
      MemoryFileSystem disk({.tracks_syncs = true});
      PowerFailsBeforeSync files(disk);
      const Paths names = AfterADisturbedSave(
          disk, files, [&] { files.FailBefore(n, seed); },
          [&] {
            has_failed = files.has_failed();
            files.FailNoMore();
          });
      EXPECT_EQ(LeftBeside(names), Paths())
          << "seed " << seed << ", sync " << n;
    }
    EXPECT_GT(n, 4);
  }
}

// Each task of the cluster writes its own variables.
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

// A saver that is not sharded has the session's task write: it is asked, too.
TEST(UnshardedSaverTest, WritingTaskIsAskedForFiles) {
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

// If no task can be asked, as in a graph of TensorFlow, the state does not name
// checkpoints that are not found.
TEST_F(SaverTest, StateOmitsCheckpointsNotFound) {
  MemoryFileSystem elsewhere;
  const Scope root = Scope::Root();
  const ops::Variable w(root.WithName("w"), Floats({2}, 1));
  const Output prefix =
      ops::PlaceholderWithDefault(root.WithName("prefix"), "m", PartialShape());
  const Node* save = root.AddNode(
      "SaveV2",
      {prefix, ops::Const(root, Tensor::Vector<std::string>({"w"})),
       ops::Const(root, Tensor::Vector<std::string>({""})), w},
      {{"dtypes", DataTypeVector{DT_FLOAT}}});
  const Output saved = ops::Identity(
      root.WithName("saved").WithControlDependencies({Operation(save)}),
      prefix);
  const Operation restore = ops::NoOp(root.WithName("restore"));
  SaverOptions options = Options();
  options.file_system = &elsewhere;
  ASSERT_OK_AND_ASSIGN(
      const auto saver,
      Saver::FromSaverDef(root,
                          {.filename_tensor_name = prefix.name(),
                           .save_tensor_name = saved.name(),
                           .restore_op_name = restore.name()},
                          options));
  const auto session = ConnectAndInitialize(root);
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(saver->Save(*session, "/job/m"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "this program does not find /job/m.index"));
  EXPECT_FALSE(elsewhere.FileExists("/job/checkpoint").ok());
  EXPECT_FALSE(elsewhere.FileExists("/job/m.meta").ok());
  EXPECT_OK(files_.FileExists("/job/m.index"));
}

// Its saver writes neither state nor graph, and performs no check.
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

// Shards on several disks could neither be merged nor restored.
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

// Each saver's marks are its own, although they go by the same name.
TEST_F(SaverTest, MarkOfAnotherSaverIsIgnored) {
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
}  // namespace weft
