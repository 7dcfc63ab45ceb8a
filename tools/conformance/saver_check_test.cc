// Tests that SaverCheck detects a wrong history.
#include "tools/conformance/saver_check.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/runtime/process/process.h"
#include "tools/conformance/weft_session_factory.h"

namespace weft::conformance {
namespace {

class SaverCheckTest : public ::testing::Test {
 protected:
  static ProcessOptions InMemory(FileSystem& files) {
    ProcessOptions options;
    options.file_system = &files;
    return options;
  }
  SaverCheckTest() : process_(InMemory(fs_)) {
    case_.max_to_keep = 1;
    case_.history = {Save(1, true), Save(2, false)};
  }

  static SaveSpec Save(int64_t step, bool has_graph) {
    const std::string name = absl::StrCat("model.ckpt-", step);
    SaveSpec save;
    save.global_step = step;
    save.files = {"checkpoint", name + ".data-00000-of-00001", name + ".index"};
    if (has_graph) save.files.push_back(name + ".meta");
    save.checkpoint_lines = {
        absl::StrCat("model_checkpoint_path: \"@tmp/", name, "\""),
        absl::StrCat("all_model_checkpoint_paths: \"@tmp/", name, "\"")};
    save.all_model_checkpoint_paths = {name};
    return save;
  }
  absl::Status Check() {
    EXPECT_OK(fs_.CreateDirectories("/scratch"));
    WeftSessionFactory factory(process_, /*target=*/"");
    const absl::Status status = CheckSaver(case_, "/scratch", fs_, factory);
    EXPECT_OK(fs_.DeleteRecursively("/scratch"));
    return status;
  }

  MemoryFileSystem fs_;
  Process process_;
  Case case_;
};

TEST_F(SaverCheckTest, MatchingHistoryPasses) { EXPECT_OK(Check()); }

TEST_F(SaverCheckTest, MismatchesAreNamed) {
  const auto unknown = absl::StatusCode::kUnknown;
  const std::vector<SaveSpec> right = case_.history;
  case_.history[1].files.pop_back();
  EXPECT_THAT(Check(), StatusIs(unknown, "after the save of step 2: files"));
  case_.history = right;
  case_.history[0].checkpoint_lines[0] += " ";
  EXPECT_THAT(Check(), StatusIs(unknown, "after the save of step 1: state"));
  case_.history = right;
  case_.history[1].all_model_checkpoint_paths.clear();
  EXPECT_THAT(Check(), StatusIs(unknown, "checkpoints that are kept"));
  case_.history = right;
  case_.max_to_keep = 2;
  EXPECT_THAT(Check(), StatusIs(unknown, "after the save of step 2"));
  case_.history.clear();
  EXPECT_THAT(Check(), StatusIs(unknown, "has no history"));
}

}  // namespace
}  // namespace weft::conformance
