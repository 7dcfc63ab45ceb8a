// Tests Estimators that are trained by all tasks of a cluster. All tasks end,
// and the trained model equals that of a single process.
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/line_training.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/zmq/free_port.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/fs/path.h"
#include "libs/train/saved_model/saved_model.h"

namespace weft::estimator {
namespace {

using feature_column::BucketizedColumn;
using feature_column::CategoricalColumnWithHashBucket;
using feature_column::EmbeddingColumn;
using feature_column::NumericColumn;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Runs all tasks of a cluster like separate programs, but as threads of this
// process.
class EstimatorClusterTest : public TrainAndEvaluateTest {
 protected:
  using Jobs = std::map<std::string, int>;
  // Program runs one task with the given configuration.
  using Program = std::function<absl::Status(const RunConfig& config)>;

  RunConfig ConfigOf(const std::string& cluster, const std::string& type,
                     int index) {
    const std::string task =
        absl::StrCat("{\"type\": \"", type, "\", \"index\": ", index, "}");
    return RunConfig::FromTfConfig(absl::StrCat("{\"cluster\": ", cluster,
                                                ", \"task\": ", task, "}"),
                                   Config())
        .value();
  }
  static std::string FreeCluster(const Jobs& jobs) {
    std::vector<std::string> texts;
    for (const auto& [job, count] : jobs) {
      std::vector<std::string> addresses;
      for (int i = 0; i < count; ++i) {
        addresses.push_back(
            absl::StrCat("\"127.0.0.1:", *bus::FreePort(), "\""));
      }
      texts.push_back(absl::StrCat("\"", job, "\": [",
                                   absl::StrJoin(addresses, ", "), "]"));
    }
    return absl::StrCat("{", absl::StrJoin(texts, ", "), "}");
  }

  // Returns options with frequent heartbeats, so that tasks soon learn that a
  // job has finished.
  static TaskOptions Soon() {
    TaskOptions task;
    task.server_factory = [](TaskServerOptions options) {
      options.heartbeat_interval = absl::Milliseconds(20);
      return StartTaskServer(options);
    };
    return task;
  }

  // Starts the server of a coordinator task. The server outlives training runs.
  std::unique_ptr<TaskServer> StartCoordinator(const std::string& cluster) {
    TaskServerOptions options;
    options.cluster = ConfigOf(cluster, "worker", 0).cluster_spec;
    options.job_name = "coordinator";
    options.heartbeat_interval = absl::Milliseconds(20);
    return StartTaskServer(options).value();
  }

  // Runs `program` for each task of `jobs`, and optionally for an evaluator.
  // Returns when all tasks have ended. If there is a coordinator job, its
  // server runs until then.
  void RunAll(const Jobs& jobs, bool evaluator, const Program& program) {
    const std::string cluster = FreeCluster(jobs);
    std::unique_ptr<TaskServer> coordinator;
    std::vector<RunConfig> configs;
    for (const auto& [job, count] : jobs) {
      if (job == "coordinator") {
        coordinator = StartCoordinator(cluster);
        continue;
      }
      for (int i = 0; i < count; ++i) {
        configs.push_back(ConfigOf(cluster, job, i));
      }
    }
    if (evaluator) configs.push_back(ConfigOf(cluster, "evaluator", 0));
    SystemClock clock;
    const auto threads = NewThreadScheduler(clock, {.compute_threads = 1});
    for (const RunConfig& config : configs) {
      threads->Schedule(Pool::kUnbounded, [&program, &config] {
        EXPECT_OK(program(config)) << config.task_type << " " << config.task_id;
      });
    }
  }  // joins the threads

  int64_t Trained() {
    return Line().GetVariableValue("global_step")->scalar<int64_t>();
  }
};

TEST_F(EstimatorClusterTest, AllTasksEndWithTheTraining) {
  for (const Jobs& jobs : {Jobs{{"ps", 2}, {"worker", 2}},
                           Jobs{{"chief", 1}, {"ps", 1}, {"worker", 1}}}) {
    files_.DeleteRecursively(model_dir_).IgnoreError();
    exporter_->steps.clear();
    RunAll(jobs, true, [&](RunConfig config) -> absl::Status {
      config.save_checkpoints_steps = 50;
      Estimator model = Line(config);
      EvalSpec spec = Evaluation();
      if (config.task_type != "evaluator") spec.exporters.clear();
      return TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 100},
                              spec, Soon())
          .status();
    });
    EXPECT_GE(Trained(), 100);
    ASSERT_THAT(exporter_->steps, testing::Not(IsEmpty()));
    // Workers may take more steps than requested while the last checkpoint is
    // saved.
    EXPECT_GE(exporter_->steps.back(), 100) << "by the evaluator";
    EXPECT_TRUE(exporter_->is_final);
  }
}

// Two trainings use the same coordinator, which remembers the end of the first
// one. A parameter server of the second training must ignore that end.
TEST_F(EstimatorClusterTest, OneProgramTrainsTwice) {
  for (const Jobs& jobs :
       {Jobs{{"ps", 2}, {"worker", 2}},
        Jobs{{"chief", 1}, {"ps", 1}, {"worker", 2}},
        Jobs{{"coordinator", 1}, {"ps", 2}, {"worker", 2}},
        Jobs{{"chief", 1}, {"coordinator", 1}, {"ps", 1}, {"worker", 1}}}) {
    files_.DeleteRecursively(model_dir_).IgnoreError();
    RunAll(jobs, false, [&](RunConfig config) -> absl::Status {
      Estimator model = Line(config);
      EvalSpec spec = Evaluation();
      spec.exporters.clear();
      for (const int64_t max_steps : {50, 100}) {
        RETURN_IF_ERROR(
            TrainAndEvaluate(model,
                             {.input_fn = Points(), .max_steps = max_steps},
                             spec, Soon())
                .status());
      }
      return absl::OkStatus();
    });
    EXPECT_GE(Trained(), 100);
  }
}

// The input of the chief ends before the other worker may start, because the
// configuration delays its start.
TEST_F(EstimatorClusterTest, ChiefWaitsForDelayedWorkers) {
  RunAll({{"ps", 1}, {"worker", 2}}, false,
         [&](RunConfig config) -> absl::Status {
           config.save_checkpoints_steps = 1000;
           config.experimental_max_worker_delay_secs = 8;
           Estimator model = Line(config);
           EvalSpec spec = Evaluation();
           spec.exporters.clear();
           const int64_t steps = config.is_chief ? 20 : 400;
           return TrainAndEvaluate(model, {.input_fn = PointsTimes(steps)},
                                   spec, Soon())
               .status();
         });
  EXPECT_EQ(Trained(), 420);
}

TEST_F(EstimatorClusterTest, MasterTaskAlsoEvaluates) {
  RunAll({{"master", 1}, {"ps", 1}, {"worker", 1}}, false,
         [&](const RunConfig& config) -> absl::Status {
           Estimator model = Line(config);
           EvalSpec spec = Evaluation();
           if (config.task_type != "master") spec.exporters.clear();
           return TrainAndEvaluate(model,
                                   {.input_fn = Points(), .max_steps = 20},
                                   spec, Soon())
               .status();
         });
  ASSERT_THAT(exporter_->steps, testing::Not(IsEmpty()));
  EXPECT_EQ(exporter_->steps.back(), Trained());
}

// Turn orders two tasks with hooks: the steps with the hook AfterIt wait until
// a task with the hook MakesIt has made its first step.
class Turn {
 public:
  std::shared_ptr<train::SessionRunHook> AfterIt() {
    return std::make_shared<Wait>(*this);
  }
  std::shared_ptr<train::SessionRunHook> MakesIt() {
    return std::make_shared<Step>(*this);
  }

 private:
  class Wait : public train::SessionRunHook {
   public:
    explicit Wait(Turn& turn) : turn_(turn) {}
    absl::StatusOr<train::SessionRunArgs> BeforeRun(
        train::SessionRunContext&) override {
      // The timeout is only reached if the test fails.
      if (turn_.done_->WaitUntil(turn_.scheduler_.Now() + absl::Minutes(2))) {
        return train::SessionRunArgs();
      }
      return absl::InternalError("The other task has made no step.");
    }

   private:
    Turn& turn_;
  };
  class Step : public train::SessionRunHook {
   public:
    explicit Step(Turn& turn) : turn_(turn) {}
    absl::Status AfterRun(train::SessionRunContext&,
                          const train::SessionRunValues&) override {
      if (!turn_.done_->IsSet()) turn_.done_->Set();
      return absl::OkStatus();
    }

   private:
    Turn& turn_;
  };
  const train::DefaultScheduler scheduler_{nullptr};
  const std::unique_ptr<Event> done_ = scheduler_->NewEvent();
};

// A "master" task trains and evaluates. The summaries of its training are
// written by the first worker, in a separate event file.
TEST_F(EstimatorClusterTest, FirstWorkerWritesSummariesBesideMaster) {
  Turn turn;
  RunAll({{"master", 1}, {"ps", 1}, {"worker", 1}}, false,
         [&](RunConfig config) -> absl::Status {
           const bool is_master = config.task_type == "master";
           config.log_step_count_steps = 1;
           config.save_summary_steps = 1;
           Estimator model = Line(config);
           TrainSpec train = {.input_fn = Points(), .max_steps = 20};
           train.hooks = {is_master ? turn.AfterIt() : turn.MakesIt()};
           return TrainAndEvaluate(model, train, Evaluation(), Soon()).status();
         });
  int files_of_losses = 0, files_of_saves = 0;
  const auto names = files_.ListDirectory(model_dir_).value();
  for (const std::string& name : names) {
    if (!absl::StrContains(name, "tfevents")) continue;
    const std::string text =
        files_.ReadFile(JoinPath(model_dir_, name)).value();
    // Event files contain tags and checkpoint paths as plain text, so a search
    // finds them.
    const bool has_saves = absl::StrContains(text, "model.ckpt");
    const bool has_losses = absl::StrContains(text, "average_loss\x15");
    files_of_saves += has_saves;
    files_of_losses += has_losses;
    EXPECT_FALSE(has_saves && has_losses) << name;
  }
  EXPECT_EQ(files_of_losses, 1);
  EXPECT_EQ(files_of_saves, 1);
}

TEST_F(EstimatorClusterTest, WorkersStartDelayedByTheirIndex) {
  Turn turn;
  RunAll({{"chief", 1}, {"ps", 1}, {"worker", 2}}, false,
         [&](const RunConfig& config) -> absl::Status {
           if (config.task_type == "ps") return RunStdServer(config, Soon());
           ExperimentOptions options = {.estimator = Line(config),
                                        .train_input_fn = Points(),
                                        .eval_input_fn = PointsOnce(),
                                        .train_steps = 20};
           options.delay_workers_by_global_step = true;
           // Worker 0 starts at once. Worker 1 waits for step 5545, but
           // training ends before.
           if (config.task_type == "chief") {
             options.train_monitors = {turn.AfterIt()};
           } else if (config.task_id == 0) {
             options.train_monitors = {turn.MakesIt()};
           }
           return Experiment(std::move(options)).Train(Soon()).status();
         });
  EXPECT_GE(Trained(), 20);
}

TEST_F(EstimatorClusterTest, ExperimentRunsOnAllTasks) {
  RunAll({{"ps", 1}, {"worker", 2}}, true,
         [&](const RunConfig& config) -> absl::Status {
           return learn_runner::Run(
                      [&](const RunConfig& its,
                          const HParams&) -> absl::StatusOr<Experiment> {
                        return Experiment({.estimator = Line(its),
                                           .train_input_fn = Points(),
                                           .eval_input_fn = PointsOnce(),
                                           .train_steps = 20});
                      },
                      config, {}, {.task = Soon()})
               .status();
         });
  EXPECT_GE(Trained(), 20);
  EXPECT_TRUE(files_.FileExists(JoinPath(model_dir_, "eval_continuous")).ok());
}

TEST_F(EstimatorClusterTest, EarlyStopEndsAllTrainingTasks) {
  std::atomic<int> looked = 0;
  RunAll({{"ps", 2}, {"worker", 3}}, false,
         [&](const RunConfig& config) -> absl::Status {
           Estimator model = Line(config);
           // Only the chief evaluates the stop condition.
           const auto hook = MakeEarlyStoppingHook(
               model, [&] { return ++looked >= 5; }, {.run_every_steps = 1});
           return TrainAndEvaluate(model,
                                   {.input_fn = Points(), .hooks = {hook}},
                                   Evaluation(), Soon())
               .status();
         });
  EXPECT_EQ(looked, 5);
}

TEST_F(EstimatorClusterTest, WorkersWithoutParameterServersAreRejected) {
  RunConfig config = ConfigOf(FreeCluster({{"worker", 2}}), "worker", 1);
  Estimator model = Line(config);
  EXPECT_THAT(TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 1},
                               Evaluation())
                  .status(),
              StatusIs(kInvalid, "no job \"ps\", so they would share nothing"));
}

// Returns rows with all kinds of features. Each of the two shards has equally
// many rows with label 0 and label 1, so the model learns both labels,
// whichever worker takes the last steps.
InputFn People(const RunConfig& config) {
  const auto shard = config.InputShard();
  return DatasetInputFn(
      [shard](const Scope& scope) -> absl::StatusOr<ops::Dataset> {
        return ops::Dataset::FromTensorSlices(
                   scope,
                   {Tensor::Vector<float>({20, 30, 40, 50, 60, 70}),
                    Tensor::Vector<std::string>(
                        {"tailor", "cook", "cook", "smith", "tailor", ""}),
                    Tensor::Vector<int64_t>({0, 0, 1, 1, 1, 1})},
                   {"age", "job", "label"})
            .Shard(int64_t{shard.num_shards}, int64_t{shard.index})
            .Repeat()
            .Batch(2);
      },
      "label");
}

// Compares the training of a cluster with that of a single program.
class CannedClusterTest : public EstimatorClusterTest {
 protected:
  using Make = std::function<Estimator(const RunConfig& config)>;

  // Returns a configuration in which all runs start from the same values and
  // save only the first and the last step.
  static RunConfig Rarely(RunConfig config) {
    config.tf_random_seed = 1;
    config.save_checkpoints_steps = 1000;
    config.keep_checkpoint_max = 0;
    return config;
  }
  // Trains with two ps tasks and two workers. The second worker waits for the
  // first step of the chief, and the chief saves before that step. So the first
  // checkpoint contains the initial values.
  void TrainOnTwoServersAndTwoWorkers(const Make& make) {
    files_.DeleteRecursively(model_dir_).IgnoreError();
    Turn turn;
    RunAll({{"ps", 2}, {"worker", 2}}, false,
           [&](const RunConfig& config) -> absl::Status {
             if (config.task_type == "ps") return RunStdServer(config, Soon());
             Estimator model = make(Rarely(config));
             const auto hook =
                 config.is_chief ? turn.MakesIt() : turn.AfterIt();
             return TrainAsTask(model, People(config),
                                {.hooks = {hook}, .max_steps = 60}, Soon());
           });
  }

  float LossOf(Estimator& model, const std::string& checkpoint) {
    const auto metrics = model.Evaluate(
        People(Config()), {.steps = 3, .checkpoint_path = checkpoint});
    EXPECT_OK(metrics.status());
    return metrics.ok() ? metrics->at("average_loss").scalar<float>() : 0;
  }
  void ExpectThatItLearned(Estimator& model, const std::string& latest) {
    EXPECT_LT(LossOf(model, latest),
              LossOf(model, JoinPath(model_dir_, "model.ckpt-0")));
  }

  // Checks that `variables`, in the order of their creation, alternate between
  // two ps tasks. All other entries of the checkpoint are slots, which must be
  // on the task of their variable.
  void ExpectTurns(const std::string& checkpoint,
                   const std::vector<std::string>& variables) {
    ASSERT_OK_AND_ASSIGN(const auto reader,
                         checkpoint::BundleReader::Open(files_, checkpoint));
    std::vector<std::string> found;
    // A key names a whole tensor, or a slice. The key of a slice begins with
    // the name of its tensor and is skipped.
    EXPECT_OK(reader->ForEach(
        [&](absl::string_view key, const checkpoint::BundleEntry& entry) {
          if (!entry.slices.empty()) return absl::OkStatus();
          for (size_t i = variables.size(); i-- > 0;) {
            if (!absl::StrContains(key, variables[i])) continue;
            EXPECT_EQ(entry.shard, static_cast<int>(i % 2)) << key;
            found.push_back(variables[i]);
            return absl::OkStatus();
          }
          ADD_FAILURE() << "whose is " << key;
          return absl::OkStatus();
        }));
    for (const std::string& variable : variables) {
      EXPECT_THAT(found, Contains(variable));
    }
  }

  void ExpectThatItsExportPredictsTheSame(Estimator& model) {
    PredictOptions whole;
    whole.yield_single_examples = false;
    ASSERT_OK_AND_ASSIGN(auto stream, model.Predict(People(Config()), whole));
    ASSERT_OK_AND_ASSIGN(const auto predicted, stream->Next());
    ASSERT_OK_AND_ASSIGN(const std::string path,
                         model.ExportSavedModel(
                             JoinPath(model_dir_, "exports"),
                             BuildRawServingInputReceiverFn(
                                 {{"age", {DT_FLOAT, PartialShape({-1})}},
                                  {"job", {DT_STRING, PartialShape({-1})}}})));
    train::SavedModelOptions options;
    options.tags = {"serve"};
    options.session.process = &process_;
    ASSERT_OK_AND_ASSIGN(const auto served,
                         train::SavedModel::Load(path, options));
    ASSERT_OK_AND_ASSIGN(
        const auto outputs,
        served->Run(
            "predict",
            {{"age", Tensor::Vector<float>({20, 30})},
             {"job", Tensor::Vector<std::string>({"tailor", "cook"})}}));
    EXPECT_THAT(outputs, SizeIs(predicted->size()));
    for (const auto& [name, value] : *predicted) {
      EXPECT_TRUE(SameBits(outputs.at(name), value)) << name;
    }
  }

  void ExpectAllOf(const Make& make, std::vector<std::string> variables) {
    variables.insert(variables.begin(), "global_step");
    TrainOnTwoServersAndTwoWorkers(make);
    Estimator model = make(Config());
    EXPECT_GE(Trained(), 60);
    ASSERT_OK_AND_ASSIGN(const auto latest, model.LatestCheckpoint());
    ASSERT_TRUE(latest.has_value());
    ExpectThatItLearned(model, *latest);
    ExpectTurns(*latest, variables);
    ExpectThatItsExportPredictsTheSame(model);
  }
};

TEST_F(CannedClusterTest, EveryModelLearnsOnTwoServersAndTwoWorkers) {
  const auto age = NumericColumn(
      "age", {.normalizer_fn = [](const Scope& scope, const Output& years) {
        return ops::Div(scope, ops::Sub(scope, years, 45.0f), 20.0f);
      }});
  const auto job = CategoricalColumnWithHashBucket("job", 10);
  const FeatureColumns wide = {BucketizedColumn(NumericColumn("age"), {25, 45}),
                               job};
  const FeatureColumns deep = {age, EmbeddingColumn(job, 2)};
  EstimatorOptions quiet;
  quiet.logger = &logger_;
  const LinearOptions linear = {.feature_columns = wide, .estimator = quiet};
  const DnnOptions dnn = {
      .hidden_units = {4, 3}, .feature_columns = deep, .estimator = quiet};
  const DnnLinearCombinedOptions both = {.linear_feature_columns = wide,
                                         .dnn_feature_columns = deep,
                                         .dnn_hidden_units = {4},
                                         .estimator = quiet};
  const BaselineOptions baseline = {.estimator = quiet};
  const std::string kLinear = "linear/linear_model/";
  const std::vector<std::string> of_linear = {
      kLinear + "age_bucketized/weights", kLinear + "job/weights",
      kLinear + "bias_weights"};
  const std::string kTable =
      "dnn/input_from_feature_columns/input_layer/job_embedding/"
      "embedding_weights";
  const std::vector<std::string> of_dnn = {kTable,
                                           "dnn/hiddenlayer_0/kernel",
                                           "dnn/hiddenlayer_0/bias",
                                           "dnn/hiddenlayer_1/kernel",
                                           "dnn/hiddenlayer_1/bias",
                                           "dnn/logits/kernel",
                                           "dnn/logits/bias"};
  const std::vector<std::string> of_both = {kTable,
                                            "dnn/hiddenlayer_0/kernel",
                                            "dnn/hiddenlayer_0/bias",
                                            "dnn/logits/kernel",
                                            "dnn/logits/bias",
                                            of_linear[0],
                                            of_linear[1],
                                            of_linear[2]};
  const auto expect = [&](const char* name, const Make& make,
                          const std::vector<std::string>& variables) {
    SCOPED_TRACE(name);
    ExpectAllOf(make, variables);
  };
  using C = const RunConfig&;
  expect(
      "LinearClassifier", [&](C c) { return LinearClassifier(linear, c); },
      of_linear);
  expect(
      "LinearRegressor", [&](C c) { return LinearRegressor(linear, c); },
      of_linear);
  expect(
      "DnnClassifier", [&](C c) { return DnnClassifier(dnn, c); }, of_dnn);
  expect(
      "DnnClassifier of 3",
      [&](C c) { return DnnClassifier(dnn, c, {.n_classes = 3}); }, of_dnn);
  expect(
      "DnnRegressor", [&](C c) { return DnnRegressor(dnn, c); }, of_dnn);
  expect(
      "DnnLinearCombinedClassifier",
      [&](C c) { return DnnLinearCombinedClassifier(both, c); }, of_both);
  expect(
      "DnnLinearCombinedRegressor",
      [&](C c) { return DnnLinearCombinedRegressor(both, c); }, of_both);
  expect("BaselineClassifier",
         [&](C c) { return BaselineClassifier(baseline, c); },
         {"baseline/bias"});
  expect("BaselineRegressor",
         [&](C c) { return BaselineRegressor(baseline, c); },
         {"baseline/bias"});
}

// ---- synchronous training ----

// Builds a linear model of two features in float64, trained with
// SyncReplicasOptimizer.
EstimatorSpec SquaresModel(const Scope& scope, const ModelInput& input) {
  const auto weights = ops::Variable(scope.WithName("weights"),
                                     Tensor::Vector<double>({0.5, -0.25}));
  const auto bias = ops::Variable(scope.WithName("bias"), 0.125);
  const Output x = input.features.at("x").dense();
  const Output predicted =
      ops::Add(scope, ops::Sum(scope, ops::Mul(scope, x, weights), {1}), bias);
  EstimatorSpec spec;
  spec.loss = ops::Mean(
      scope, ops::Square(scope, ops::Sub(scope, predicted, input.labels)), {0});
  train::Momentum momentum(0.05, 0.9);
  const auto step = train::GetOrCreateGlobalStep(scope);
  const RunConfig& config = input.config;
  if (config.num_ps_replicas == 0) {
    spec.train_op = momentum.Minimize(scope, spec.loss, {.global_step = step});
    return spec;
  }
  train::SyncReplicasOptimizer sync(
      momentum, {.replicas_to_aggregate = config.num_worker_replicas,
                 .replica_index = config.InputShard().index});
  spec.train_op = sync.Minimize(scope, spec.loss, {.global_step = step});
  // Without initial tokens, workers compute no gradient twice that would be
  // dropped. So each batch leads to an update.
  spec.training_hooks = {
      sync.MakeSessionRunHook(config.is_chief, {.num_tokens = 0})};
  return spec;
}

constexpr int kRowsOfBatch = 8;

// Returns this task's half of the batch of each step.
InputFn SquaresInput(const RunConfig& config) {
  const auto shard = config.InputShard();
  return DatasetInputFn(
      [shard](const Scope& scope) -> absl::StatusOr<ops::Dataset> {
        std::vector<double> x, y;
        for (int i = 0; i < 40; ++i) {
          x.insert(x.end(), {(i * 7 % 40) / 40.0, (i * 13 % 40) / 40.0});
          y.push_back(2 * x[2 * i] - x[2 * i + 1] + 0.3 * (i % 3));
        }
        ASSIGN_OR_RETURN(const Tensor rows, Tensor::Vector<double>(x).Reshaped(
                                                TensorShape({40, 2})));
        return ops::Dataset::FromTensorSlices(
                   scope, {rows, Tensor::Vector<double>(y)}, {"x", "y"})
            .Repeat()
            .Shard(int64_t{shard.num_shards}, int64_t{shard.index})
            .Batch(int64_t{kRowsOfBatch / shard.num_shards});
      },
      "y");
}

TEST_F(EstimatorClusterTest, SynchronousWorkersMatchOneLargeBatch) {
  const auto train = [this](const RunConfig& config) -> absl::Status {
    if (config.task_type == "ps") return RunStdServer(config, Soon());
    EstimatorOptions options;
    options.logger = &logger_;
    Estimator model(SquaresModel, options, config);
    return TrainAsTask(model, SquaresInput(config), {.max_steps = 30}, Soon());
  };
  const auto values = [this] {
    Estimator model = Line();
    EXPECT_EQ(model.GetVariableValue("global_step")->scalar<int64_t>(), 30);
    std::vector<double> all;
    for (const char* name :
         {"weights", "bias", "weights/Momentum", "bias/Momentum"}) {
      const auto value = model.GetVariableValue(name);
      EXPECT_OK(value);
      if (!value.ok()) continue;
      const auto flat = value->flat<double>();
      all.insert(all.end(), flat.begin(), flat.end());
    }
    return all;
  };
  ASSERT_OK(train(Config()));
  const std::vector<double> one = values();
  ASSERT_OK(files_.DeleteRecursively(model_dir_));
  RunAll({{"ps", 2}, {"worker", 2}}, false, train);
  const std::vector<double> cluster = values();
  ASSERT_THAT(one, SizeIs(6));
  ASSERT_THAT(cluster, SizeIs(6));
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_NEAR(one[i], cluster[i], 1e-12) << i;
    EXPECT_NE(one[i], 0) << i;
  }
}

}  // namespace
}  // namespace weft::estimator
