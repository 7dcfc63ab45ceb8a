#include "libs/train/saved_model/saved_model.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/failing_memory.h"
#include "libs/fs/memory_file_system.h"
#include "libs/ops/array/array_ops.h"
#include "libs/train/saved_model/saved_model_builder.h"
#include "libs/train/saved_model/saved_model_files.h"
#include "libs/train/saved_model/signature_def.h"
#include "schemas/tf/meta_graph.pb.h"
#include "schemas/tf/saved_model.pb.h"

namespace weft::train {
namespace {

using ::testing::ElementsAre;

class SavedModelTest : public ::testing::Test {
 protected:
  static tf::SavedModel WithTags(
      const std::vector<std::vector<std::string>>& graphs) {
    tf::SavedModel model;
    model.set_saved_model_schema_version(1);
    for (const auto& tags : graphs) {
      auto& info = *model.add_meta_graphs()->mutable_meta_info_def();
      for (const std::string& tag : tags) info.add_tags(tag);
    }
    return model;
  }
  void Write(const std::string& path, const std::string& content) {
    ASSERT_OK(files_.CreateDirectories("/m"));
    ASSERT_OK(files_.WriteFileAtomically(path, content));
  }
  absl::Status Read() { return ReadSavedModel(files_, "/m").status(); }

  MemoryFileSystem files_;
  Scope root_ = Scope::Root();
};

TEST_F(SavedModelTest, GraphsAreFoundByExactTagSet) {
  Write("/m/saved_model.pb",
        WithTags({{"serve"}, {"gpu", "serve"}, {}}).SerializeAsString());
  ASSERT_OK_AND_ASSIGN(const auto graphs, ReadSavedModel(files_, "/m"));
  const auto tags = [&](const std::vector<std::string>& wanted) {
    return FindMetaGraph(graphs, wanted).value().tags();
  };
  EXPECT_THAT(tags({"serve"}), ElementsAre("serve"));
  EXPECT_THAT(tags({"serve", "gpu"}), ElementsAre("gpu", "serve"));
  EXPECT_THAT(tags({}), ElementsAre());
  EXPECT_THAT(FindMetaGraph(graphs, {"gpu"}).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       "with available tags '[{'serve'}, {'gpu', 'serve'}"));
}

TEST_F(SavedModelTest, InvalidSavedModelIsRejected) {
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kNotFound,
                               "does not exist at: /m/{saved_model.pbtxt|"));
  Write("/m/saved_model.pbtxt", "meta_graphs { meta_info_def { tags: ");
  EXPECT_THAT(Read(), StatusIs(kInvalid, "/m/saved_model.pbtxt"));
  Write("/m/saved_model.pbtxt",
        "saved_model_schema_version: 1 meta_graphs { new_field: 1 }");
  EXPECT_OK(Read());
  Write("/m/saved_model.pb", "\xff\xff");
  EXPECT_THAT(Read(), StatusIs(kInvalid, "Cannot parse file"));
  tf::SavedModel newer = WithTags({{"serve"}});
  newer.set_saved_model_schema_version(2);
  Write("/m/saved_model.pb", newer.SerializeAsString());
  EXPECT_THAT(Read(),
              StatusIs(absl::StatusCode::kUnimplemented, "of version 2"));
}

TEST_F(SavedModelTest, ReadingFailsWhenOutOfMemory) {
  tf::SavedModel model = WithTags({{"serve"}, {"a_tag_that_is_not_short"}});
  auto& graph = *model.mutable_meta_graphs(0);
  (*graph.mutable_signature_def())["f"].set_method_name("a_long_method_name");
  Write("/m/saved_model.pb", model.SerializeAsString());
  ASSERT_OK(Read());
  absl::Status status = absl::UnknownError("nothing was read");
  for (int64_t nth = 1; !status.ok(); ++nth) {
    const FailingMemory failing(nth);
    status = Read();
    if (status.ok()) break;
    ASSERT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, "/m"));
  }
}

TEST_F(SavedModelTest, AssetPathsCannotLeaveDirectory) {
  tf::MetaGraphDef graph;
  WriteAssetFileDefs({{"a:0", "a.txt"}, {"b:0", "deep/b..txt"}}, &graph);
  ASSERT_OK_AND_ASSIGN(const auto assets, ReadAssetFileDefs(graph));
  ASSERT_EQ(assets.size(), 2u);
  EXPECT_EQ(assets[1].tensor_name, "b:0");
  EXPECT_EQ(assets[1].filename, "deep/b..txt");
  for (const char* name : {"", "/etc/passwd", "../a", "a/../../b", ".."}) {
    tf::MetaGraphDef bad;
    bad.add_asset_file_def()->set_filename(name);
    EXPECT_THAT(ReadAssetFileDefs(bad).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, "leads out"))
        << name;
  }
  (*graph.mutable_collection_def())["saved_model_assets"]
      .mutable_any_list()
      ->mutable_value(0)
      ->set_type_url("type.googleapis.com/tensorflow.GraphDef");
  EXPECT_THAT(
      ReadAssetFileDefs(graph).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, "not an AssetFileDef"));
}

TEST_F(SavedModelTest, SignaturesRoundTrip) {
  const Output x =
      ops::Placeholder(root_.WithName("x"), DT_STRING, {.shape = {-1, 2}});
  const Output scores = ops::Placeholder(root_.WithName("scores"), DT_FLOAT);
  ASSERT_OK_AND_ASSIGN(const SignatureDef made,
                       ClassificationSignatureDef(x, Output(), scores));
  tf::MetaGraphDef graph;
  WriteSignatureDef(made, &(*graph.mutable_signature_def())["f"]);
  ASSERT_OK_AND_ASSIGN(const auto read, ReadSignatureDefs(graph));
  const SignatureDef& signature = read.at("f");
  EXPECT_EQ(signature.method_name, "tensorflow/serving/classify");
  EXPECT_EQ(signature.inputs.at("inputs").name, "x:0");
  EXPECT_EQ(signature.inputs.at("inputs").dtype, DT_STRING);
  EXPECT_EQ(signature.inputs.at("inputs").shape, PartialShape({-1, 2}));
  EXPECT_FALSE(signature.outputs.at("scores").shape.has_rank());
  EXPECT_FALSE(signature.outputs.contains("classes"));
  (*(*graph.mutable_signature_def())["f"].mutable_inputs())["inputs"]
      .mutable_tensor_shape()
      ->mutable_dim(0)
      ->set_size(-7);
  EXPECT_THAT(ReadSignatureDefs(graph).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "signature 'f': tensor 'inputs'"));
}

TEST_F(SavedModelTest, InvalidSignaturesAreRejected) {
  const Output text = ops::Placeholder(root_.WithName("text"), DT_STRING);
  const Output number = ops::Placeholder(root_.WithName("number"), DT_DOUBLE);
  const auto says = [](const absl::StatusOr<SignatureDef>& signature,
                       const char* what) {
    EXPECT_THAT(signature.status(),
                StatusIs(absl::StatusCode::kInvalidArgument, what));
  };
  says(RegressionSignatureDef(number, number), "must be of type string");
  says(RegressionSignatureDef(text, number), "must be of type float");
  says(RegressionSignatureDef(text, Output()), "cannot be None");
  says(ClassificationSignatureDef(text, Output(), Output()),
       "cannot both be None");
  says(ClassificationSignatureDef(text, number, Output()),
       "classes must be of type string");
  says(PredictSignatureDef({}, {{"y", number}}), "cannot be None or empty");
  says(PredictSignatureDef({{"x", Output()}}, {{"y", number}}), "'x' is null");
}

TEST_F(SavedModelTest, NonEmptyDirectoryIsNotOverwritten) {
  Write("/m/notes.txt", "mine");
  EXPECT_THAT(SavedModelBuilder::Create(files_, "/m").status(),
              StatusIs(absl::StatusCode::kAlreadyExists, "isn't empty"));
  ASSERT_OK_AND_ASSIGN(const auto builder,
                       SavedModelBuilder::Create(files_, "/new/m"));
  EXPECT_THAT(builder->AddMetaGraph(root_, {.tags = {"serve"}}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "has not been saved yet"));
}

TEST_F(SavedModelTest, FilesOfAnySizeAreCopied) {
  for (const size_t size : {0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1}) {
    const std::string content(size, 'x');
    Write("/m/from", content);
    ASSERT_OK(CopyFile(files_, "/m/from", "/m/to"));
    EXPECT_EQ(files_.ReadFile("/m/to").value(), content) << size;
  }
  EXPECT_THAT(CopyFile(files_, "/m/none", "/m/to"),
              StatusIs(absl::StatusCode::kNotFound, "/m/none"));
}

}  // namespace
}  // namespace weft::train
