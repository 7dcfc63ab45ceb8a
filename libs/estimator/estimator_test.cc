// Tests of the arguments of an Estimator, and of reading its directory.
// integration_tests train models.
#include "libs/estimator/estimator.h"

#include <string>

#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/estimator/experiment.h"
#include "libs/fs/memory_file_system.h"

namespace weft::estimator {
namespace {

using testing::HasSubstr;

absl::StatusOr<EstimatorSpec> Model(const Scope&, const ModelInput&) {
  return absl::UnimplementedError("no model");
}

class EstimatorArgumentsTest : public testing::Test {
 protected:
  EstimatorOptions Options(const std::string& model_dir = "/model") {
    EstimatorOptions options;
    options.model_dir = model_dir;
    options.file_system = &files_;
    options.logger = &logger_;
    return options;
  }
  static RunConfig Config(const std::string& task) {
    return ValueOf(RunConfig::FromTfConfig(
        R"({"cluster": {"chief": ["a:1"], "ps": ["b:2"], "worker": ["c:3"]},
            "task": )" +
            task + "}",
        {}));
  }

  MemoryFileSystem files_;
  RecordingLogger logger_;
};

TEST_F(EstimatorArgumentsTest, ModelFnIsRequired) {
  Estimator model(nullptr, Options());
  EXPECT_THAT(model.status(), StatusIs(kInvalid, "model_fn must be provided"));
  EXPECT_THAT(model.Train(nullptr), StatusIs(kInvalid, "model_fn"));
  EXPECT_THAT(model.Evaluate(nullptr), StatusIs(kInvalid, "model_fn"));
  EXPECT_THAT(model.GetVariableNames(), StatusIs(kInvalid, "model_fn"));
}

TEST_F(EstimatorArgumentsTest, ModelDirMayComeFromTheConfig) {
  RunConfig config;
  config.model_dir = "/shared";
  EXPECT_EQ(Estimator(Model, Options(""), config).model_dir(), "/shared");
  EXPECT_OK(Estimator(Model, Options("/shared"), config).status());
  EXPECT_THAT(Estimator(Model, Options("/other"), config).status(),
              StatusIs(kInvalid, "/other and /shared. Leave one out."));
}

TEST_F(EstimatorArgumentsTest, TemporaryModelDirIsLogged) {
  const Estimator model(Model, Options(""));
  EXPECT_OK(model.status());
  EXPECT_THAT(model.model_dir(), HasSubstr("weft_estimator_"));
  EXPECT_THAT(logger_.lines(),
              testing::ElementsAre(HasSubstr(model.model_dir())));
}

TEST_F(EstimatorArgumentsTest, ClusterNeedsAModelDir) {
  for (const char* task : {R"({"type": "worker", "index": 0})",
                           R"({"type": "evaluator", "index": 0})"}) {
    EXPECT_THAT(Estimator(Model, Options(""), Config(task)).status(),
                StatusIs(kInvalid, "in a cluster needs a model_dir"));
  }
}

TEST_F(EstimatorArgumentsTest, ConfigIsChecked) {
  RunConfig config;
  config.save_checkpoints_steps = 10;
  config.save_checkpoints_secs = 10;
  EXPECT_THAT(Estimator(Model, Options(), config).status(),
              StatusIs(kInvalid, "save_checkpoints_steps"));
}

TEST_F(EstimatorArgumentsTest, NamedEvaluationsHaveDirectories) {
  const Estimator model(Model, Options());
  EXPECT_EQ(model.eval_dir(), "/model/eval");
  EXPECT_EQ(model.eval_dir("test"), "/model/eval_test");
}

TEST_F(EstimatorArgumentsTest, ModelWithoutCheckpointIsReported) {
  const Estimator model(Model, Options());
  ASSERT_OK_AND_ASSIGN(const auto latest, model.LatestCheckpoint());
  EXPECT_EQ(latest, std::nullopt);
  EXPECT_THAT(model.GetVariableNames(),
              StatusIs(absl::StatusCode::kNotFound,
                       "There is no checkpoint in '/model'; train first"));
  EXPECT_THAT(model.GetVariableValue("w"),
              StatusIs(absl::StatusCode::kNotFound, "train first"));
}

TEST_F(EstimatorArgumentsTest, CopiesShareOneEstimator) {
  const Estimator model(Model, Options());
  const Estimator copy = model;  // NOLINT: the copy is what is tested
  EXPECT_EQ(&copy.model_dir(), &model.model_dir());
  EXPECT_EQ(&copy.environment().files, &files_);
}

// ---- Experiment ----

class LearnRunnerTest : public EstimatorArgumentsTest {
 protected:
  // Runs an Experiment with `config`; its Estimator has the config `its`.
  absl::Status Run(const RunConfig& config, const RunConfig& its,
                   const std::string& schedule = "") {
    return learn_runner::Run(
               [&](const RunConfig&,
                   const HParams&) -> absl::StatusOr<Experiment> {
                 return Experiment(
                     {.estimator = Estimator(Model, Options(""), its)});
               },
               config, {}, {.schedule = schedule})
        .status();
  }
  static RunConfig InModelDir(RunConfig config = {}) {
    config.model_dir = "/model";
    return config;
  }
};

TEST_F(LearnRunnerTest, ExperimentFnIsRequired) {
  EXPECT_THAT(learn_runner::Run(nullptr, InModelDir()).status(),
              StatusIs(kInvalid, "experiment_fn is missing"));
}

TEST_F(LearnRunnerTest, ModelDirIsRequired) {
  EXPECT_THAT(Run({}, {}), StatusIs(kInvalid, "Must specify `model_dir`"));
}

TEST_F(LearnRunnerTest, UnknownScheduleErrorListsAll) {
  EXPECT_THAT(Run(InModelDir(), InModelDir(), "training"),
              StatusIs(kInvalid,
                       "non-existent task training; there are: train, "
                       "evaluate, continuous_eval, "
                       "continuous_eval_on_train_data, train_and_evaluate, "
                       "continuous_train_and_eval, run_std_server, test."));
}

TEST_F(LearnRunnerTest, EstimatorMustHaveTheSameConfig) {
  RunConfig other = InModelDir();
  other.model_dir = "/other";
  EXPECT_THAT(Run(InModelDir(), other),
              StatusIs(kInvalid, "the Estimator has another one"));
  EXPECT_THAT(
      Run(InModelDir(Config(R"({"type": "chief", "index": 0})")), InModelDir()),
      StatusIs(kInvalid, "the Estimator has another one"));
}

TEST_F(LearnRunnerTest, HParamsReachTheExperiment) {
  double rate = 0;
  const auto result = learn_runner::Run(
      [&](const RunConfig&,
          const HParams& params) -> absl::StatusOr<Experiment> {
        rate = params.Get<double>("rate");
        return absl::UnimplementedError("no experiment");
      },
      InModelDir(), HParams({{"rate", 0.25}}));
  EXPECT_THAT(result.status(),
              StatusIs(absl::StatusCode::kUnimplemented, "no experiment"));
  EXPECT_EQ(rate, 0.25);
}

TEST_F(LearnRunnerTest, EvaluationNeedsACheckpoint) {
  EXPECT_THAT(Run(InModelDir(), InModelDir(), "evaluate"),
              StatusIs(absl::StatusCode::kNotFound,
                       "There is no checkpoint to evaluate in '/model'"));
}

TEST_F(LearnRunnerTest, ContinuousTrainAndEvalRejectsClusters) {
  const RunConfig worker =
      InModelDir(Config(R"({"type": "worker", "index": 0})"));
  EXPECT_THAT(Run(worker, worker, "continuous_train_and_eval"),
              StatusIs(kInvalid, "is for a program alone"));
}

TEST_F(LearnRunnerTest, ServerNeedsACluster) {
  EXPECT_THAT(Run(InModelDir(), InModelDir(), "run_std_server"),
              StatusIs(kInvalid, "A server needs a cluster"));
}

}  // namespace
}  // namespace weft::estimator
