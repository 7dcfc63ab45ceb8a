// SavedModels as people see them and ask them.
#include "tools/cli/saved_model_commands.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "nlohmann/json.hpp"

namespace weft::tools {
namespace {

using Json = nlohmann::json;

constexpr auto kNotFound = absl::StatusCode::kNotFound;

MATCHER_P(Answers, outputs, "") {
  if (!arg.ok()) {
    *result_listener << arg.status();
    return false;
  }
  return Json::parse(*arg)["outputs"] == Json::parse(outputs);
}

// A graph whose signature multiplies by itself (`op` "Square") or negates.
std::string MetaGraph(const std::string& tags, const std::string& op,
                      const std::string& device = "") {
  const std::string type = "attr { key: 'T' value { type: DT_FLOAT } }";
  const auto info = [](absl::string_view which, absl::string_view name) {
    return absl::StrCat(which, " { key: '", name, "' value { name: '", name,
                        ":0' dtype: DT_FLOAT tensor_shape { unknown_rank: true "
                        "} } } ");
  };
  return absl::StrCat(
      "meta_graphs { meta_info_def { ", tags,
      " } graph_def { node { name: 'x' ",
      "op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } ",
      "node { name: 'y' op: '", op, "' input: 'x' ", type, " device: '", device,
      "' } } signature_def { key: 'serving_default' value { ",
      info("inputs", "x"), info("outputs", "y"),
      "method_name: 'tensorflow/serving/predict' } } }\n");
}

class SavedModelCommandsTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        JoinPath(testing::TempDir(),
                 testing::UnitTest::GetInstance()->current_test_info()->name());
    ASSERT_OK(files_.CreateDirectory(directory_));
  }
  void Write(const std::string& meta_graphs) {
    ASSERT_OK(files_.WriteFileAtomically(
        JoinPath(directory_, "saved_model.pbtxt"),
        absl::StrCat("saved_model_schema_version: 1\n", meta_graphs)));
  }
  absl::StatusOr<std::string> Predict(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(),
                 {"predict", absl::StrCat("--model=", directory_), "--json=-"});
    auto invocation = ParseInvocation(flags, {});
    if (!invocation.ok()) return invocation.status();
    return RunPredict(process_, directory_, *invocation,
                      R"({"inputs": {"x": 3}})");
  }

  Process process_{{.compute_threads = 1}};
  LocalFileSystem files_;
  std::string directory_;
};

TEST_F(SavedModelCommandsTest, TheOnlyGraphNeedsNoTags) {
  Write(MetaGraph("", "Square"));
  EXPECT_THAT(Predict(), Answers("9.0"));
  EXPECT_THAT(Predict({"--tag_set="}), Answers("9.0"));
  EXPECT_THAT(Predict({"--tag_set=serve"}), StatusIs(kNotFound, "'serve'"));
  Write(MetaGraph("tags: 'train'", "Square"));
  EXPECT_THAT(Predict(), Answers("9.0"));
  EXPECT_THAT(Predict({"--tag_set="}), StatusIs(kNotFound, "{'train'}"));
}

TEST_F(SavedModelCommandsTest, OfSeveralGraphsTheTagsDecide) {
  Write(MetaGraph("", "Square") + MetaGraph("tags: 'serve'", "Neg"));
  EXPECT_THAT(Predict(), Answers("-3.0"));
  EXPECT_THAT(Predict({"--tag_set=serve"}), Answers("-3.0"));
  EXPECT_THAT(Predict({"--tag_set="}), Answers("9.0"));
  Write(MetaGraph("", "Square") + MetaGraph("tags: 'train'", "Neg"));
  EXPECT_THAT(Predict(), StatusIs(kNotFound, "'serve'"));
}

TEST_F(SavedModelCommandsTest, DevicesAreCleared) {
  Write(MetaGraph("tags: 'serve'", "Square", "/job:nowhere"));
  EXPECT_THAT(Predict(), StatusIs(kInvalid, "nowhere"));
  EXPECT_THAT(Predict({"--clear_devices"}), Answers("9.0"));
}

}  // namespace
}  // namespace weft::tools
