// Tests Estimators that are exported as SavedModels, the predictions of these
// SavedModels, corrupt models, and invalid requests.
// (tensorflow_saved_models_test.py checks that TensorFlow reads them and
// predicts the same.)
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/fresh_folder.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/estimator/canned/canned.h"
#include "libs/estimator/estimator.h"
#include "libs/estimator/exporter.h"
#include "libs/estimator/inputs.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/sparse/sparse_ops.h"
#include "libs/ops/state/variable.h"
#include "libs/runtime/process/process.h"
#include "libs/tensor/buffer.h"
#include "libs/train/saved_model/saved_model.h"
#include "libs/train/saved_model/saved_model_builder.h"

namespace weft::estimator {
namespace {

using feature_column::CategoricalColumnWithVocabularyFile;
using feature_column::IndicatorColumn;
using feature_column::NumericColumn;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using train::SavedModel;

using Outputs = std::map<std::string, Tensor>;

class EstimatorExportTest : public ::testing::Test {
 protected:
  EstimatorExportTest() {
    EXPECT_OK(files_.CreateDirectories(folder_));
    EXPECT_OK(files_.WriteFileAtomically(vocabulary_, "Rome\nUlm\n"));
  }

  Estimator Model() {
    RunConfig config;
    config.model_dir = JoinPath(folder_, "model");
    config.session_config.process = &process_;
    LinearOptions options;
    options.feature_columns = {
        NumericColumn("age"),
        CategoricalColumnWithVocabularyFile("city", vocabulary_, 2)};
    options.estimator.logger = &logger_;
    return LinearClassifier(options, config);
  }
  static Outputs People() {
    return {{"age", Tensor::Vector<float>({25, 61})},
            {"city", Tensor::Vector<std::string>({"Ulm", "Rome"})}};
  }
  static train::SignatureInputs Asked() {
    const Outputs people = People();
    return {people.begin(), people.end()};
  }
  static InputFn Input(std::optional<int64_t> epochs) {
    return TensorInputFn(People(), Tensor::Vector<int64_t>({0, 1}),
                         {.batch_size = 2, .num_epochs = epochs});
  }
  Estimator Trained(int64_t steps = 3) {
    Estimator model = Model();
    EXPECT_OK(model.Train(Input({}), {.steps = steps}));
    return model;
  }
  static ServingInputReceiverFn Raw() {
    return BuildRawServingInputReceiverFn(
        {{"age", {DT_FLOAT, PartialShape({-1})}},
         {"city", {DT_STRING, PartialShape({-1})}}});
  }
  std::string Exported() {
    Estimator model = Trained();
    return model.ExportSavedModel(exports_, Raw()).value();
  }
  absl::StatusOr<std::unique_ptr<SavedModel>> Load(
      const std::string& path,
      const std::vector<std::string>& tags = {"serve"}) {
    train::SavedModelOptions options;
    options.tags = tags;
    options.session.process = &process_;
    return SavedModel::Load(path, options);
  }
  std::vector<std::string> Names(const std::string& directory) {
    return files_.ListDirectory(directory).value();
  }

  Process process_;
  LocalFileSystem files_;
  RecordingLogger logger_;
  const std::string folder_ = FreshFolder(files_);
  const std::string exports_ = JoinPath(folder_, "exports");
  const std::string vocabulary_ = JoinPath(folder_, "cities.txt");
};

TEST_F(EstimatorExportTest, ServedModelMatchesPredict) {
  Estimator model = Trained();
  PredictOptions whole;
  whole.yield_single_examples = false;
  ASSERT_OK_AND_ASSIGN(auto stream, model.Predict(Input(1), whole));
  ASSERT_OK_AND_ASSIGN(const auto predicted, stream->Next());
  ASSERT_OK_AND_ASSIGN(const std::string path,
                       model.ExportSavedModel(exports_, Raw()));
  // The SavedModel contains its own copy of the vocabulary and may be moved.
  ASSERT_OK(files_.DeleteFile(vocabulary_));
  const std::string moved = JoinPath(folder_, "moved");
  ASSERT_OK(files_.RenameFile(path, moved));
  ASSERT_OK_AND_ASSIGN(const auto served, Load(moved));
  ASSERT_OK_AND_ASSIGN(const Outputs outputs, served->Run("predict", Asked()));
  EXPECT_THAT(outputs, SizeIs(predicted->size()));
  for (const auto& [name, value] : *predicted) {
    EXPECT_TRUE(SameBits(outputs.at(name), value)) << name;
  }
}

// A classification signature accepts only a single string tensor of serialized
// Examples, so it is left out here.
TEST_F(EstimatorExportTest, UnservableOutputsAreSkippedAndLogged) {
  ASSERT_OK_AND_ASSIGN(const auto served, Load(Exported()));
  EXPECT_THAT(served->signatures(), SizeIs(1));
  EXPECT_TRUE(served->signatures().contains("predict"));
  bool is_said = false;
  for (const auto& line : logger_.lines()) {
    is_said = is_said || line.find(
                             "'classification' : Classification "
                             "signatures can only accept a "
                             "single tensor") != std::string::npos;
  }
  EXPECT_TRUE(is_said);
}

TEST_F(EstimatorExportTest, FilesMatchTensorFlow) {
  Estimator model = Trained();
  ExportSavedModelOptions options;
  options.assets_extra = {{"notes/readme.txt", vocabulary_}};
  ASSERT_OK_AND_ASSIGN(const std::string path,
                       model.ExportSavedModel(exports_, Raw(), options));
  EXPECT_THAT(Names(exports_), ElementsAre(std::string(Basename(path))));
  EXPECT_THAT(std::string(Basename(path)), SizeIs(10));
  EXPECT_THAT(Names(path), ElementsAre("assets", "assets.extra",
                                       "saved_model.pb", "variables"));
  EXPECT_THAT(Names(JoinPath(path, "variables")),
              ElementsAre("variables.data-00000-of-00001", "variables.index"));
  EXPECT_THAT(Names(JoinPath(path, "assets")), ElementsAre("cities.txt"));
  EXPECT_EQ(
      files_.ReadFile(JoinPath(path, "assets.extra/notes/readme.txt")).value(),
      "Rome\nUlm\n");
}

TEST_F(EstimatorExportTest, TextFormIsEquivalent) {
  Estimator model = Trained();
  ExportSavedModelOptions text;
  text.as_text = true;
  ASSERT_OK_AND_ASSIGN(const std::string path,
                       model.ExportSavedModel(exports_, Raw(), text));
  EXPECT_OK(files_.FileExists(JoinPath(path, "saved_model.pbtxt")));
  ASSERT_OK_AND_ASSIGN(const auto served, Load(path));
  ASSERT_OK_AND_ASSIGN(const auto binary, Load(Exported()));
  EXPECT_OK(served->Run("predict", Asked()));
  EXPECT_OK(binary->Run("predict", Asked()));
}

TEST_F(EstimatorExportTest, AnyCheckpointMayBeExported) {
  Estimator model = Trained(3);
  const std::string old = model.LatestCheckpoint().value().value();
  ASSERT_OK(model.Train(Input({}), {.steps = 4}));
  ExportSavedModelOptions options;
  options.checkpoint_path = old;
  ASSERT_OK_AND_ASSIGN(const std::string first,
                       model.ExportSavedModel(exports_, Raw(), options));
  ASSERT_OK_AND_ASSIGN(const std::string second,
                       model.ExportSavedModel(exports_, Raw()));
  EXPECT_NE(first, second) << "of the same second";
  const auto step_of = [&](const std::string& path) {
    const auto variables = checkpoint::BundleReader::Open(
        files_, JoinPath(path, "variables/variables"));
    return (*variables)
        ->Read("global_step", HeapAllocator())
        .value()
        .scalar<int64_t>();
  };
  EXPECT_EQ(step_of(first), 3);
  EXPECT_EQ(step_of(second), 7);
}

TEST_F(EstimatorExportTest, FailedExportLeavesNoFiles) {
  Estimator untrained = Model();
  EXPECT_THAT(
      untrained.ExportSavedModel(exports_, Raw()).status(),
      StatusIs(absl::StatusCode::kNotFound, "Couldn't find trained model at"));
  Estimator model = Trained();
  EXPECT_THAT(model.ExportSavedModel(exports_, nullptr).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "serving_input_receiver_fn must be defined"));
  EXPECT_THAT(model
                  .ExportSavedModel(exports_, BuildRawServingInputReceiverFn(
                                                  {{"age", {DT_FLOAT, {-1}}}}))
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Feature city is not in features"));
  ExportSavedModelOptions elsewhere;
  elsewhere.checkpoint_path = JoinPath(folder_, "model/none");
  EXPECT_THAT(model.ExportSavedModel(exports_, Raw(), elsewhere).status(),
              StatusIs(absl::StatusCode::kNotFound, "model/none"));
  ExportSavedModelOptions out;
  out.assets_extra = {{"../out.txt", vocabulary_}};
  EXPECT_THAT(
      model.ExportSavedModel(exports_, Raw(), out).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, "not a path within"));
  ASSERT_OK(files_.DeleteFile(vocabulary_));
  EXPECT_THAT(model.ExportSavedModel(exports_, Raw()).status(),
              StatusIs(absl::StatusCode::kNotFound, "cities.txt"));
  EXPECT_THAT(Names(exports_), IsEmpty());
}

TEST_F(EstimatorExportTest, UntrainedModelIsNotExported) {
  Estimator model = Trained();
  ExportSavedModelOptions options;
  options.checkpoint_path = JoinPath(folder_, "model/model.ckpt-0");
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition, "is of step 0");
  EXPECT_THAT(model.ExportSavedModel(exports_, Raw(), options).status(),
              refused);
  const auto exporter = LatestExporter("latest", Raw());
  const EvalMetrics metrics = {{"global_step", Tensor::Scalar<int64_t>(0)}};
  EXPECT_THAT(exporter
                  ->Export(model, exports_, options.checkpoint_path, metrics,
                           /*is_the_final_export=*/true)
                  .status(),
              refused);
  // The evaluator may call an exporter before the first training step. Then
  // nothing is exported, and there is no error.
  ASSERT_OK_AND_ASSIGN(
      const auto early,
      exporter->Export(model, exports_, options.checkpoint_path, metrics,
                       /*is_the_final_export=*/false));
  EXPECT_EQ(early, std::nullopt);
  options.allow_untrained = true;
  EXPECT_OK(model.ExportSavedModel(exports_, Raw(), options).status());
}

TEST_F(EstimatorExportTest, ExamplesAreParsed) {
  Estimator model = Trained();
  feature_column::ParseSpec spec;
  spec["age"] = feature_column::FixedLenFeature{{}, DT_FLOAT, std::nullopt};
  spec["city"] = feature_column::VarLenFeature{DT_STRING};
  ASSERT_OK_AND_ASSIGN(const std::string path,
                       model.ExportSavedModel(
                           exports_, BuildParsingServingInputReceiverFn(spec)));
  ASSERT_OK_AND_ASSIGN(const auto served, Load(path));
  std::vector<std::string> names;
  for (const auto& [name, signature] : served->signatures()) {
    names.push_back(absl::StrCat(name, " ", signature.method_name));
  }
  EXPECT_THAT(names,
              ElementsAre("classification tensorflow/serving/classify",
                          "predict tensorflow/serving/predict",
                          "regression tensorflow/serving/regress",
                          "serving_default tensorflow/serving/classify"));
  const auto bad = Tensor::Vector<std::string>({"no Example"});
  EXPECT_THAT(served->Run("serving_default", {{"inputs", bad}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// ---- Corrupt models, and invalid requests ----

TEST_F(EstimatorExportTest, CorruptModelsAreRejected) {
  const std::string path = Exported();
  const std::string pb = JoinPath(path, "saved_model.pb");
  const std::string whole = files_.ReadFile(pb).value();
  EXPECT_THAT(Load(folder_).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       "SavedModel file does not exist at"));
  EXPECT_THAT(Load(path, {"serve", "gpu"}).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       "MetaGraphDef associated with tags 'serve', 'gpu' could "
                       "not be found in SavedModel, with available tags "
                       "'[{'serve'}]'"));
  for (const size_t size : {whole.size() - 1, whole.size() / 2, size_t{1}}) {
    ASSERT_OK(files_.WriteFileAtomically(pb, whole.substr(0, size)));
    EXPECT_THAT(Load(path).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "saved_model.pb': Error parsing message"))
        << size;
  }
  ASSERT_OK(files_.WriteFileAtomically(pb, ""));
  EXPECT_THAT(Load(path).status(), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(files_.WriteFileAtomically(pb, whole));
  ASSERT_OK(files_.DeleteFile(JoinPath(path, "assets/cities.txt")));
  EXPECT_THAT(Load(path).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       "an asset of the SavedModel is missing"));
  ASSERT_OK(
      files_.WriteFileAtomically(JoinPath(path, "assets/cities.txt"), "Rome"));
  EXPECT_FALSE(Load(path).ok()) << "the vocabulary is too short";
  ASSERT_OK(files_.DeleteFile(JoinPath(path, "variables/variables.index")));
  EXPECT_THAT(Load(path).status(),
              StatusIs(absl::StatusCode::kNotFound, "variables are missing"));
}

TEST_F(EstimatorExportTest, InvalidRequestsAreExplained) {
  ASSERT_OK_AND_ASSIGN(const auto served, Load(Exported()));
  const auto with = [](const std::string& name, const Tensor& value) {
    train::SignatureInputs inputs = Asked();
    inputs[name] = value;
    return inputs;
  };
  const auto says = [&](const train::SignatureInputs& inputs,
                        const char* text) {
    EXPECT_THAT(served->Run("predict", inputs).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, text));
  };
  EXPECT_THAT(served->Run("classify", Asked()).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       "no signature 'classify'; there are: predict"));
  says({{"age", Tensor::Vector<float>({1})}}, "input 'city' is missing");
  says(with("name", Tensor::Scalar(1.0f)),
       "no input 'name'; there are: age, city");
  says(with("age", Tensor::Vector<int32_t>({1, 2})), "'age' is of type float");
  says(with("age", Tensor()), "'age' is of type float");
  says(with("age", Tensor::Scalar(1.0f)), "'age' has shape [?]");
  // A batch of another size is valid.
  says(with("age", Tensor::Vector<float>({1, 2, 3})), "");
  EXPECT_OK(served->Run("predict", Asked())) << "it is as good as before";
}

// ---- Without an Estimator ----

// A graph that computes w * x and reads the file `path`, without an Estimator.
struct Line {
  explicit Line(const std::string& path) {
    w = ops::Variable(root.WithName("w"), 3.0f);
    x = ops::Placeholder(root.WithName("x"), DT_FLOAT, {.shape = {-1}});
    y = ops::Mul(root, x, w.value());
    file = root.ToOutput(path, "file");
    text = root.AddOutput("ReadFile", {file});
  }
  train::SavedModelGraph Served(const std::vector<std::string>& tags) const {
    train::SavedModelGraph graph;
    graph.tags = tags;
    graph.signature_def_map["serving_default"] =
        train::PredictSignatureDef({{"x", x}}, {{"y", y}}).value();
    graph.assets = {file};
    return graph;
  }

  Scope root = Scope::Root();
  ops::Variable w;
  Output x, y, file, text;
};

TEST_F(EstimatorExportTest, GraphsShareVariablesButNotAssets) {
  const std::string other = JoinPath(folder_, "other/cities.txt");
  ASSERT_OK(files_.CreateDirectories(JoinPath(folder_, "other")));
  ASSERT_OK(files_.WriteFileAtomically(other, "Oslo\n"));
  const Line one(vocabulary_), two(other), again(vocabulary_);
  SessionOptions options;
  options.process = &process_;
  ASSERT_OK_AND_ASSIGN(const auto session,
                       Session::Connect("", one.root, options));
  ASSERT_OK(session->Run(one.w.initializer()));
  ASSERT_OK_AND_ASSIGN(const auto builder,
                       train::SavedModelBuilder::Create(files_, exports_));
  ASSERT_OK(builder->AddMetaGraphAndVariables(*session, one.root,
                                              one.Served({"serve"})));
  EXPECT_THAT(builder->AddMetaGraphAndVariables(*session, one.root,
                                                one.Served({"serve"})),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "has already been saved"));
  ASSERT_OK(builder->AddMetaGraph(two.root, two.Served({"serve", "two"})));
  ASSERT_OK(builder->AddMetaGraph(again.root, again.Served({"again"})));
  train::SavedModelGraph wrong = two.Served({"wrong"});
  wrong.assets = {two.x};
  EXPECT_THAT(builder->AddMetaGraph(two.root, wrong),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "a constant of one string, but x:0"));
  ASSERT_OK(builder->Save());
  EXPECT_THAT(Names(JoinPath(exports_, "assets")),
              ElementsAre("cities.txt", "cities.txt_1"));
  for (const std::vector<std::string>& tags :
       {std::vector<std::string>{"serve"}, {"two", "serve"}, {"again"}}) {
    ASSERT_OK_AND_ASSIGN(const auto served, Load(exports_, tags));
    ASSERT_OK_AND_ASSIGN(
        const Outputs outputs,
        served->Run("serving_default", {{"x", Tensor::Vector<float>({2})}}));
    EXPECT_EQ(outputs.at("y").flat<float>()[0], 6);
  }
}

// Exports the graph y = x w for a sparse matrix x.
TEST_F(EstimatorExportTest, SignaturesAcceptSparseInputs) {
  const Scope root = Scope::Root();
  const ops::Variable w(
      root.WithName("w"),
      Tensor::FromValues<float>(TensorShape({3, 1}), {1, 10, 100}));
  const ops::SparseOutputs x = {
      ops::Placeholder(root.WithName("i"), DT_INT64, {.shape = {-1, 2}}),
      ops::Placeholder(root.WithName("v"), DT_FLOAT, {.shape = {-1}}),
      ops::Placeholder(root.WithName("s"), DT_INT64, {.shape = {2}})};
  const Output y = ops::SparseTensorDenseMatMul(root, x.indices, x.values,
                                                x.shape, w.value());
  train::SavedModelGraph graph;
  graph.tags = {"serve"};
  graph.signature_def_map["serving_default"] = {
      {{"x", train::BuildTensorInfo(x)}},
      {{"y", train::BuildTensorInfo(y)}},
      std::string(train::kPredictMethodName)};
  SessionOptions options;
  options.process = &process_;
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Connect("", root, options));
  ASSERT_OK(session->Run(w.initializer()));
  ASSERT_OK_AND_ASSIGN(const auto builder,
                       train::SavedModelBuilder::Create(files_, exports_));
  ASSERT_OK(builder->AddMetaGraphAndVariables(*session, root, graph));
  ASSERT_OK(builder->Save());
  ASSERT_OK_AND_ASSIGN(const auto served, Load(exports_));
  const auto ask = [&](const train::SignatureInput& value) {
    return served->Run("serving_default", {{"x", value}});
  };
  const auto indices = [](std::initializer_list<int64_t> values) {
    return Tensor::FromValues<int64_t>(
        TensorShape({static_cast<int64_t>(values.size()) / 2, 2}), values);
  };
  const auto shape = Tensor::Vector<int64_t>({2, 3});
  const auto two = Tensor::Vector<float>({2, 3});
  ASSERT_OK_AND_ASSIGN(
      const Outputs outputs,
      ask(train::SparseTensorValue{indices({0, 2, 1, 0}), two, shape}));
  EXPECT_TRUE(SameBits(outputs.at("y"), Tensor::FromValues<float>(
                                            TensorShape({2, 1}), {200, 3})));
  const auto says = [&](const train::SignatureInput& value, const char* what) {
    EXPECT_THAT(ask(value).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, what));
  };
  says(two, "sparse input 'x' was given a dense value; give indices");
  says(train::SparseTensorValue{}, "a vector of float");
  says(train::SparseTensorValue{indices({0, 2}), two, shape}, "has 2 values");
  says(train::SparseTensorValue{indices({0, 2, 1, 3}), two, shape},
       "index 3 in row 1 of its indices, but dimension 1 has size 3");
  says(train::SparseTensorValue{indices({0, 2, -1, 0}), two, shape},
       "index -1");
  says(train::SparseTensorValue{indices({0, 2, 1, 0}), two,
                                Tensor::Vector<int64_t>({-2, 3})},
       "dense_shape [-2,3]");
  says(train::SparseTensorValue{Tensor(DT_INT64, TensorShape({2, 0})), two,
                                Tensor(DT_INT64, TensorShape({0}))},
       "dense_shape []");
}

// ---- Exporters ----

class ExporterTest : public EstimatorExportTest {
 protected:
  static EvalMetrics Loss(float loss) {
    return {{"loss", Tensor::Scalar(loss)}};
  }
  // Returns whether the exporter created an export.
  bool Exports(Exporter& exporter, Estimator& model, const EvalMetrics& metrics,
               bool is_final = false) {
    const auto made = exporter.Export(model, exports_, "", metrics, is_final);
    EXPECT_OK(made.status());
    return made.ok() && made->has_value();
  }
};

TEST_F(ExporterTest, LatestExporterKeepsTheNewest) {
  Estimator model = Trained();
  ExporterOptions options;
  options.exports_to_keep = 2;
  const auto exporter = LatestExporter("latest", Raw(), options);
  EXPECT_EQ(exporter->name(), "latest");
  ASSERT_OK(files_.CreateDirectories(JoinPath(exports_, "mine")));
  ASSERT_OK(files_.CreateDirectories(JoinPath(exports_, "123")));
  std::vector<std::string> made;
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto path,
                         exporter->Export(model, exports_, "", Loss(1), false));
    made.emplace_back(Basename(*path));
  }
  EXPECT_THAT(Names(exports_), ElementsAre("123", made[1], made[2], "mine"));
}

// An existing export has a timestamp in 2096, so the next one gets a larger
// timestamp.
TEST_F(ExporterTest, ClockSetBackStillExportsNewerVersion) {
  Estimator model = Trained();
  for (const char* name : {"4000000000", "9999999999"}) {
    ASSERT_OK(files_.CreateDirectories(JoinPath(exports_, name)));
  }
  ExporterOptions options;
  options.exports_to_keep = 1;
  const auto exporter = LatestExporter("latest", Raw(), options);
  ASSERT_OK_AND_ASSIGN(const auto path,
                       exporter->Export(model, exports_, "", Loss(1), false));
  EXPECT_EQ(path, JoinPath(exports_, "4000000001"));
  // Only one export is kept. Exports with a later timestamp belong to other
  // programs and are kept, too.
  EXPECT_THAT(Names(exports_), ElementsAre("4000000001", "9999999999"));
  ASSERT_OK(Load(*path));
}

TEST_F(ExporterTest, LeftoversOfKilledExportsExpireAfterADay) {
  Estimator model = Trained();
  const std::string running =
      absl::StrCat("temp-", absl::ToUnixSeconds(absl::Now()));
  for (const char* name : {running.c_str(), "temp-1000000000", "temp-mine"}) {
    ASSERT_OK(files_.CreateDirectories(JoinPath(exports_, name)));
  }
  ASSERT_OK(files_.WriteFileAtomically(
      JoinPath(exports_, "temp-1000000000/saved_model.pb"), "a part"));
  ASSERT_OK_AND_ASSIGN(const std::string path,
                       model.ExportSavedModel(exports_, Raw()));
  EXPECT_THAT(Names(exports_),
              ElementsAre(Basename(path), running, "temp-mine"));
}

TEST_F(ExporterTest, FinalExporterExportsOnlyAtTheEnd) {
  Estimator model = Trained();
  const auto exporter = FinalExporter("final", Raw());
  EXPECT_FALSE(Exports(*exporter, model, Loss(1)));
  EXPECT_TRUE(Exports(*exporter, model, Loss(1), /*is_final=*/true));
}

TEST_F(ExporterTest, BestExporterExportsOnlyImprovements) {
  Estimator model = Trained();
  const auto exporter = BestExporter(Raw());
  EXPECT_EQ(exporter->name(), "best_exporter");
  EXPECT_TRUE(Exports(*exporter, model, Loss(NAN))) << "the first";
  EXPECT_TRUE(Exports(*exporter, model, Loss(5)));
  EXPECT_FALSE(Exports(*exporter, model, Loss(5)));
  EXPECT_FALSE(Exports(*exporter, model, Loss(NAN)));
  EXPECT_FALSE(Exports(*exporter, model, Loss(7), /*is_final=*/true));
  EXPECT_TRUE(Exports(*exporter, model, Loss(4)));
}

TEST_F(ExporterTest, BestExporterResumesFromEarlierEvaluations) {
  Estimator model = Trained();
  ASSERT_OK_AND_ASSIGN(const EvalMetrics metrics, model.Evaluate(Input(1)));
  const float loss = metrics.at("loss").scalar<float>();
  const auto exporter = BestExporter(Raw());
  EXPECT_TRUE(Exports(*exporter, model, Loss(loss + 2))) << "the first";
  EXPECT_FALSE(Exports(*exporter, model, Loss(loss + 1)));
  EXPECT_TRUE(Exports(*exporter, model, Loss(loss / 2)));
}

// An Experiment's evaluator writes its evaluations to another directory, where
// BestExporter does not find them.
TEST_F(ExporterTest, BestExporterReportsMissingEvaluations) {
  Estimator model = Trained();
  ASSERT_OK_AND_ASSIGN(const EvalMetrics metrics,
                       model.Evaluate(Input(1), {.name = "continuous"}));
  const float loss = metrics.at("loss").scalar<float>();
  const auto warns = Contains(
      HasSubstr("Exporter 'best_exporter': no event file matches eval/"));
  BestExporterOptions options;
  options.event_file_pattern = "eval_continuous/*.tfevents.*";
  const auto there = BestExporter(Raw(), options);
  EXPECT_TRUE(Exports(*there, model, Loss(loss + 2))) << "the first";
  EXPECT_FALSE(Exports(*there, model, Loss(loss + 1)));
  EXPECT_THAT(logger_.lines(), Not(warns));
  const auto elsewhere = BestExporter(Raw());
  EXPECT_TRUE(Exports(*elsewhere, model, Loss(loss + 2)));
  EXPECT_TRUE(Exports(*elsewhere, model, Loss(loss + 1)));
  EXPECT_THAT(logger_.lines(), warns);
}

TEST_F(ExporterTest, InvalidOptionsAreRejected) {
  Estimator model = Trained();
  const auto says = [&](const std::shared_ptr<Exporter>& exporter,
                        const char* text) {
    EXPECT_THAT(
        exporter->Export(model, exports_, "", EvalMetrics(), true).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, text));
  };
  says(LatestExporter("", Raw()), "must have a name");
  says(LatestExporter("latest", nullptr), "serving_input_receiver_fn");
  ExporterOptions none;
  none.exports_to_keep = 0;
  says(LatestExporter("latest", Raw(), none), "must be a positive number");
  const auto best = BestExporter(Raw());
  EXPECT_TRUE(Exports(*best, model, Loss(1)));
  says(best, "no loss is found");
}

}  // namespace
}  // namespace weft::estimator
