// Tests how SavedModels are shown to users, and how users request predictions.
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

using ::testing::HasSubstr;

constexpr auto kNotFound = absl::StatusCode::kNotFound;

MATCHER_P(Answers, outputs, "") {
  if (!arg.ok()) {
    *result_listener << arg.status();
    return false;
  }
  return Json::parse(*arg)["outputs"] == Json::parse(outputs);
}

// Returns a graph whose signature squares its input if `op` is "Square", or
// negates it.
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

// Returns a graph whose signature parses Examples and returns "age". "age" is a
// float with the default 7, "job" is a required string, and "tags" is a list of
// integers.
std::string ParsingMetaGraph() {
  const auto constant = [](absl::string_view name, absl::string_view tensor) {
    return absl::StrCat(
        "node { name: '", name,
        "' op: 'Const' attr { key: 'value' value { tensor { ", tensor,
        " } } } attr { key: 'dtype' value { type: ",
        tensor.substr(tensor.find("DT_"), tensor.find(' ', tensor.find("DT_")) -
                                              tensor.find("DT_")),
        " } } }\n");
  };
  const auto key = [&](absl::string_view name) {
    return constant(absl::StrCat(name, "_key"),
                    absl::StrCat("dtype: DT_STRING tensor_shape { } "
                                 "string_val: '",
                                 name, "'"));
  };
  return absl::StrCat(
      "meta_graphs { meta_info_def { tags: 'serve' } graph_def {\n",
      "node { name: 'in' op: 'Placeholder' ",
      "attr { key: 'dtype' value { type: DT_STRING } } }\n", key("age"),
      key("job"), key("tags"),
      constant("none", "dtype: DT_STRING tensor_shape { dim { size: 0 } }"),
      constant("seven",
               "dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: 7"),
      "node { name: 'parse' op: 'ParseExample' input: 'in' input: 'none' ",
      "input: 'tags_key' input: 'age_key' input: 'job_key' input: 'seven' ",
      "input: 'none' attr { key: 'Nsparse' value { i: 1 } } ",
      "attr { key: 'Ndense' value { i: 2 } } ",
      "attr { key: 'sparse_types' value { list { type: DT_INT64 } } } ",
      "attr { key: 'Tdense' value { list { type: DT_FLOAT type: DT_STRING } } ",
      "} attr { key: 'dense_shapes' value { list { ",
      "shape { dim { size: 1 } } shape { } } } } }\n",
      "node { name: 'y' op: 'Identity' input: 'parse:3' ",
      "attr { key: 'T' value { type: DT_FLOAT } } } }\n",
      "signature_def { key: 'serving_default' value { ",
      "inputs { key: 'examples' value { name: 'in:0' dtype: DT_STRING } } ",
      "outputs { key: 'y' value { name: 'y:0' dtype: DT_FLOAT } } ",
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
    ASSIGN_OR_RETURN(Prediction prediction,
                     Ask(R"({"inputs": {"x": 3}})", std::move(flags)));
    return std::move(prediction.text);
  }
  absl::StatusOr<Prediction> Ask(const std::string& request,
                                 std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(),
                 {"predict", absl::StrCat("--model=", directory_), "--json=-"});
    ASSIGN_OR_RETURN(const Invocation invocation, ParseInvocation(flags, {}));
    return RunPredict(process_, directory_, invocation, request);
  }

  Process process_{{.compute_threads = 1}};
  LocalFileSystem files_;
  std::string directory_;
};

TEST_F(SavedModelCommandsTest, SingleGraphNeedsNoTags) {
  Write(MetaGraph("", "Square"));
  EXPECT_THAT(Predict(), Answers("9.0"));
  EXPECT_THAT(Predict({"--tag_set="}), Answers("9.0"));
  EXPECT_THAT(Predict({"--tag_set=serve"}), StatusIs(kNotFound, "'serve'"));
  Write(MetaGraph("tags: 'train'", "Square"));
  EXPECT_THAT(Predict(), Answers("9.0"));
  EXPECT_THAT(Predict({"--tag_set="}), StatusIs(kNotFound, "{'train'}"));
}

TEST_F(SavedModelCommandsTest, TagsSelectTheGraph) {
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

TEST_F(SavedModelCommandsTest, ParsedExampleFeaturesAreShown) {
  Write(ParsingMetaGraph());
  ASSERT_OK_AND_ASSIGN(const std::string json,
                       RunSavedModelShow(files_, directory_, Format::kJson));
  EXPECT_EQ(Json::parse(json)[0]["signatures"]["serving_default"]["features"],
            Json::parse(R"({"age": {"dtype": "float", "shape": [1],
                                    "default": [7.0]},
                            "job": {"dtype": "string", "shape": []},
                            "tags": {"dtype": "int64"}})"));
  ASSERT_OK_AND_ASSIGN(const std::string table,
                       RunSavedModelShow(files_, directory_, Format::kTable));
  EXPECT_THAT(table, HasSubstr("default [7.0]"));
  EXPECT_THAT(table, HasSubstr("[], required"));
  EXPECT_THAT(table, HasSubstr("any number"));
}

TEST_F(SavedModelCommandsTest, ExamplesAreCheckedAgainstFeatures) {
  Write(ParsingMetaGraph());
  ASSERT_OK_AND_ASSIGN(
      const Prediction prediction,
      Ask(R"({"examples": [{"age": 30.0, "job": "cook", "agee": 1}]})"));
  EXPECT_EQ(Json::parse(prediction.text)["predictions"],
            Json::parse("[[30.0]]"));
  EXPECT_THAT(
      prediction.warnings,
      testing::ElementsAre("the model has no feature \"agee\", and does "
                           "not look at it. Did you mean \"age\"?"));
  EXPECT_THAT(Ask(R"({"examples": [{"jop": "cook"}]})").status(),
              StatusIs(kInvalid, "Did you mean \"job\"?"));
  EXPECT_THAT(Ask(R"({"examples": [{"age": 30, "job": "cook"}]})").status(),
              StatusIs(kInvalid,
                       "a feature \"age\" in examples[0] that holds floats: "
                       "write 30.0, not 30"));
}

}  // namespace
}  // namespace weft::tools
