// Tests complete runs of TrainAndEvaluate and Experiment in a single program:
// how training ends, and evaluators. (estimator_cluster_test covers clusters.)
#include "libs/estimator/train_and_evaluate.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/line_training.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/estimator/continuous_evaluation.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/path.h"
#include "libs/runtime/process/process.h"
#include "libs/summary/event.h"
#include "libs/summary/file_writer.h"

namespace weft::estimator {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// ---- a single program ----

TEST_F(TrainAndEvaluateTest, LocalRunEvaluatesAtTheEnd) {
  Estimator model = Line();
  ASSERT_OK_AND_ASSIGN(
      const auto result,
      TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 5},
                       Evaluation()));
  ASSERT_TRUE(result.metrics.has_value());
  EXPECT_EQ(StepOf(*result.metrics), 5);
  EXPECT_THAT(exporter_->steps, ElementsAre(2, 5))
      << "the first new one; ten minutes have not gone at step 4";
  EXPECT_TRUE(exporter_->is_final);
  EXPECT_EQ(exporter_->checkpoint_path, JoinPath(model_dir_, "model.ckpt-5"));
  EXPECT_EQ(exporter_->path, JoinPath(model_dir_, "export/recording"));
  EXPECT_THAT(result.exports, ElementsAre(JoinPath(exporter_->path, "1")));
}

TEST_F(TrainAndEvaluateTest, LocalRunEvaluatesEachDueCheckpoint) {
  Estimator model = Line();
  EvalSpec spec = Evaluation();
  spec.throttle_secs = 0;
  ASSERT_OK(
      TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 6}, spec));
  EXPECT_THAT(exporter_->steps, ElementsAre(2, 4, 6)) << "the first is of 0";
}

TEST_F(TrainAndEvaluateTest, FinishedTrainingIsEvaluated) {
  Estimator model = Line();
  ASSERT_OK(model.Train(Points(), {.steps = 3}));
  ASSERT_OK_AND_ASSIGN(
      const auto result,
      TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 3},
                       Evaluation()));
  ASSERT_TRUE(result.metrics.has_value());
  EXPECT_EQ(StepOf(*result.metrics), 3);
}

// The input is empty, like a CSV file with only a header.
TEST_F(TrainAndEvaluateTest, EmptyInputTrainsNoStep) {
  const InputFn nothing = PointsTimes(0);
  Estimator model = Line();
  ASSERT_OK(model.Train(nothing));
  ASSERT_OK(model.Evaluate(nothing));
  EXPECT_THAT(logger_.lines(),
              Contains(HasSubstr("W The input of the training ended before the "
                                 "first step")));
  EXPECT_THAT(logger_.lines(),
              Contains(HasSubstr("W The input of the evaluation has no")));
  EXPECT_THAT(TrainAndEvaluate(model, {.input_fn = nothing, .max_steps = 5},
                               Evaluation())
                  .status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "The training has ended at step 0"));
  EXPECT_THAT(exporter_->steps, IsEmpty());
}

TEST_F(TrainAndEvaluateTest, StopRequestSavesWithoutEvaluation) {
  RunConfig config = Config();
  config.save_checkpoints_steps = 1000;
  Estimator model = Line(config);
  int asked = 0;
  ASSERT_OK_AND_ASSIGN(
      const auto result,
      TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 1000000},
                       Evaluation(),
                       {.stop_requested = [&] { return ++asked > 10; }}));
  EXPECT_FALSE(result.metrics.has_value());
  EXPECT_THAT(exporter_->steps, IsEmpty());
  EXPECT_LT(model.GetVariableValue("global_step")->scalar<int64_t>(), 1000);
}

// A file system that is unavailable or full makes an evaluation or export fail,
// but does not end training.
TEST_F(TrainAndEvaluateTest, TransientEvaluationErrorsAreTolerated) {
  for (const absl::Status& error : {absl::UnavailableError("files are gone"),
                                    absl::DeadlineExceededError("no answer"),
                                    absl::ResourceExhaustedError("no space")}) {
    files_.DeleteRecursively(model_dir_).IgnoreError();
    exporter_->steps.clear();
    exporter_->errors = {error, absl::OkStatus(), error};
    EvalSpec spec = Evaluation();
    spec.throttle_secs = 0;
    Estimator model = Line();
    ASSERT_OK_AND_ASSIGN(
        const auto result,
        TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 6}, spec));
    EXPECT_THAT(exporter_->steps, ElementsAre(2, 4, 6, 6));
    EXPECT_EQ(StepOf(*result.metrics), 6);
    EXPECT_THAT(result.exports, SizeIs(1));
    EXPECT_THAT(logger_.lines(),
                Contains(HasSubstr(std::string(error.message()))).Times(2));
  }
}

// After the last evaluation, failed exports are retried. Exports that succeeded
// are not repeated.
TEST_F(TrainAndEvaluateTest, OnlyFailedExportsAreRetried) {
  const auto other = std::make_shared<RecordingExporter>("other");
  other->errors = {absl::OkStatus(), absl::UnavailableError("away")};
  int evaluations = 0;
  EvalSpec spec = Evaluation();
  spec.exporters.push_back(other);
  spec.input_fn = [&](const Scope& scope) {
    ++evaluations;
    return PointsOnce()(scope);
  };
  Estimator model = Line();
  ASSERT_OK_AND_ASSIGN(
      const auto result,
      TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 4}, spec));
  EXPECT_THAT(exporter_->steps, ElementsAre(2, 4));
  EXPECT_THAT(other->steps, ElementsAre(2, 4, 4));
  EXPECT_THAT(result.exports, SizeIs(2));
  EXPECT_EQ(evaluations, 2);
}

TEST_F(TrainAndEvaluateTest, OutOfRangeInEvaluationIsNotEndOfInput) {
  EvalSpec spec = Evaluation();
  spec.throttle_secs = 0;
  exporter_->errors = {absl::OutOfRangeError("a file is cut off")};
  Estimator model = Line();
  EXPECT_THAT(
      TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 6}, spec)
          .status(),
      StatusIs(absl::StatusCode::kDataLoss, "a file is cut off"));
  exporter_->errors = {absl::InternalError("a mistake")};
  Estimator other = Line();
  EXPECT_THAT(
      TrainAndEvaluate(other, {.input_fn = Points(), .max_steps = 6}, spec)
          .status(),
      StatusIs(absl::StatusCode::kInternal, "a mistake"));
}

// A file system on which events of evaluations cannot be written.
class WithoutEvaluations : public MemoryFileSystem {
 public:
  explicit WithoutEvaluations(absl::Status why) : why_(std::move(why)) {}

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) override {
    if (absl::StrContains(path, "/eval/")) {
      return why_;
    }
    return MemoryFileSystem::NewWritableFile(path);
  }

 private:
  const absl::Status why_;
};

class LostEventsTest : public TrainAndEvaluateTest {
 protected:
  // Trains while writes of evaluation events fail with `why`.
  absl::StatusOr<TrainAndEvaluateResult> Train(const absl::Status& why,
                                               int64_t max_steps,
                                               const EvalSpec& spec,
                                               Scheduler* scheduler = nullptr) {
    WithoutEvaluations files(why);
    Process process({.file_system = &files});
    RunConfig config = Config();
    config.model_dir = "/model";
    config.session_config.process = &process;
    Estimator model = Line(config, scheduler, &files);
    return TrainAndEvaluate(
        model, {.input_fn = Points(), .max_steps = max_steps}, spec);
  }
};

TEST_F(LostEventsTest, WriteErrorsAreTolerated) {
  ASSERT_OK_AND_ASSIGN(
      const auto result,
      Train(absl::UnavailableError("the folder is away"), 2, Evaluation()));
  EXPECT_EQ(StepOf(*result.metrics), 2);
  EXPECT_THAT(logger_.lines(),
              Contains(HasSubstr("Events of the evaluation are lost")));
}

// Although the events cannot be written, each evaluation has metrics and is
// exported.
TEST_F(LostEventsTest, FullDiskIsToleratedForAnHour) {
  ManualClock clock;
  SimulatedScheduler time(clock);
  exporter_->on_export = [&] { clock.Advance(absl::Minutes(30)); };
  EvalSpec spec = Evaluation();
  spec.throttle_secs = 0;
  EXPECT_THAT(
      Train(absl::ResourceExhaustedError("no space"), 20, spec, &time).status(),
      StatusIs(absl::StatusCode::kResourceExhausted,
               "No evaluation has succeeded, with its events and exports, for "
               "1h and 3 tries"));
  EXPECT_THAT(exporter_->steps, ElementsAre(2, 4, 6));
}

TEST_F(TrainAndEvaluateTest, EvaluationRequiresCheckpoints) {
  RunConfig config = Config();
  config.save_checkpoints_steps = 0;
  Estimator model = Line(config);
  const TrainSpec train = {.input_fn = Points(), .max_steps = 4};
  EXPECT_THAT(TrainAndEvaluate(model, train, Evaluation()).status(),
              StatusIs(kInvalid,
                       "set one of the "
                       "RunConfig.save_checkpoints_steps"));
  EXPECT_OK(model.Train(Points(), {.steps = 1})) << "nobody is to be told";
}

TEST_F(TrainAndEvaluateTest, InvalidOptionsAreExplained) {
  const auto says = [&](const EvalSpec& spec, const TrainSpec& train,
                        const char* text) {
    Estimator model = Line();
    EXPECT_THAT(TrainAndEvaluate(model, train, spec).status(),
                StatusIs(kInvalid, text));
  };
  const TrainSpec train = {.input_fn = Points(), .max_steps = 1};
  says({}, train, "EvalSpec: input_fn must be given");
  says(Evaluation(), {}, "TrainSpec: input_fn must be given");
  EvalSpec twice = Evaluation();
  twice.exporters.push_back(exporter_);
  says(twice, train, "two are called 'recording'");
  EvalSpec negative = Evaluation();
  negative.throttle_secs = -1;
  says(negative, train, "must not be negative");
  RunConfig second = EvaluatorConfig();
  second.task_id = 1;
  Estimator model = Line(second);
  EXPECT_THAT(TrainAndEvaluate(model, train, Evaluation()).status(),
              StatusIs(kInvalid, "only be one `evaluator` task"));
}

// Without a cluster spec, training starts no server, even if its session is
// remote.
TEST_F(TrainAndEvaluateTest, RemoteSessionNeedsNoServer) {
  RunConfig config = Config();
  config.master = "zmq://elsewhere:1";
  std::vector<std::string> targets;
  LinearOptions options;
  options.feature_columns = {feature_column::NumericColumn("x")};
  options.estimator.logger = &logger_;
  options.estimator.session_factory = [&](const std::string& target,
                                          const Scope& scope,
                                          const SessionOptions& session) {
    targets.push_back(target);
    EXPECT_THAT(session.device_filters, IsEmpty());
    return Session::Connect("", scope, session);
  };
  Estimator model = LinearRegressor(options, config);
  TaskOptions task;
  task.server_factory = nullptr;
  EvalSpec spec = Evaluation();
  spec.exporters.clear();
  ASSERT_OK_AND_ASSIGN(
      const auto result,
      TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 2}, spec,
                       task));
  EXPECT_EQ(StepOf(*result.metrics), 2);
  EXPECT_THAT(targets, ElementsAre(config.master, "")) << "trains, evaluates";
}

// ---- savers of the program ----

// A listener that records its calls.
class RecordingListener : public train::CheckpointSaverListener {
 public:
  absl::Status Begin() override {
    ++begun;
    return absl::OkStatus();
  }
  absl::StatusOr<bool> AfterSave(Session&, int64_t step) override {
    steps.push_back(step);
    return false;
  }
  absl::Status End(Session&, int64_t) override {
    ++ended;
    return absl::OkStatus();
  }
  int begun = 0, ended = 0;
  std::vector<int64_t> steps;
};

// Returns a model of y = w x. `add` may change its EstimatorSpec.
ModelFn Slope(const std::function<void(EstimatorSpec& spec)>& add) {
  return [add](const Scope& scope,
               const ModelInput& input) -> absl::StatusOr<EstimatorSpec> {
    const ops::Variable w(scope.WithName("w"), 0.5f);
    const Output x = input.features.at("x").dense();
    EstimatorSpec spec;
    spec.loss = ops::Mean(
        scope,
        ops::Square(scope,
                    ops::Sub(scope, ops::Mul(scope, x, w), input.labels)),
        {0});
    spec.train_op = train::GradientDescent(0.01f).Minimize(
        scope, spec.loss, {.global_step = train::GetGlobalStep(scope)});
    if (input.mode == Mode::kTrain) add(spec);
    return spec;
  };
}

// Tests models that bring their own saver. The Estimator itself does not save.
class OwnSaverTest : public TrainAndEvaluateTest {
 protected:
  enum class Where { kTraining, kTrainingHooks, kTrainingChiefHooks };

  RunConfig WithoutSaves() {
    RunConfig config = Config();
    config.save_checkpoints_steps = 0;
    return config;
  }
  train::HookList Hooks(Where where) {
    return where == Where::kTraining ? train::HookList{hook_}
                                     : train::HookList();
  }
  // Returns a model of y = w x with its own saver, which saves every second
  // step.
  Estimator Model(Where where,
                  std::shared_ptr<train::CheckpointSaverListener> known) {
    const auto scaffold = std::make_shared<train::Scaffold>();
    train::CheckpointSaverOptions saver;
    saver.checkpoint_dir = model_dir_;
    saver.save_steps = 2;
    saver.scaffold = scaffold;
    if (known != nullptr) saver.listeners = {std::move(known)};
    saver.logger = &logger_;
    hook_ = std::make_shared<train::CheckpointSaverHook>(std::move(saver));
    EstimatorOptions options;
    options.logger = &logger_;
    return Estimator(Slope([=, hook = hook_](EstimatorSpec& spec) {
                       spec.scaffold = scaffold;
                       if (where == Where::kTrainingHooks)
                         spec.training_hooks = {hook};
                       if (where == Where::kTrainingChiefHooks) {
                         spec.training_chief_hooks = {hook};
                       }
                     }),
                     options, WithoutSaves());
  }

 private:
  std::shared_ptr<train::CheckpointSaverHook> hook_;
};

TEST_F(OwnSaverTest, EachListenerIsNotifiedOnce) {
  for (const Where where :
       {Where::kTraining, Where::kTrainingHooks, Where::kTrainingChiefHooks}) {
    files_.DeleteRecursively(model_dir_).IgnoreError();
    const auto listener = std::make_shared<RecordingListener>();
    const auto known = std::make_shared<RecordingListener>();
    Estimator model = Model(where, known);
    ASSERT_OK(model.Train(Points(),
                          {.hooks = Hooks(where),
                           .max_steps = 5,
                           .saving_listeners = {listener, known, listener}}));
    for (const auto& told : {listener, known}) {
      EXPECT_THAT(told->steps, ElementsAre(0, 2, 4, 5))
          << static_cast<int>(where);
      EXPECT_EQ(told->begun, 1);
      EXPECT_EQ(told->ended, 1);
    }
  }
}

class OwnScaffoldTest : public TrainAndEvaluateTest {
 protected:
  // Trains a model whose scaffold has only an init_fn. Returns the checkpoints
  // that remain.
  std::vector<std::string> Left(int keep_checkpoint_max) {
    files_.DeleteRecursively(model_dir_).IgnoreError();
    keep_checkpoint_max_ = keep_checkpoint_max;
    EstimatorOptions options;
    options.logger = &logger_;
    int begun = 0;
    Estimator model(Slope([&](EstimatorSpec& spec) {
                      train::ScaffoldOptions scaffold;
                      scaffold.init_fn = [&](Session&) {
                        ++begun;
                        return absl::OkStatus();
                      };
                      spec.scaffold = std::make_shared<train::Scaffold>(
                          std::move(scaffold));
                    }),
                    options, Config());
    EXPECT_OK(model.Train(Points(), {.max_steps = 12}));
    EXPECT_EQ(begun, 1);
    auto names = files_.ListDirectory(model_dir_).value();
    std::erase_if(names, [](const std::string& name) {
      return !absl::EndsWith(name, ".index");
    });
    return names;
  }
};

TEST_F(OwnScaffoldTest, ScaffoldWithoutSaverUsesConfig) {
  EXPECT_THAT(Left(2), UnorderedElementsAre("model.ckpt-10.index",
                                            "model.ckpt-12.index"));
  EXPECT_THAT(files_.ReadFile(JoinPath(model_dir_, "checkpoint")).value(),
              HasSubstr("model_checkpoint_path: \"model.ckpt-12\""))
      << "the folder may be moved";
  EXPECT_THAT(Left(0), SizeIs(7)) << "all: 0, 2, to 12";
}

TEST_F(TrainAndEvaluateTest, ListenerIsNotifiedOnce) {
  const auto listener = std::make_shared<RecordingListener>();
  ASSERT_OK(Line().Train(
      Points(),
      {.max_steps = 4, .saving_listeners = {listener, nullptr, listener}}));
  EXPECT_THAT(listener->steps, ElementsAre(0, 2, 4));
  EXPECT_EQ(listener->begun, 1);
}

TEST_F(OwnSaverTest, EvaluationRunsDuringTraining) {
  for (const Where where :
       {Where::kTraining, Where::kTrainingHooks, Where::kTrainingChiefHooks}) {
    files_.DeleteRecursively(model_dir_).IgnoreError();
    exporter_->steps.clear();
    Estimator model = Model(where, nullptr);
    EvalSpec spec = Evaluation();
    spec.throttle_secs = 0;
    ASSERT_OK_AND_ASSIGN(
        const auto result,
        TrainAndEvaluate(
            model,
            {.input_fn = Points(), .max_steps = 5, .hooks = Hooks(where)},
            spec));
    EXPECT_EQ(StepOf(*result.metrics), 5);
    EXPECT_THAT(exporter_->steps, ElementsAre(2, 4, 5));
  }
}

// ---- an evaluator ----

// Tests an evaluator in simulated time, which jumps when the evaluator waits.
// The actions of other tasks run whenever the evaluator checks for a stop
// request.
class EvaluatorTest : public TrainAndEvaluateTest {
 protected:
  void TrainTo(int64_t step) {
    Estimator model = Line();
    ASSERT_OK(model.Train(Points(), {.max_steps = step}));
  }
  // Runs an evaluator. Calls `meanwhile` with the evaluated steps until it
  // returns false, which requests a stop.
  TrainAndEvaluateResult Evaluate(
      EvalSpec spec, int64_t max_steps,
      std::function<bool(const std::vector<int64_t>&)> meanwhile) {
    exporter_->on_export = [this] { times_.push_back(time_.clock().Now()); };
    Estimator model = Line(EvaluatorConfig(), &time_);
    auto result = TrainAndEvaluate(
        model, {.input_fn = Points(), .max_steps = max_steps}, spec,
        {.stop_requested = [&] { return !meanwhile(exporter_->steps); }});
    EXPECT_OK(result);
    return result.ok() ? *result : TrainAndEvaluateResult();
  }

  ManualClock clock_;
  SimulatedScheduler time_{clock_};
  std::vector<absl::Time> times_;  // when evaluations ended
};

TEST_F(EvaluatorTest, EvaluatesEachCheckpointUntilTheLast) {
  EvalSpec spec = Evaluation();
  spec.throttle_secs = 0;
  int64_t trained = 0;
  const auto result = Evaluate(spec, 6, [&](const auto& evaluated) {
    const int64_t done = evaluated.empty() ? 0 : evaluated.back();
    if (done == trained && trained < 6) TrainTo(trained += 2);
    return true;
  });
  EXPECT_THAT(exporter_->steps, ElementsAre(2, 4, 6));
  EXPECT_TRUE(exporter_->is_final);
  ASSERT_TRUE(result.metrics.has_value());
  EXPECT_EQ(StepOf(*result.metrics), 6);
}

TEST_F(EvaluatorTest, AllCheckpointsButTheLastAreThrottled) {
  TrainTo(2);
  bool trained_on = false;
  Evaluate(Evaluation(), 6, [&](const auto& evaluated) {
    if (!evaluated.empty() && !std::exchange(trained_on, true)) TrainTo(4);
    if (evaluated.size() == 2) TrainTo(6);
    return true;
  });
  EXPECT_THAT(exporter_->steps, ElementsAre(2, 4, 6));
  ASSERT_THAT(times_, SizeIs(3));
  EXPECT_GE(times_[1] - times_[0], absl::Seconds(590));
  EXPECT_LT(times_[2] - times_[1], absl::Seconds(10));
}

TEST_F(EvaluatorTest, StopRequestEndsEvaluator) {
  int asked = 0;
  const auto result =
      Evaluate(Evaluation(), 6, [&](const auto&) { return ++asked < 1000; });
  EXPECT_FALSE(result.metrics.has_value());
  EXPECT_THAT(logger_.lines(),
              Contains(HasSubstr("Estimator is not trained yet")).Times(1))
      << "it says so every ten minutes";
}

TEST_F(EvaluatorTest, CheckpointDeletedDuringEvaluationIsSkipped) {
  keep_checkpoint_max_ = 1;
  TrainTo(2);
  EvalSpec spec = Evaluation();
  bool trained_on = false;
  // During the evaluation, the training saves checkpoints and deletes old ones.
  spec.input_fn = [&](const Scope& scope) {
    if (!std::exchange(trained_on, true)) TrainTo(4);
    return PointsOnce()(scope);
  };
  Evaluate(spec, 4, [](const auto&) { return true; });
  EXPECT_THAT(exporter_->steps, ElementsAre(4));
  EXPECT_THAT(logger_.lines(),
              Contains(HasSubstr("the newest is tried again")));
}

TEST_F(EvaluatorTest, CheckpointDeletedBeforeExportIsSkipped) {
  keep_checkpoint_max_ = 1;
  TrainTo(2);
  exporter_->errors = {absl::NotFoundError("no such checkpoint")};
  bool trained_on = false;
  // Before the export ends, training saves the next checkpoint and deletes the
  // first one.
  exporter_->on_export = [&] {
    if (!std::exchange(trained_on, true)) TrainTo(4);
  };
  Estimator model = Line(EvaluatorConfig(), &time_);
  ASSERT_OK(TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 4},
                             Evaluation()));
  EXPECT_THAT(exporter_->steps, ElementsAre(2, 4));
  EXPECT_THAT(logger_.lines(),
              Contains(HasSubstr("model.ckpt-2 was not exported")));
}

TEST_F(EvaluatorTest, LastExportIsRetriedWithoutReevaluation) {
  TrainTo(4);
  exporter_->errors = {absl::UnavailableError("away"),
                       absl::DeadlineExceededError("late")};
  int evaluations = 0;
  EvalSpec spec = Evaluation();
  spec.input_fn = [&](const Scope& scope) {
    ++evaluations;
    return PointsOnce()(scope);
  };
  const auto result = Evaluate(spec, 4, [](const auto&) { return true; });
  EXPECT_THAT(exporter_->steps, ElementsAre(4, 4, 4));
  EXPECT_THAT(result.exports, SizeIs(1));
  EXPECT_EQ(evaluations, 1);
}

// Retries become rarer. They skip exporters that have succeeded.
TEST_F(EvaluatorTest, FailingExportIsRetriedWithBackoff) {
  TrainTo(4);
  const auto other = std::make_shared<RecordingExporter>("other");
  std::vector<absl::Time> tries;
  other->errors.assign(12, absl::UnavailableError("away"));
  other->on_export = [&] { tries.push_back(time_.clock().Now()); };
  EvalSpec spec = Evaluation();
  spec.exporters.push_back(other);
  const auto result = Evaluate(spec, 4, [](const auto&) { return true; });
  EXPECT_THAT(exporter_->steps, ElementsAre(4));
  EXPECT_THAT(result.exports, SizeIs(2));
  ASSERT_THAT(tries, SizeIs(13));
  EXPECT_LT(tries[1] - tries[0], absl::Seconds(3));
  EXPECT_GE(tries[12] - tries[11], absl::Minutes(5));
  EXPECT_LT(tries[12] - tries[11], absl::Minutes(6));
}

TEST_F(EvaluatorTest, FullDiskIsToleratedForAnHour) {
  TrainTo(4);
  exporter_->errors.assign(4, absl::ResourceExhaustedError("no space"));
  const auto result =
      Evaluate(Evaluation(), 4, [](const auto&) { return true; });
  EXPECT_THAT(exporter_->steps, SizeIs(5));
  EXPECT_THAT(result.exports, SizeIs(1));

  exporter_->errors.assign(1000, absl::ResourceExhaustedError("no space"));
  const absl::Time begin = time_.clock().Now();
  Estimator model = Line(EvaluatorConfig(), &time_);
  EXPECT_THAT(TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 4},
                               Evaluation())
                  .status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "No evaluation has succeeded, with its events and "
                       "exports, for 1h"));
  EXPECT_GE(time_.clock().Now() - begin, absl::Hours(1));
  EXPECT_LT(time_.clock().Now() - begin, absl::Hours(2));
}

// An error that is not transient is returned. Otherwise early stopping would
// wait for the missing events forever.
TEST_F(TrainAndEvaluateTest, PermanentEventErrorsAreReturned) {
  Estimator model = Line();
  ASSERT_OK(model.Train(Points(), {.steps = 2}));
  ASSERT_OK(files_.WriteFileAtomically(model.eval_dir(), "no folder"));
  EXPECT_THAT(model.Evaluate(PointsOnce()).status().message(),
              HasSubstr("events of an evaluation could not be written"));
}

TEST_F(EvaluatorTest, DeletedLastCheckpointEndsEvaluator) {
  TrainTo(4);
  exporter_->errors = {absl::UnavailableError("away")};
  exporter_->on_export = [&] {
    ASSERT_OK(files_.DeleteFile(JoinPath(model_dir_, "model.ckpt-4.index")));
  };
  Estimator model = Line(EvaluatorConfig(), &time_);
  EXPECT_THAT(TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 4},
                               Evaluation())
                  .status(),
              StatusIs(absl::StatusCode::kNotFound,
                       "model.ckpt-4, the last one of the training, is gone"));
}

TEST_F(EvaluatorTest, ExporterErrorEndsEvaluator) {
  TrainTo(4);
  exporter_->errors = {absl::InternalError("a mistake")};
  Estimator model = Line(EvaluatorConfig(), &time_);
  EXPECT_THAT(TrainAndEvaluate(model, {.input_fn = Points(), .max_steps = 4},
                               Evaluation())
                  .status(),
              StatusIs(absl::StatusCode::kInternal, "a mistake"));
}

// ---- stopped evaluations ----

// A hook that requests a stop after `batches` evaluated batches.
class StopAfter : public train::SessionRunHook {
 public:
  explicit StopAfter(int batches) : left_(batches) {}

  absl::Status AfterRun(train::SessionRunContext&,
                        const train::SessionRunValues&) override {
    --left_;
    return absl::OkStatus();
  }
  std::function<bool()> stop_requested() {
    return [this] { return left_ <= 0; };
  }

 private:
  std::atomic<int> left_;
};

class StoppedEvaluationTest : public TrainAndEvaluateTest {
 protected:
  // Returns a specification of an evaluation with endless input.
  EvalSpec Endless() {
    EvalSpec spec = Evaluation();
    spec.input_fn = Points();
    spec.steps.reset();
    spec.hooks = {stop_};
    return spec;
  }
  void ExpectNothingOf(const absl::StatusOr<TrainAndEvaluateResult>& result) {
    ASSERT_OK(result);
    EXPECT_FALSE(result->metrics.has_value());
    EXPECT_THAT(exporter_->steps, IsEmpty());
    EXPECT_FALSE(files_.FileExists(JoinPath(model_dir_, "eval")).ok());
    EXPECT_THAT(logger_.lines(),
                Not(Contains(HasSubstr("An evaluation failed"))));
  }
  const std::shared_ptr<StopAfter> stop_ = std::make_shared<StopAfter>(5);
  const TaskOptions task_ = {.stop_requested = stop_->stop_requested()};
};

TEST_F(StoppedEvaluationTest, StopRequestEndsTheEvaluator) {
  ASSERT_OK(Line().Train(Points(), {.steps = 2}));
  Estimator model = Line(EvaluatorConfig());
  ExpectNothingOf(TrainAndEvaluate(
      model, {.input_fn = Points(), .max_steps = 2}, Endless(), task_));
}

TEST_F(StoppedEvaluationTest, StopRequestEndsConcurrentTraining) {
  Estimator model = Line();
  ExpectNothingOf(TrainAndEvaluate(
      model, {.input_fn = Points(), .max_steps = 1000000}, Endless(), task_));
  EXPECT_LT(model.GetVariableValue("global_step")->scalar<int64_t>(), 1000);
}

TEST_F(StoppedEvaluationTest, StopRequestEndsEvaluationAfterTraining) {
  Estimator model = Line();
  ASSERT_OK(model.Train(Points(), {.steps = 2}));
  ExpectNothingOf(TrainAndEvaluate(
      model, {.input_fn = Points(), .max_steps = 2}, Endless(), task_));
}

TEST_F(StoppedEvaluationTest, StoppedExperimentReturnsNoMetrics) {
  ASSERT_OK(Line().Train(Points(), {.steps = 2}));
  Experiment experiment({.estimator = Line(),
                         .eval_input_fn = Points(),
                         .eval_steps = std::nullopt,
                         .eval_hooks = {stop_}});
  ExpectNothingOf(experiment.Evaluate(task_));
  EXPECT_FALSE(files_.FileExists(JoinPath(model_dir_, "eval_one_pass")).ok());
}

// ---- early stopping ----

class EarlyStoppingTest : public TrainAndEvaluateTest {
 protected:
  // Writes a metric as events by step, as an evaluation does.
  void WriteMetric(const std::string& name, const std::map<int64_t, float>& by,
                   const std::string& evaluation = "") {
    auto writer = summary::FileWriter::Create(files_, process_.scheduler(),
                                              Line().eval_dir(evaluation));
    ASSERT_OK(writer);
    for (const auto& [step, value] : by) {
      summary::SummaryValue item;
      item.tag = name;
      item.value = value;
      ASSERT_OK((*writer)->AddSummary(summary::Summary{{item}}, step));
    }
    ASSERT_OK((*writer)->Close());
  }
  // Trains with `hook`. Returns the global step at which training ends, at most
  // 7.
  int64_t StepsWith(const std::shared_ptr<train::SessionRunHook>& hook) {
    for (const char* begun : {"checkpoint", "model.ckpt*"}) {
      const auto old = files_.GetMatchingPaths(JoinPath(model_dir_, begun));
      for (const std::string& path : *old) EXPECT_OK(files_.DeleteFile(path));
    }
    Estimator model = Line();
    EXPECT_OK(model.Train(Points(), {.hooks = {hook}, .max_steps = 7}));
    return model.GetVariableValue("global_step")->scalar<int64_t>();
  }
  const EarlyStoppingOptions each_step_ = {.run_every_steps = 1};
};

TEST_F(EarlyStoppingTest, TrainingStopsAtAThreshold) {
  WriteMetric("auc", {{100, 0.5f}, {200, 0.75f}});
  EXPECT_EQ(StepsWith(StopIfHigherHook(Line(), "auc", 0.7, each_step_)), 1);
  EXPECT_EQ(StepsWith(StopIfHigherHook(Line(), "auc", 0.75, each_step_)), 7);
  EXPECT_EQ(StepsWith(StopIfLowerHook(Line(), "auc", 0.6, each_step_)), 1);
  EXPECT_EQ(StepsWith(StopIfLowerHook(Line(), "auc", 0.5, each_step_)), 7);
  EarlyStoppingOptions late = each_step_;
  late.min_steps = 101;
  EXPECT_EQ(StepsWith(StopIfLowerHook(Line(), "auc", 0.6, late)), 7);
}

TEST_F(EarlyStoppingTest, TrainingStopsWithoutImprovement) {
  WriteMetric("loss", {{100, 3}, {200, 2}, {300, 2}, {400, 2.5f}});
  EXPECT_EQ(StepsWith(StopIfNoDecreaseHook(Line(), "loss", 200, each_step_)),
            1);
  EXPECT_EQ(StepsWith(StopIfNoDecreaseHook(Line(), "loss", 201, each_step_)),
            7);
  EXPECT_EQ(StepsWith(StopIfNoIncreaseHook(Line(), "loss", 300, each_step_)),
            1);
  EXPECT_EQ(StepsWith(StopIfNoIncreaseHook(Line(), "loss", 301, each_step_)),
            7);
}

TEST_F(EarlyStoppingTest, TransientErrorsAreRetried) {
  int asked = 0;
  const auto stop = [&]() -> absl::StatusOr<bool> {
    if (++asked == 1) return absl::UnavailableError("away");
    if (asked == 2) return absl::DeadlineExceededError("late");
    return true;
  };
  // A step may read the global step before or after its own increment. If it
  // reads the old value, the condition is not evaluated in this step.
  EXPECT_GE(StepsWith(MakeEarlyStoppingHook(Line(), stop, each_step_)), 3);
  EXPECT_EQ(asked, 3);
  EXPECT_THAT(logger_.lines(), Contains(HasSubstr("late")));
}

// The second training starts at an earlier step than the one at which the
// condition was last evaluated. This also happens when a session replaces a
// lost one.
TEST_F(EarlyStoppingTest, SessionFromOlderStepRestartsItsCount) {
  int asked = 0;
  const auto hook = MakeEarlyStoppingHook(Line(),
                                          [&] {
                                            ++asked;
                                            return false;
                                          },
                                          {.run_every_steps = 4});
  EXPECT_EQ(StepsWith(hook), 7);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(StepsWith(hook), 7);
  EXPECT_EQ(asked, 3);
}

// The evaluator of an Experiment writes its events to a separate folder, which
// the hook does not find by default.
TEST_F(EarlyStoppingTest, OtherEvaluationDirectoryIsLoggedOnce) {
  WriteMetric("loss", {{100, 1}, {300, 2}}, "continuous");
  EXPECT_EQ(StepsWith(StopIfNoDecreaseHook(Line(), "loss", 200, each_step_)),
            7);
  EXPECT_THAT(logger_.lines(),
              Contains(AllOf(HasSubstr("which is not there"),
                             HasSubstr("has eval_continuous"),
                             HasSubstr("set EarlyStoppingOptions::eval_dir")))
                  .Times(1));
  EarlyStoppingOptions there = each_step_;
  there.eval_dir = Line().eval_dir("continuous");
  EXPECT_EQ(StepsWith(StopIfNoDecreaseHook(Line(), "loss", 200, there)), 1);
}

TEST_F(EarlyStoppingTest, StopFlagIsSavedAndEndsTheEvaluator) {
  WriteMetric("loss", {{1, 1}, {9, 1}});
  EXPECT_EQ(StepsWith(StopIfNoDecreaseHook(Line(), "loss", 8, each_step_)), 1);
  Estimator model = Line();
  EXPECT_TRUE(
      model.GetVariableValue(std::string(kEarlyStopVariable))->scalar<bool>());
  ManualClock clock;
  SimulatedScheduler time(clock);
  Estimator evaluator = Line(EvaluatorConfig(), &time);
  ASSERT_OK_AND_ASSIGN(
      const auto result,
      TrainAndEvaluate(evaluator, {.input_fn = Points(), .max_steps = 7},
                       Evaluation()));
  EXPECT_EQ(StepOf(*result.metrics), 1);
}

TEST_F(EarlyStoppingTest, InvalidOptionsAreExplained) {
  const auto says = [&](const EarlyStoppingOptions& options, const char* text) {
    Estimator model = Line();
    const auto hook = StopIfHigherHook(model, "auc", 0.7, options);
    EXPECT_THAT(model.Train(Points(), {.hooks = {hook}, .max_steps = 7}),
                StatusIs(kInvalid, text));
  };
  says({.run_every_secs = 1, .run_every_steps = 1}, "early stopping");
  WriteMetric("loss", {{1, 1}});
  says(each_step_, "has no metric \"auc\" to stop early by; it has: loss");
}

TEST_F(EarlyStoppingTest, CorruptEventFileIsReadUpToTheError) {
  WriteMetric("loss", {{1, 1}, {2, 0.5f}});
  const std::string folder = Line().eval_dir();
  ASSERT_OK_AND_ASSIGN(const auto names, files_.ListDirectory(folder));
  ASSERT_THAT(names, SizeIs(1));
  const std::string path = JoinPath(folder, names[0]);
  ASSERT_OK_AND_ASSIGN(std::string bytes, files_.ReadFile(path));
  bytes.resize(bytes.size() - 3);
  ASSERT_OK(files_.WriteFileAtomically(path, bytes));
  ASSERT_OK_AND_ASSIGN(const auto results, ReadEvalMetrics(files_, folder));
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_EQ(results.at(1).at("loss"), 1);
  ASSERT_OK_AND_ASSIGN(const auto none, ReadEvalMetrics(files_, "/nowhere"));
  EXPECT_THAT(none, IsEmpty());
}

// ---- experiments ----

class ExperimentTest : public TrainAndEvaluateTest {
 protected:
  ExperimentFn Lines(int64_t steps) {
    return [this, steps](const RunConfig& config,
                         const HParams&) -> absl::StatusOr<Experiment> {
      return Experiment({.estimator = Line(config),
                         .train_input_fn = Points(),
                         .eval_input_fn = PointsOnce(),
                         .train_steps = steps,
                         .exporters = {exporter_}});
    };
  }
  absl::StatusOr<ExperimentResult> Run(const std::string& schedule,
                                       int64_t steps = 6) {
    return learn_runner::Run(Lines(steps), Config(), {},
                             {.schedule = schedule});
  }
  int64_t Trained() {
    return Line().GetVariableValue("global_step")->scalar<int64_t>();
  }
  bool Exists(const std::string& name) {
    return files_.FileExists(JoinPath(model_dir_, name)).ok();
  }
};

TEST_F(ExperimentTest, LocalRunAlternatesTrainingAndEvaluation) {
  ASSERT_OK_AND_ASSIGN(const auto result, Run(""));
  EXPECT_EQ(StepOf(*result.metrics), 6);
  EXPECT_THAT(exporter_->steps, ElementsAre(2, 4, 6));
}

TEST_F(ExperimentTest, SchedulesMatchTheirNames) {
  ASSERT_OK_AND_ASSIGN(auto result, Run("train"));
  EXPECT_FALSE(result.metrics.has_value());
  EXPECT_EQ(Trained(), 6);
  ASSERT_OK_AND_ASSIGN(result, Run("evaluate"));
  EXPECT_EQ(StepOf(*result.metrics), 6);
  EXPECT_TRUE(Exists("eval_one_pass"));
  ASSERT_OK_AND_ASSIGN(result, Run("continuous_eval"));
  EXPECT_TRUE(Exists("eval_continuous"));
  EXPECT_THAT(exporter_->steps, ElementsAre(6));
  ASSERT_OK_AND_ASSIGN(result, Run("continuous_eval_on_train_data"));
  EXPECT_TRUE(Exists("eval_continuous_on_train_data"));
  EXPECT_THAT(exporter_->steps, ElementsAre(6)) << "nothing is exported";
  ASSERT_OK_AND_ASSIGN(result, Run("test"));
  EXPECT_EQ(Trained(), 7);
  EXPECT_THAT(exporter_->steps, ElementsAre(6, 7)) << "once";
  EXPECT_EQ(exporter_->path, JoinPath(model_dir_, "export/recording"));
  EXPECT_EQ(exporter_->checkpoint_path, JoinPath(model_dir_, "model.ckpt-7"));
  EXPECT_THAT(result.exports, SizeIs(1));
}

TEST_F(ExperimentTest, TrainingRunsInIterations) {
  ASSERT_OK_AND_ASSIGN(const auto result, Run("continuous_train_and_eval", 20));
  EXPECT_EQ(StepOf(*result.metrics), 20);
  EXPECT_TRUE(Exists("eval_one_pass"));
}

TEST_F(ExperimentTest, IterationNeedsAtLeastOneStep) {
  ASSERT_OK(Line().Train(Points(), {.steps = 2}));
  for (const int64_t steps : {0, -1}) {
    Experiment experiment({.estimator = Line(),
                           .train_input_fn = Points(),
                           .eval_input_fn = PointsOnce(),
                           .train_steps = 6,
                           .train_steps_per_iteration = steps});
    EXPECT_THAT(experiment.ContinuousTrainAndEval({}).status(),
                StatusIs(kInvalid, "train_steps_per_iteration"));
  }
}

TEST_F(ExperimentTest, InvalidOptionsAreExplained) {
  const auto says = [](const absl::Status& status, const char* text) {
    EXPECT_THAT(status, StatusIs(kInvalid, text));
  };
  says(Run("trian").status(), "non-existent task trian; there are: train,");
  says(learn_runner::Run(Lines(1), RunConfig()).status(), "model_dir");
  says(learn_runner::Run(nullptr, Config()).status(), "experiment_fn");
  says(learn_runner::Run(
           [this](const RunConfig& given,
                  const HParams&) -> absl::StatusOr<Experiment> {
             RunConfig other = given;
             other.model_dir += "_2";
             return Experiment({.estimator = Line(other)});
           },
           Config())
           .status(),
       "the Estimator has another one");
  RunConfig strange = Config();
  strange.task_type = "helper";
  strange.master = "zmq://localhost:1";
  strange.cluster_spec =
      ClusterSpec::Parse(R"({"helper": ["localhost:1", "localhost:2"]})")
          .value();
  says(learn_runner::Run(Lines(1), strange).status(),
       "No default schedule for task type: helper");
  EXPECT_THAT(Run("evaluate").status(),
              StatusIs(absl::StatusCode::kNotFound, "train first"));
  says(Run("run_std_server").status(), "set TF_CONFIG");
}

TEST(HParamsTest, ValuesAreParsedFromText) {
  HParams params({{"rate", 0.5},
                  {"units", 10},
                  {"name", "a"},
                  {"deep", true},
                  {"sizes", std::vector<int64_t>{1}}});
  ASSERT_OK(params.Parse("rate=1e-3, units=-3,name=x y,deep=false"));
  EXPECT_EQ(params.Get<double>("rate"), 1e-3);
  EXPECT_EQ(params.Get<int64_t>("units"), -3);
  EXPECT_EQ(params.Get<std::string>("name"), "x y");
  EXPECT_FALSE(params.Get<bool>("deep"));
  ASSERT_OK(params.Parse("sizes=[100, 75,50],rate=2"));
  EXPECT_THAT(params.Get<std::vector<int64_t>>("sizes"),
              ElementsAre(100, 75, 50));
  ASSERT_OK(params.Parse("sizes=[]"));
  EXPECT_THAT(params.Get<std::vector<int64_t>>("sizes"), IsEmpty());
  ASSERT_OK(params.Parse(""));
  ASSERT_OK(params.SetHParam("rate", int64_t{3}));
  EXPECT_EQ(params.Get<double>("rate"), 3);
}

TEST(HParamsTest, ParseErrorLeavesValuesUnchanged) {
  HParams params({{"rate", 0.5}, {"units", 10}});
  const auto says = [&](const char* text, const char* what) {
    EXPECT_THAT(params.Parse(text), StatusIs(kInvalid, what)) << text;
  };
  says("units=3,rate=fast", "'rate' is a float, which 'fast' is not");
  says("units=1.5", "an integer");
  says("unit=3", "Unknown hyperparameter 'unit'");
  says("units=3,units=4", "Multiple assignments");
  says("units", "name=value");
  says("units=[1", "name=value");
  says("units=3;rate=1", "an integer");
  EXPECT_EQ(params.Get<int64_t>("units"), 10);
  EXPECT_THAT(params.SetHParam("units", 1.5), StatusIs(kInvalid, "a float"));
  EXPECT_THAT(params.SetHParam("x", 1.5), StatusIs(kInvalid, "rate, units"));
  EXPECT_EQ(params.AddHParam("rate", 1.0).code(),
            absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace weft::estimator
