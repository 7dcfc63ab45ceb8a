#include "libs/estimator/early_stopping.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/estimator/continuous_evaluation.h"
#include "libs/fs/memory_file_system.h"
#include "libs/protocol/testing/recording_master.h"
#include "libs/summary/event.h"
#include "libs/summary/events_writer.h"
#include "libs/train/optimizers/global_step.h"

namespace weft::estimator {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class EarlyStoppingTest : public testing::Test {
 protected:
  EarlyStoppingTest() {
    EXPECT_OK(files_.CreateDirectories("/model/eval"));
    every_step_.run_every_steps = 1;
  }

  // Returns an Estimator whose model is never built.
  Estimator Model(bool is_chief = true) {
    EstimatorOptions options;
    options.model_dir = "/model";
    options.file_system = &files_;
    options.scheduler = &scheduler_;
    options.logger = &logger_;
    RunConfig config;
    config.is_chief = is_chief;
    return Estimator(
        [](const Scope&, const ModelInput&) -> absl::StatusOr<EstimatorSpec> {
          return absl::UnimplementedError("no model");
        },
        options, config);
  }

  // Writes evaluation events with a loss for each step.
  void Evaluate(const std::vector<std::pair<int64_t, float>>& losses,
                const std::string& directory = "/model/eval") {
    summary::EventsFileName name;
    name.logdir = directory;
    name.hostname = "host";
    name.seconds = ++seconds_;
    ASSERT_OK_AND_ASSIGN(const auto writer,
                         summary::EventsWriter::Create(
                             files_, name, absl::FromUnixSeconds(seconds_)));
    for (const auto& [step, loss] : losses) {
      summary::Summary summary;
      summary.value.push_back({.tag = "loss", .value = loss});
      summary::Event event;
      event.step = step;
      event.what = summary;
      ASSERT_OK(writer->Write(summary::SerializeEvent(event)));
    }
    ASSERT_OK(writer->Close());
  }

  // Returns whether the hook stops the training after a run that ends at
  // `step`.
  bool StopsAt(train::SessionRunHook& hook, int64_t step) {
    return StopsWith(hook, Tensor::Scalar(step));
  }
  bool StopsWith(train::SessionRunHook& hook, const Tensor& fetched) {
    train::SessionRunContext context(args_, *session_);
    const RunMetadata metadata;
    status_ = hook.AfterRun(
        context,
        {.results = {&fetched, 1}, .options = {}, .run_metadata = metadata});
    return context.stop_requested();
  }
  // Begins a session with `hook`.
  absl::Status Begin(train::SessionRunHook& hook) {
    RETURN_IF_ERROR(hook.Begin(root_));
    auto session = Session::Create({std::shared_ptr<void>(), &master_},
                                   scheduler_, root_, {});
    RETURN_IF_ERROR(session.status());
    session_ = *std::move(session);
    return absl::OkStatus();
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  MemoryFileSystem files_;
  RecordingLogger logger_;
  protocol::RecordingMaster master_;
  const Scope root_ = Scope::Root();
  const ops::Variable step_ = train::GetOrCreateGlobalStep(root_);
  const train::SessionRunArgs args_;
  EarlyStoppingOptions every_step_;
  std::unique_ptr<Session> session_;
  absl::Status status_;
  int64_t seconds_ = 1700000000;
};

TEST_F(EarlyStoppingTest, EvaluationsAreReadByTheirStep) {
  Evaluate({{10, 0.5f}, {20, 0.25f}});
  Evaluate({{30, 0.125f}});
  ASSERT_OK_AND_ASSIGN(const auto results,
                       ReadEvalMetrics(files_, "/model/eval"));
  EXPECT_THAT(results, ElementsAre(Pair(10, ElementsAre(Pair("loss", 0.5))),
                                   Pair(20, ElementsAre(Pair("loss", 0.25))),
                                   Pair(30, ElementsAre(Pair("loss", 0.125)))));
}

TEST_F(EarlyStoppingTest, NoDirectoryMeansNoEvaluations) {
  ASSERT_OK_AND_ASSIGN(const auto results, ReadEvalMetrics(files_, "/none"));
  EXPECT_THAT(results, IsEmpty());
}

TEST_F(EarlyStoppingTest, OtherFilesAreNotRead) {
  ASSERT_OK(files_.WriteFileAtomically("/model/eval/notes", "no records"));
  ASSERT_OK_AND_ASSIGN(const auto results,
                       ReadEvalMetrics(files_, "/model/eval"));
  EXPECT_THAT(results, IsEmpty());
}

TEST_F(EarlyStoppingTest, CorruptFileIsReadToItsFirstError) {
  Evaluate({{10, 0.5f}});
  ASSERT_OK_AND_ASSIGN(const auto names, files_.ListDirectory("/model/eval"));
  ASSERT_EQ(names.size(), 1u);
  const std::string path = "/model/eval/" + names[0];
  ASSERT_OK_AND_ASSIGN(const std::string bytes, files_.ReadFile(path));
  ASSERT_OK(files_.WriteFileAtomically(path, bytes + "garbage"));
  ASSERT_OK_AND_ASSIGN(const auto results,
                       ReadEvalMetrics(files_, "/model/eval"));
  EXPECT_EQ(results.size(), 1u);
}

TEST_F(EarlyStoppingTest, StopVariableIsSaved) {
  const auto hook = StopIfLowerHook(Model(), "loss", 0.1, every_step_);
  ASSERT_OK(Begin(*hook));
  const auto variables = ops::GlobalVariables(root_);
  ASSERT_EQ(variables.size(), 2u);
  EXPECT_EQ(variables[1].name(), kEarlyStopVariable);
  EXPECT_EQ(variables[1].dtype(), DT_BOOL);
  EXPECT_FALSE(variables[1].trainable());
}

TEST_F(EarlyStoppingTest, SeveralHooksShareTheStopVariable) {
  ASSERT_OK(Begin(*StopIfLowerHook(Model(), "loss", 0.1, every_step_)));
  ASSERT_OK(Begin(*StopIfHigherHook(Model(), "loss", 9, every_step_)));
  EXPECT_EQ(ops::GlobalVariables(root_).size(), 2u);
}

TEST_F(EarlyStoppingTest, StopsBelowTheThreshold) {
  const auto hook = StopIfLowerHook(Model(), "loss", 0.25, every_step_);
  ASSERT_OK(Begin(*hook));
  Evaluate({{10, 0.5f}, {20, 0.25f}});
  EXPECT_FALSE(StopsAt(*hook, 21)) << "not below, but equal";
  Evaluate({{30, 0.125f}});
  EXPECT_TRUE(StopsAt(*hook, 31));
  EXPECT_OK(status_);
  EXPECT_THAT(logger_.lines(),
              Contains(HasSubstr("At step 30, metric \"loss\" has value 0.125 "
                                 "which is lower")));
  EXPECT_THAT(logger_.lines(),
              Contains(HasSubstr("Requesting early stopping at global step "
                                 "31")));
  EXPECT_EQ(master_.num_runs, 1) << "the other tasks are told";
}

TEST_F(EarlyStoppingTest, StopsAboveTheThreshold) {
  const auto hook = StopIfHigherHook(Model(), "loss", 0.25, every_step_);
  ASSERT_OK(Begin(*hook));
  Evaluate({{10, 0.25f}});
  EXPECT_FALSE(StopsAt(*hook, 11));
  Evaluate({{20, 0.5f}});
  EXPECT_TRUE(StopsAt(*hook, 21));
}

TEST_F(EarlyStoppingTest, FirstEvaluationsMayBeIgnored) {
  every_step_.min_steps = 20;
  const auto hook = StopIfLowerHook(Model(), "loss", 0.25, every_step_);
  ASSERT_OK(Begin(*hook));
  Evaluate({{19, 0.125f}});
  EXPECT_FALSE(StopsAt(*hook, 20));
  Evaluate({{20, 0.125f}});
  EXPECT_TRUE(StopsAt(*hook, 21));
}

TEST_F(EarlyStoppingTest, StopsWithoutDecrease) {
  const auto hook = StopIfNoDecreaseHook(Model(), "loss", 20, every_step_);
  ASSERT_OK(Begin(*hook));
  Evaluate({{10, 0.5f}, {20, 0.75f}, {29, 0.5f}});
  EXPECT_FALSE(StopsAt(*hook, 30)) << "19 steps since the lowest";
  Evaluate({{30, 0.5f}});
  EXPECT_TRUE(StopsAt(*hook, 31));
  EXPECT_THAT(logger_.lines(),
              Contains(HasSubstr("No decrease in metric \"loss\" for 20 "
                                 "steps")));
}

TEST_F(EarlyStoppingTest, ImprovementRestartsTheCount) {
  const auto hook = StopIfNoIncreaseHook(Model(), "loss", 20, every_step_);
  ASSERT_OK(Begin(*hook));
  Evaluate({{10, 0.5f}, {29, 0.75f}, {48, 0.5f}});
  EXPECT_FALSE(StopsAt(*hook, 49));
  Evaluate({{49, 0.5f}});
  EXPECT_TRUE(StopsAt(*hook, 50));
}

TEST_F(EarlyStoppingTest, UnknownMetricIsAnError) {
  const auto hook = StopIfLowerHook(Model(), "accuracy", 0.25, every_step_);
  ASSERT_OK(Begin(*hook));
  Evaluate({{10, 0.5f}});
  EXPECT_FALSE(StopsAt(*hook, 11));
  EXPECT_THAT(status_, StatusIs(kInvalid,
                                "has no metric \"accuracy\" to stop "
                                "early by; it has: loss"));
}

TEST_F(EarlyStoppingTest, OtherEvaluationsAreReportedOnlyOnce) {
  ASSERT_OK(files_.DeleteDirectory("/model/eval"));
  ASSERT_OK(files_.CreateDirectories("/model/eval_continuous"));
  const auto hook = StopIfLowerHook(Model(), "loss", 0.25, every_step_);
  ASSERT_OK(Begin(*hook));
  EXPECT_FALSE(StopsAt(*hook, 1));
  EXPECT_FALSE(StopsAt(*hook, 2));
  EXPECT_THAT(logger_.lines(), ElementsAre(HasSubstr("eval_continuous")));
}

TEST_F(EarlyStoppingTest, EvaluationDirectoryMayBeGiven) {
  ASSERT_OK(files_.CreateDirectories("/model/eval_continuous"));
  every_step_.eval_dir = Model().eval_dir("continuous");
  const auto hook = StopIfLowerHook(Model(), "loss", 0.25, every_step_);
  ASSERT_OK(Begin(*hook));
  Evaluate({{10, 0.125f}}, "/model/eval_continuous");
  EXPECT_TRUE(StopsAt(*hook, 11));
}

TEST_F(EarlyStoppingTest, ConditionIsCheckedAtTheInterval) {
  int asked = 0;
  const auto hook = MakeEarlyStoppingHook(Model(),
                                          [&]() -> absl::StatusOr<bool> {
                                            ++asked;
                                            return false;
                                          },
                                          {.run_every_steps = 10});
  ASSERT_OK(Begin(*hook));
  for (int64_t step = 1; step <= 21; ++step) StopsAt(*hook, step);
  EXPECT_EQ(asked, 3) << "at steps 1, 11 and 21";
}

TEST_F(EarlyStoppingTest, DefaultIntervalIsAMinute) {
  int asked = 0;
  const auto hook = MakeEarlyStoppingHook(
      Model(), [&]() -> absl::StatusOr<bool> { return ++asked > 1; });
  ASSERT_OK(Begin(*hook));
  StopsAt(*hook, 1);
  scheduler_.AdvanceBy(absl::Seconds(59));
  EXPECT_FALSE(StopsAt(*hook, 2));
  EXPECT_EQ(asked, 1);
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_TRUE(StopsAt(*hook, 3));
}

TEST_F(EarlyStoppingTest, TransientErrorsAreLogged) {
  absl::Status error = absl::UnavailableError("the disk is gone");
  const auto hook = MakeEarlyStoppingHook(
      Model(), [&]() -> absl::StatusOr<bool> { return error; }, every_step_);
  ASSERT_OK(Begin(*hook));
  EXPECT_FALSE(StopsAt(*hook, 1));
  EXPECT_OK(status_);
  EXPECT_THAT(logger_.lines(), Contains(HasSubstr("the disk is gone")));
  error = absl::PermissionDeniedError("not yours");
  StopsAt(*hook, 2);
  EXPECT_THAT(status_,
              StatusIs(absl::StatusCode::kPermissionDenied, "not yours"));
}

TEST_F(EarlyStoppingTest, OtherTasksStopWhenVariableIsSet) {
  const auto hook = MakeEarlyStoppingHook(
      Model(/*is_chief=*/false), []() -> absl::StatusOr<bool> {
        ADD_FAILURE() << "only the chief decides";
        return true;
      });
  ASSERT_OK(Begin(*hook));
  train::SessionRunContext context(args_, *session_);
  ASSERT_OK_AND_ASSIGN(const auto args, hook->BeforeRun(context));
  ASSERT_EQ(args.fetches.size(), 1u);
  EXPECT_EQ(args.fetches[0].dtype(), DT_BOOL);
  EXPECT_FALSE(StopsWith(*hook, Tensor::Scalar(false)));
  EXPECT_TRUE(StopsWith(*hook, Tensor::Scalar(true)));
}

TEST_F(EarlyStoppingTest, GlobalStepIsRequired) {
  for (const bool is_chief : {true, false}) {
    const Scope empty = Scope::Root();
    const auto hook =
        StopIfLowerHook(Model(is_chief), "loss", 0.25, every_step_);
    EXPECT_THAT(hook->Begin(empty),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         "Global step should be created"));
  }
}

TEST_F(EarlyStoppingTest, IntervalsMustBeValid) {
  const auto error = [&](const EarlyStoppingOptions& options) {
    return StopIfLowerHook(Model(), "loss", 0.25, options)->Begin(root_);
  };
  EXPECT_THAT(error({.run_every_secs = 1, .run_every_steps = 1}),
              StatusIs(kInvalid, "early stopping: Can not provide both"));
  EXPECT_THAT(error({.run_every_steps = 0}),
              StatusIs(kInvalid, "must be more than 0"));
}

}  // namespace
}  // namespace weft::estimator
