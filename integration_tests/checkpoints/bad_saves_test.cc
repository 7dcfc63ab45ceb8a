// Tests invalid saves and unusual names: errors are clear, nothing is lost, and
// the next save succeeds.
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/path.h"
#include "libs/fs/posix_error.h"
#include "libs/runtime/process/process.h"

namespace weft {
namespace {

using train::Saver;
using train::SaverOptions;

// A file system with read-only directories. Simulated, because chmod does not
// restrict root, and tests often run as root.
class GuardedFileSystem : public MemoryFileSystem {
 public:
  void Guard(std::string directory) { guarded_ = std::move(directory); }

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) override {
    RETURN_IF_ERROR(Check("open", path));
    return MemoryFileSystem::NewWritableFile(path);
  }
  absl::Status CreateDirectory(absl::string_view path) override {
    // mkdir(2) checks for an existing name before permissions.
    if (MemoryFileSystem::FileExists(path).ok()) {
      return MemoryFileSystem::CreateDirectory(path);
    }
    RETURN_IF_ERROR(Check("mkdir", path));
    return MemoryFileSystem::CreateDirectory(path);
  }
  absl::Status DeleteFile(absl::string_view path) override {
    RETURN_IF_ERROR(Check("unlink", path));
    return MemoryFileSystem::DeleteFile(path);
  }
  absl::Status RenameFile(absl::string_view from,
                          absl::string_view to) override {
    RETURN_IF_ERROR(Check("rename", from));
    RETURN_IF_ERROR(Check("rename", to));
    return MemoryFileSystem::RenameFile(from, to);
  }

 private:
  absl::Status Check(absl::string_view action, absl::string_view path) const {
    if (guarded_.empty() || Dirname(path) != guarded_) return absl::OkStatus();
    return PosixError(EACCES, action, path);
  }

  std::string guarded_;
};

Tensor Floats(int64_t size, float first) {
  Tensor tensor(DT_FLOAT, {size});
  for (float& value : tensor.mutable_flat<float>()) value = first++;
  return tensor;
}

// Trains a counter and saves it. The test parameter says whether the save is
// sharded.
class BadSavesTest : public testing::TestWithParam<bool> {
 protected:
  static ProcessOptions InMemory(FileSystem& files) {
    ProcessOptions options;
    options.file_system = &files;
    return options;
  }

  BadSavesTest() : process_(InMemory(files_)) {
    w_ = ops::Variable(root_.WithName("w"), Floats(100, 0));
    step_ = ops::AssignAdd(root_, w_, Floats(100, 1));
  }
  SaverOptions Options() {
    SaverOptions options;
    options.file_system = &files_;
    options.sharded = GetParam();
    return options;
  }
  // Connects a session and initializes its variables. Must be called when the
  // graph is complete.
  void Connect() {
    const Operation init = ops::GlobalVariablesInitializer(root_);
    auto session = Session::Connect("", root_, {.process = &process_});
    ASSERT_OK(session);
    session_ = *std::move(session);
    ASSERT_OK(session_->Run(init));
  }
  absl::Status Train() { return session_->Run(Operation(step_)); }
  void ExpectValue(const Tensor& expected) {
    ASSERT_OK_AND_ASSIGN(const Tensor w, session_->Run(w_));
    EXPECT_TRUE(SameBits(w, expected));
  }
  // Returns all files below `directory`: their paths and their contents.
  std::map<std::string, std::string> Contents(const std::string& directory) {
    std::map<std::string, std::string> contents;
    const auto names = files_.ListDirectory(directory);
    EXPECT_OK(names);
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      const auto bytes = files_.ReadFile(JoinPath(directory, name));
      contents[name] = bytes.ok() ? *bytes : bytes.status().ToString();
    }
    return contents;
  }

  GuardedFileSystem files_;
  Process process_;
  const Scope root_ = Scope::Root();
  ops::Variable w_;
  Output step_;
  std::unique_ptr<Session> session_;
};

TEST_P(BadSavesTest, ReadOnlyDirectoryIsUnchanged) {
  Saver saver(root_, Options());
  ASSERT_NO_FATAL_FAILURE(Connect());
  ASSERT_OK(saver.Save(*session_, "/job/m", {.global_step = 1}));
  const auto before = Contents("/job");
  files_.Guard("/job");
  ASSERT_OK(Train());
  const auto failed = saver.Save(*session_, "/job/m", {.global_step = 2});
  EXPECT_THAT(failed, StatusIs(absl::StatusCode::kPermissionDenied, "/job/m"));
  EXPECT_THAT(failed, StatusIs(absl::StatusCode::kPermissionDenied,
                               "Permission denied"));
  EXPECT_EQ(Contents("/job"), before);
  EXPECT_EQ(saver.LastCheckpoints(), std::vector<std::string>{"/job/m-1"});
  // Training continues, and its checkpoints can be saved elsewhere or later.
  ASSERT_OK(Train());
  ASSERT_OK(saver.Save(*session_, "/other/m", {.global_step = 3}));
  files_.Guard("");
  ASSERT_OK(saver.Save(*session_, "/job/m", {.global_step = 3}));
  ASSERT_OK(saver.Restore(*session_, "/job/m-1"));
  ExpectValue(Floats(100, 0));
}

TEST_P(BadSavesTest, SaveBelowAFileFails) {
  Saver saver(root_, Options());
  ASSERT_NO_FATAL_FAILURE(Connect());
  ASSERT_OK(files_.CreateDirectories("/job"));
  ASSERT_OK(files_.WriteFileAtomically("/job/notes", "mine"));
  for (const char* prefix : {"/job/notes/m", "/job/notes/deeper/m"}) {
    EXPECT_THAT(saver.Save(*session_, prefix),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         "create directory /job/notes: File exists"));
  }
  EXPECT_EQ(Contents("/job"),
            (std::map<std::string, std::string>{{"notes", "mine"}}));
  // The directory "/job" is still usable, and so is the name "notes" for a
  // checkpoint.
  ASSERT_OK(saver.Save(*session_, "/job/notes"));
  EXPECT_EQ(files_.ReadFile("/job/notes").value(), "mine");
  EXPECT_OK(saver.Restore(*session_, "/job/notes"));
}

TEST_P(BadSavesTest, SaveOverADirectoryFails) {
  Saver saver(root_, Options());
  ASSERT_NO_FATAL_FAILURE(Connect());
  ASSERT_OK(saver.Save(*session_, "/job/old"));
  for (const std::string prefix : {"/job/m", "/job/n"}) {
    const std::string taken =
        prefix + (prefix == "/job/m" ? ".index" : ".data-00000-of-00001");
    ASSERT_OK(files_.CreateDirectories(taken + "/within"));
    EXPECT_THAT(saver.Save(*session_, prefix),
                StatusIs(absl::StatusCode::kFailedPrecondition, taken));
    EXPECT_OK(files_.FileExists(taken + "/within"));
    EXPECT_EQ(saver.LastCheckpoints(), std::vector<std::string>{"/job/old"});
    ASSERT_OK(files_.DeleteRecursively(taken));
  }
  ASSERT_OK(Train());
  ASSERT_OK(saver.Save(*session_, "/job/m"));
  ASSERT_OK(saver.Save(*session_, "/job/n"));
  ASSERT_OK(saver.Restore(*session_, "/job/old"));
  ExpectValue(Floats(100, 0));
}

// The index of one checkpoint is overwritten by that of another. The sizes
// match, so only the checksums show the difference.
TEST_P(BadSavesTest, MismatchedIndexAndDataAreDetected) {
  Saver saver(root_, Options());
  ASSERT_NO_FATAL_FAILURE(Connect());
  ASSERT_OK(saver.Save(*session_, "/job/a"));
  ASSERT_OK(Train());
  ASSERT_OK(saver.Save(*session_, "/job/b"));
  ASSERT_OK_AND_ASSIGN(const Tensor trained, session_->Run(w_));
  ASSERT_OK_AND_ASSIGN(const std::string index,
                       files_.ReadFile("/job/a.index"));
  ASSERT_OK(files_.WriteFileAtomically("/job/b.index", index));
  const absl::Status failed = saver.Restore(*session_, "/job/b");
  EXPECT_THAT(failed, StatusIs(absl::StatusCode::kDataLoss,
                               "/job/b.data-00000-of-00001, w"));
  EXPECT_THAT(failed,
              StatusIs(absl::StatusCode::kDataLoss, "Checksum does not match"));
  // The failed restore changed no variable, and the first checkpoint is intact.
  ExpectValue(trained);
  ASSERT_OK(saver.Restore(*session_, "/job/a"));
  ExpectValue(Floats(100, 0));
}

// The data file is shorter than the index states.
TEST_P(BadSavesTest, IndexOfLongerSaveIsDetected) {
  const ops::Variable longer(root_.WithName("longer"), Floats(5000, 7));
  SaverOptions all = Options();
  SaverOptions one = Options();
  one.var_list = {{"longer", w_}};
  Saver of_all(root_, all);
  Saver of_one(root_, one);
  ASSERT_NO_FATAL_FAILURE(Connect());
  ASSERT_OK(of_all.Save(*session_, "/job/all"));
  ASSERT_OK(of_one.Save(*session_, "/job/one"));
  ASSERT_OK_AND_ASSIGN(const std::string index,
                       files_.ReadFile("/job/all.index"));
  ASSERT_OK(files_.WriteFileAtomically("/job/one.index", index));
  EXPECT_THAT(of_all.Restore(*session_, "/job/one"),
              StatusIs(absl::StatusCode::kOutOfRange,
                       "/job/one.data-00000-of-00001 has 400 bytes"));
  ExpectValue(Floats(100, 0));
}

// Tensor names in a checkpoint and the names of its files may contain any
// bytes.
TEST_P(BadSavesTest, NamesMayContainAnyBytes) {
  const std::vector<std::string> names = {
      "spaces and\ttabs\n",      "a//b/../c",  "\xc3\xbc and \xe5\x90\x8d",
      "\x01\x7f\x80\xfe\xff",    "100% \"x\"", "m.index",
      std::string("zero\0x", 6), "w/.PART_0",  std::string(3000, 'n')};
  SaverOptions options = Options();
  std::vector<ops::Variable> variables;
  std::vector<Operation> cleared;
  for (size_t i = 0; i < names.size(); ++i) {
    variables.emplace_back(root_.WithName("v"),
                           Floats(3, static_cast<float>(10 * i)));
    options.var_list.emplace_back(names[i], variables.back());
    cleared.emplace_back(ops::AssignSub(root_, variables[i], variables[i]));
  }
  Saver saver(root_, options);
  const Operation clear = ops::Group(root_, cleared);
  ASSERT_OK(root_.status());
  ASSERT_NO_FATAL_FAILURE(Connect());
  const std::string prefix = "/job/\xff \"m\"\\ *[a]?\n\xc3\xbc";
  ASSERT_OK_AND_ASSIGN(const std::string path,
                       saver.Save(*session_, prefix, {.global_step = 5}));
  EXPECT_EQ(path, prefix + "-5");
  // Each function that searches a directory for checkpoints finds this
  // checkpoint.
  ASSERT_OK_AND_ASSIGN(const auto latest,
                       checkpoint::LatestCheckpoint(files_, "/job"));
  EXPECT_EQ(latest, path);
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       checkpoint::BundleReader::Open(files_, path));
  ASSERT_OK(session_->Run(clear));
  ASSERT_OK(saver.Restore(*session_, path));
  for (size_t i = 0; i < names.size(); ++i) {
    const Tensor expected = Floats(3, static_cast<float>(10 * i));
    ASSERT_OK_AND_ASSIGN(const Tensor stored,
                         reader->Read(names[i], HeapAllocator()));
    EXPECT_TRUE(SameBits(stored, expected)) << i;
    ASSERT_OK_AND_ASSIGN(const Tensor restored, session_->Run(variables[i]));
    EXPECT_TRUE(SameBits(restored, expected)) << i;
  }
}

std::string SaverName(const testing::TestParamInfo<bool>& sharded) {
  return sharded.param ? "Sharded" : "Whole";
}

INSTANTIATE_TEST_SUITE_P(Savers, BadSavesTest, testing::Bool(), SaverName);

}  // namespace
}  // namespace weft
