// Tests MetaGraphDefs. Those of TensorFlow 2.21 can be imported, restored and
// trained. Another program can continue training from those that Weft exports.
#include "libs/train/saving/meta_graph.h"

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/local_file_system.h"
#include "libs/runtime/process/process.h"
#include "libs/train/optimizers/global_step.h"
#include "nlohmann/json.hpp"
#include "schemas/tf/meta_graph.pb.h"
#include "schemas/tf/queue_runner.pb.h"
#include "schemas/tf/variable.pb.h"

namespace weft {
namespace {

using train::ExportMetaGraph;
using train::ImportMetaGraph;
using train::MetaGraph;
using train::MetaGraphFilename;
using train::ReadMetaGraph;
using train::Saver;
using Json = nlohmann::json;
using Strings = std::vector<std::string>;

constexpr char kFolder[] = "integration_tests/testdata/meta_graph/";

Tensor Matrix(const Json& values, int64_t columns) {
  Tensor tensor(DT_FLOAT,
                {static_cast<int64_t>(values.size()) / columns, columns});
  for (size_t i = 0; i < values.size(); ++i) {
    tensor.mutable_flat<float>()[i] = values[i].get<float>();
  }
  return tensor;
}

Strings NamesOf(const std::vector<ops::Variable>& variables) {
  Strings names;
  for (const ops::Variable& variable : variables) {
    names.push_back(variable.name());
  }
  return names;
}

class MetaGraphTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(
        const std::string text,
        files_.ReadFile(absl::StrCat(kFolder, "expected.json")));
    expected_ = Json::parse(text);
    const std::string test =
        testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = absl::StrCat(testing::TempDir(), "/meta_graph_",
                           absl::StrReplaceAll(test, {{"/", "_"}}));
    (void)files_.DeleteRecursively(folder_);
  }

  MetaGraph Recorded(const std::string& name) {
    const auto meta = ReadMetaGraph(files_, absl::StrCat(kFolder, name));
    EXPECT_OK(meta);
    return meta.ok() ? *meta : MetaGraph();
  }
  // Returns a separate session with initialized local variables.
  std::unique_ptr<Session> Connect(const Scope& scope) {
    const Operation init = ops::LocalVariablesInitializer(scope);
    auto session = Session::Connect("", scope, {.process = &process_});
    EXPECT_OK(session);
    if (!session.ok()) return nullptr;
    EXPECT_OK((*session)->Run(init));
    return *std::move(session);
  }
  // Expects the results that TensorFlow computes in training round `round`.
  // Round 0 starts from the checkpoint.
  void ExpectRound(Session& session, const std::string& name, int round,
                   const std::string& prefix = "") {
    Strings fetches;
    for (const Json& tensor : expected_[name]["tensors"]) {
      fetches.push_back(prefix + tensor.get<std::string>());
    }
    ASSERT_OK_AND_ASSIGN(
        const std::vector<Tensor> found,
        session.RunNamed(
            {{prefix + "x:0", Matrix(expected_["x"], 3)},
             {prefix + "labels:0", Matrix(expected_["labels"], 2)}},
            fetches, {}));
    for (size_t i = 0; i < found.size(); ++i) {
      const Json& values = expected_[name]["rounds"][round][i];
      ASSERT_EQ(found[i].num_elements(), static_cast<int64_t>(values.size()));
      for (size_t j = 0; j < values.size(); ++j) {
        const float value = values[j].get<float>();
        EXPECT_NEAR(found[i].flat<float>()[j], value, 1e-5f * std::abs(value))
            << fetches[i];
      }
    }
  }
  void Train(Session& session, const Operation& step,
             const std::string& prefix = "") {
    ASSERT_OK(session.RunNamed(
        {{prefix + "x:0", Matrix(expected_["x"], 3)},
         {prefix + "labels:0", Matrix(expected_["labels"], 2)}},
        {}, {step.name()}));
  }
  std::string ReadFile(const std::string& path) {
    return files_.ReadFile(path).value_or("not read");
  }

  LocalFileSystem files_;
  Process process_;
  Json expected_;
  std::string folder_;
};

class TensorFlowsMetaGraphTest
    : public MetaGraphTest,
      public testing::WithParamInterface<const char*> {};

TEST_P(TensorFlowsMetaGraphTest, RestoresAndResumesTraining) {
  const std::string name = GetParam();
  const std::string checkpoint = absl::StrCat(kFolder, name, "-3");
  const Scope root = Scope::Root();
  ASSERT_OK_AND_ASSIGN(const auto saver,
                       ImportMetaGraph(root, Recorded(name + "-3.meta")));
  ASSERT_NE(saver, nullptr);
  const auto session = Connect(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver->Restore(*session, checkpoint));
  ASSERT_NO_FATAL_FAILURE(ExpectRound(*session, name, 0));
  // Saving a restored TensorFlow checkpoint produces the same bytes.
  ASSERT_OK_AND_ASSIGN(const std::string saved,
                       saver->Save(*session, absl::StrCat(folder_, "/m")));
  for (const char* file : {".index", ".data-00000-of-00001"}) {
    EXPECT_EQ(ReadFile(saved + file), ReadFile(checkpoint + file)) << file;
  }
  const std::vector<Operation> train = root.GetOperations(collection::kTrainOp);
  ASSERT_EQ(train.size(), 2u);
  EXPECT_EQ(train[0].name(), "train");
  ASSERT_NO_FATAL_FAILURE(Train(*session, train[1]));
  ASSERT_NO_FATAL_FAILURE(ExpectRound(*session, name, 1));
  // Weft's .meta file can replace TensorFlow's.
  const Scope other = Scope::Root();
  ASSERT_OK_AND_ASSIGN(const MetaGraph ours,
                       ReadMetaGraph(files_, MetaGraphFilename(saved)));
  ASSERT_OK_AND_ASSIGN(const auto again, ImportMetaGraph(other, ours));
  const auto next = Connect(other);
  ASSERT_OK(again->Restore(*next, saved));
  ASSERT_NO_FATAL_FAILURE(ExpectRound(*next, name, 0));
}

// An imported saver of format V1 can restore. Its save node can also write
// format V1, but a Saver always writes format V2.
TEST_F(MetaGraphTest, SaverOfFormatV1Restores) {
  const std::string checkpoint = absl::StrCat(kFolder, "v1ckpt");
  const Scope root = Scope::Root();
  ASSERT_OK_AND_ASSIGN(const auto saver,
                       ImportMetaGraph(root, Recorded("v1ckpt.meta")));
  ASSERT_NE(saver, nullptr);
  EXPECT_TRUE(saver->def().writes_v1);
  const auto session = Connect(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver->Restore(*session, checkpoint));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> v,
                       session->RunNamed({}, {"v/Read/ReadVariableOp:0"}, {}));
  EXPECT_THAT(v[0].flat<float>(), testing::ElementsAre(1.5f, 2.5f));
  EXPECT_THAT(saver->Save(*session, absl::StrCat(folder_, "/m")),
              StatusIs(absl::StatusCode::kUnimplemented, "add another Saver"));
  const std::string path = absl::StrCat(folder_, "/v1");
  ASSERT_OK(
      session->RunNamed({{"save/Const:0", Tensor::Scalar<std::string>(path)}},
                        {"save/control_dependency:0"}, {}));
  ASSERT_OK(saver->Restore(*session, path));
}

INSTANTIATE_TEST_SUITE_P(Savers, TensorFlowsMetaGraphTest,
                         testing::Values("whole", "sharded"),
                         [](const auto& saver) { return saver.param; });

TEST_F(MetaGraphTest, CollectionsAreImportedIntoScope) {
  const Scope root = Scope::Root();
  ASSERT_OK_AND_ASSIGN(const auto saver,
                       ImportMetaGraph(root, Recorded("whole-3.meta")));
  EXPECT_EQ(NamesOf(ops::TrainableVariables(root)),
            (Strings{"w", "b", "table/part_0", "table/part_1"}));
  EXPECT_EQ(NamesOf(ops::GlobalVariables(root)),
            (Strings{"w", "b", "table/part_0", "table/part_1", "global_step",
                     "w/Momentum", "b/Momentum", "table/part_0/Momentum",
                     "table/part_1/Momentum", "w/ExponentialMovingAverage"}));
  EXPECT_EQ(NamesOf(ops::LocalVariables(root)), Strings{"seen"});
  EXPECT_EQ(train::GetGlobalStep(root).name(), "global_step");
  const ops::Variable w = ops::GlobalVariables(root)[0];
  EXPECT_FALSE(w.is_resource());
  EXPECT_TRUE(w.trainable());
  EXPECT_EQ(w.shape(), PartialShape({3, 2}));
  EXPECT_EQ(w.value().name(), "w/read:0");
  EXPECT_TRUE(ops::GlobalVariables(root)[1].is_resource());
  ASSERT_EQ(losses::GetLosses(root).size(), 1u);
  EXPECT_EQ(losses::GetLosses(root)[0].name(), "mean_squared_error/value:0");
  EXPECT_EQ(losses::GetRegularizationLosses(root)[0].name(),
            "w/Regularizer/mul:0");
  const train::SaverDef def = saver->def();
  EXPECT_EQ(def.max_to_keep, 7);
  EXPECT_EQ(def.keep_checkpoint_every_n_hours, 2.5f);
  EXPECT_EQ(def.restore_op_name, "save/restore_all");
}

// A new Saver over imported variables saves partitioned variables as slices of
// one tensor.
TEST_F(MetaGraphTest, ImportedVariablesAreSavedByANewSaver) {
  const Scope root = Scope::Root();
  ASSERT_OK(ImportMetaGraph(root, Recorded("whole-3.meta")).status());
  Saver saver(root, {.name = "ours"});
  ASSERT_OK(root.status());
  const auto session = Connect(root);
  ASSERT_OK(saver.Restore(*session, absl::StrCat(kFolder, "whole-3")));
  ASSERT_NO_FATAL_FAILURE(ExpectRound(*session, "whole", 0));
}

std::map<std::string, std::string> CollectionBytes(const MetaGraph& meta) {
  std::map<std::string, std::string> bytes;
  for (const auto& [name, def] : meta.message().collection_def()) {
    bytes[name] = def.SerializeAsString();
  }
  return bytes;
}

TEST_F(MetaGraphTest, CollectionsRoundTrip) {
  const MetaGraph meta = Recorded("whole-3.meta");
  const Scope root = Scope::Root();
  ASSERT_OK(ImportMetaGraph(root, meta).status());
  ASSERT_OK_AND_ASSIGN(const MetaGraph out, ExportMetaGraph(root));
  EXPECT_EQ(CollectionBytes(meta).size(), 19u);
  EXPECT_EQ(CollectionBytes(out), CollectionBytes(meta));
}

TEST_F(MetaGraphTest, SignaturesAndUnknownFieldsRoundTrip) {
  const std::string bytes = ReadFile(absl::StrCat(kFolder, "signatures.meta"));
  ASSERT_OK_AND_ASSIGN(const MetaGraph meta, MetaGraph::Parse(bytes));
  // Only the order of maps may differ.
  EXPECT_EQ(meta.Serialize().size(), bytes.size());
  EXPECT_EQ(meta.tags(), (Strings{"serve", "train"}));
  const Scope root = Scope::Root();
  ASSERT_OK_AND_ASSIGN(const auto saver, ImportMetaGraph(root, meta));
  ASSERT_OK_AND_ASSIGN(
      const MetaGraph out,
      ExportMetaGraph(root, {.saver_def = saver->def(), .from = &meta}));
  tf::MetaGraphDef expected = meta.message();
  tf::MetaGraphDef found = out.message();
  for (tf::MetaGraphDef* message : {&expected, &found}) {
    message->mutable_graph_def()->clear_node();
    message->mutable_meta_info_def()->clear_stripped_op_list();
    message->mutable_meta_info_def()->clear_tensorflow_git_version();
  }
  EXPECT_TRUE(MetaGraph(found).Serialize() == MetaGraph(expected).Serialize())
      << found.DebugString() << " | " << expected.DebugString();
}

TEST_F(MetaGraphTest, ImportScopePrefixesNames) {
  const MetaGraph meta = Recorded("whole-3.meta");
  const Scope root = Scope::Root();
  std::vector<std::unique_ptr<Saver>> savers;
  // The second import of the same graph gets unique names.
  for (const char* prefix : {"model", "model_1"}) {
    ASSERT_OK_AND_ASSIGN(
        auto saver, ImportMetaGraph(root, meta, {.import_scope = "model"}));
    EXPECT_EQ(saver->def().save_tensor_name,
              absl::StrCat(prefix, "/save/control_dependency:0"));
    savers.push_back(std::move(saver));
  }
  EXPECT_EQ(ops::TrainableVariables(root)[4].name(), "model_1/w");
  const auto session = Connect(root);
  for (const auto& saver : savers) {
    ASSERT_OK(saver->Restore(*session, absl::StrCat(kFolder, "whole-3")));
  }
  ASSERT_NO_FATAL_FAILURE(ExpectRound(*session, "whole", 0, "model/"));
  ASSERT_NO_FATAL_FAILURE(ExpectRound(*session, "whole", 0, "model_1/"));
  // Collections contain the current names of the nodes, not those before the
  // import.
  ASSERT_OK_AND_ASSIGN(const MetaGraph out, ExportMetaGraph(root));
  const auto& collections = out.message().collection_def();
  tf::QueueRunnerDef runner;
  const auto& runners = collections.at("queue_runners").bytes_list();
  ASSERT_EQ(runners.value_size(), 2);
  ASSERT_TRUE(runner.ParseFromString(runners.value(1)));
  EXPECT_EQ(runner.queue_name(), "model_1/queue");
  EXPECT_EQ(runner.enqueue_op_name(0), "model_1/put");
  for (const auto& [name, def] : collections) {
    for (const std::string& item : def.node_list().value()) {
      EXPECT_TRUE(absl::StartsWith(item, "model")) << name << ": " << item;
    }
  }
  EXPECT_EQ(collections.at("some_numbers").int64_list().value_size(), 4);
  const Scope again = Scope::Root();
  EXPECT_OK(ImportMetaGraph(again, out).status());
}

TEST_F(MetaGraphTest, InputsAreMapped) {
  const Scope root = Scope::Root();
  const Output x = ops::Const(root, Matrix(expected_["x"], 3));
  train::ImportMetaGraphOptions options;
  options.import_scope = "m";
  options.input_map = {{"x:0", x}};
  ASSERT_OK_AND_ASSIGN(
      const auto saver,
      ImportMetaGraph(root, Recorded("whole-3.meta"), options));
  const auto session = Connect(root);
  ASSERT_OK(saver->Restore(*session, absl::StrCat(kFolder, "whole-3")));
  ASSERT_OK_AND_ASSIGN(const auto y, session->RunNamed({}, {"m/y:0"}, {}));
  EXPECT_NEAR(y[0].flat<float>()[0],
              expected_["whole"]["rounds"][0][0][0].get<float>(), 1e-5);
  options.import_scope = "n";
  options.input_map = {{"none:0", x}};
  EXPECT_THAT(ImportMetaGraph(root, Recorded("whole-3.meta"), options).status(),
              StatusIs(kInvalid, "not found in graph_def: none:0"));
}

// Weft's builders create the same variables as the model recorded from
// TensorFlow.
TEST_F(MetaGraphTest, VariableDefsMatchTensorFlow) {
  const Scope root = Scope::Root();
  const ops::Initializer any = [](const Scope& scope, const TensorShape& shape,
                                  DataType, const ops::PartitionInfo*) {
    return ops::Const(scope, Tensor(DT_FLOAT, shape));
  };
  ops::GetVariable(root, "w", {3, 2},
                   {.initializer = any, .use_resource = false});
  ops::GetVariable(root, "b", {2}, {.initializer = any});
  ops::GetPartitionedVariable(root, "table", {5, 2},
                              {.initializer = any,
                               .partitioner = ops::FixedSizePartitioner(2),
                               .use_resource = false});
  ASSERT_OK_AND_ASSIGN(const MetaGraph ours, ExportMetaGraph(root));
  const std::string name(collection::kTrainableVariables);
  EXPECT_EQ(CollectionBytes(ours)[name],
            CollectionBytes(Recorded("whole-3.meta"))[name]);
}

TEST_F(MetaGraphTest, AnotherProgramResumesTraining) {
  const Tensor rows = Matrix(expected_["x"], 3);
  std::string path;
  std::vector<Tensor> losses;
  {
    const Scope root = Scope::Root();
    const Output x = ops::Const(root.WithName("rows"), rows);
    const ops::Variable w = ops::GetVariable(root, "w", {3, 1});
    const Output y = ops::MatMul(root.WithName("y"), x, w);
    losses::MeanSquaredError(root, ops::ZerosLike(root, y), y);
    train::Momentum momentum(0.1f, 0.9f);
    const ops::Variable step = train::GetOrCreateGlobalStep(root);
    const Operation train = momentum.Minimize(root, losses::GetTotalLoss(root),
                                              {.global_step = step});
    Saver saver(root, {.sharded = true});
    const Operation init = ops::GlobalVariablesInitializer(root);
    const auto session = Connect(root);
    ASSERT_NE(session, nullptr);
    ASSERT_OK(session->Run(init));
    ASSERT_OK(session->Run(train));
    ASSERT_OK_AND_ASSIGN(
        path, saver.Save(*session, folder_ + "/m", {.global_step = 1}));
    for (int i = 0; i < 3; ++i) {
      ASSERT_OK(session->Run(train));
      ASSERT_OK_AND_ASSIGN(Tensor loss,
                           session->Run(losses::GetLosses(root)[0]));
      losses.push_back(std::move(loss));
    }
  }
  const Scope root = Scope::Root();
  ASSERT_OK_AND_ASSIGN(const MetaGraph meta,
                       ReadMetaGraph(files_, MetaGraphFilename(path)));
  ASSERT_OK_AND_ASSIGN(const auto saver, ImportMetaGraph(root, meta));
  EXPECT_TRUE(saver->def().sharded);
  const auto session = Connect(root);
  ASSERT_NE(session, nullptr);
  ASSERT_OK(saver->Restore(*session, path));
  for (const Tensor& expected : losses) {
    ASSERT_OK(session->Run(root.GetOperations(collection::kTrainOp)[0]));
    ASSERT_OK_AND_ASSIGN(const Tensor loss,
                         session->Run(losses::GetLosses(root)[0]));
    EXPECT_TRUE(SameBits(loss, expected));
  }
  ASSERT_OK_AND_ASSIGN(const Tensor step,
                       session->Run(train::GetGlobalStep(root)));
  EXPECT_EQ(step.flat<int64_t>()[0], 4);
}

TEST_F(MetaGraphTest, GraphsWithoutSaverGetASaver) {
  const Scope root = Scope::Root();
  ops::GetVariable(root, "w", {2});
  ASSERT_OK_AND_ASSIGN(const MetaGraph meta, ExportMetaGraph(root));
  const Scope other = Scope::Root();
  ASSERT_OK_AND_ASSIGN(const auto saver, ImportMetaGraph(other, meta));
  ASSERT_NE(saver, nullptr);
  EXPECT_EQ(saver->def().save_tensor_name, "save/control_dependency:0");
  const Scope empty = Scope::Root();
  ops::Const(empty, 1.0f);
  ASSERT_OK_AND_ASSIGN(const MetaGraph without, ExportMetaGraph(empty));
  const Scope third = Scope::Root();
  ASSERT_OK_AND_ASSIGN(const auto none, ImportMetaGraph(third, without));
  EXPECT_EQ(none, nullptr);
}

}  // namespace
}  // namespace weft
