#include "examples/experiment_program.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "examples/progress.h"
#include "libs/base/command_line.h"
#include "libs/base/monotone_clock.h"
#include "libs/server/metrics_flag.h"

namespace weft::examples {
namespace {

// Every fifth row is used for evaluation.
constexpr int64_t kParts = 5;

class ProgressHook : public train::SessionRunHook {
 public:
  ProgressHook(int64_t steps, int64_t batch_size)
      : progress_(clock_, stdout, steps, static_cast<int>(batch_size)) {}

  absl::Status Begin(const Scope& scope) override {
    const auto losses = scope.GetCollection(collection::kLosses);
    global_step_ = train::GetGlobalStep(scope);
    if (losses.empty() || !global_step_) {
      return absl::FailedPreconditionError(
          "The progress line needs a model with a loss and a global step.");
    }
    // The Estimator adds the total loss to the collection last, after its
    // parts.
    loss_ = losses.back();
    return scope.status();
  }
  absl::StatusOr<train::SessionRunArgs> BeforeRun(
      train::SessionRunContext&) override {
    return train::SessionRunArgs{.fetches = {loss_, global_step_}};
  }
  absl::Status AfterRun(train::SessionRunContext&,
                        const train::SessionRunValues& values) override {
    progress_.CommonStep(++steps_, train::GlobalStepValue(values.results[1]),
                         values.results[0].scalar<float>());
    return absl::OkStatus();
  }
  absl::Status End(Session&) override {
    progress_.Finish();
    return absl::OkStatus();
  }

 private:
  MonotoneClock clock_;
  Progress progress_;
  Output loss_;
  ops::Variable global_step_;
  int64_t steps_ = 0;  // steps of this process
};

absl::StatusOr<std::string> NewDirectory(const std::string& program) {
  const auto folder = std::filesystem::temp_directory_path();
  ASSIGN_OR_RETURN(const auto task, TfConfig::FromEnvironment());
  if (task) {
    const auto hash = std::hash<std::string>()(task->cluster.ToString());
    return (folder / absl::StrCat(program, "_", hash)).string();
  }
  std::string made = (folder / (program + "_XXXXXX")).string();
  if (mkdtemp(made.data()) != nullptr) return made;
  return absl::InternalError("Cannot create a directory at " + made);
}

void PrintMetrics(const estimator::EvalMetrics& metrics) {
  const auto value = [&](const char* name) {
    return double{metrics.at(name).scalar<float>()};
  };
  const auto steps =
      static_cast<long long>(metrics.at("global_step").scalar<int64_t>());
  if (metrics.contains("accuracy")) {
    std::printf("accuracy %.4f, AUC %.4f after %lld steps\n", value("accuracy"),
                value("auc"), steps);
  } else {
    std::printf("RMSE %.4f after %lld steps\n",
                std::sqrt(value("average_loss")), steps);
  }
}

ops::Dataset PartOf(const ops::Dataset& rows, bool for_training) {
  std::vector<std::string> names;
  for (const auto& component : rows.element()) names.push_back(component.name);
  return rows.Enumerate()
      .Filter([=](const Scope& s, const std::vector<Output>& row) {
        const Output part = ops::FloorMod(s, row[0], kParts);
        return for_training ? ops::NotEqual(s, part, int64_t{0})
                            : ops::Equal(s, part, int64_t{0});
      })
      .Map(
          [](const Scope&, const std::vector<Output>& row) {
            return std::vector<Output>(row.begin() + 1, row.end());
          },
          {.names = names})
      .Cache();
}

// Returns the configuration for the task in TF_CONFIG, or that of a single
// process.
absl::StatusOr<estimator::RunConfig> ConfigOf(const ProgramOptions& options) {
  estimator::RunConfig base;
  base.model_dir = options.model_dir;
  base.save_checkpoints_steps = options.save_every;
  base.tf_random_seed = options.seed;
  ASSIGN_OR_RETURN(auto config,
                   estimator::RunConfig::FromEnvironment(std::move(base)));
  if (config.model_dir.empty()) {
    ASSIGN_OR_RETURN(config.model_dir, NewDirectory(options.name));
  }
  return config;
}

void PrintResult(const estimator::ExperimentResult& result,
                 const estimator::RunConfig& config) {
  if (result.metrics) PrintMetrics(*result.metrics);
  if (!result.metrics && !config.is_chief) return;
  std::printf("the model is in %s; tensorboard --logdir=%s shows its log\n",
              config.model_dir.c_str(), config.model_dir.c_str());
}

}  // namespace

absl::StatusOr<std::string> FindData(const std::string& program,
                                     const std::string& data_dir,
                                     const std::string& file,
                                     const std::string& sample,
                                     const std::string& remedy) {
  std::vector<std::string> candidates = {absl::StrCat(data_dir, "/", file)};
  if (data_dir.empty()) {
    const auto folder = std::filesystem::path(program).parent_path();
    candidates = {
        (folder / "testdata" / sample).string(),
        absl::StrCat(program, ".runfiles/weft/examples/testdata/", sample)};
  }
  for (const std::string& path : candidates) {
    if (std::filesystem::exists(path)) return path;
  }
  return absl::NotFoundError(
      absl::StrCat("There is no ", candidates[0], ". ", remedy));
}

estimator::RowOptions PartRows(int64_t batch_size,
                               const estimator::RunConfig::Shard& shard,
                               bool for_training) {
  estimator::RowOptions rows;
  rows.batch_size = batch_size;
  rows.shuffle = for_training;
  if (!for_training) rows.num_epochs = 1;
  rows.shard = shard;
  rows.transform = [=](const ops::Dataset& all) {
    return PartOf(all, for_training);
  };
  return rows;
}

std::shared_ptr<train::SessionRunHook> ShowProgress(int64_t steps,
                                                    int64_t batch_size) {
  return std::make_shared<ProgressHook>(steps, batch_size);
}

absl::Status RunExperiment(const ProgramOptions& options,
                           const estimator::ExperimentFn& experiment_fn,
                           const estimator::HParams& params,
                           const StopSignals& signals) {
  ASSIGN_OR_RETURN(const estimator::RunConfig config, ConfigOf(options));
  estimator::learn_runner::RunOptions run;
  run.task.stop_requested = [&signals] { return signals.HasCome(); };
  run.task.metrics_port = MetricsPortFromFlags();
  ASSIGN_OR_RETURN(
      const estimator::ExperimentResult result,
      estimator::learn_runner::Run(experiment_fn, config, params, run));
  PrintResult(result, config);
  return absl::OkStatus();
}

int ProgramMain(int argc, char** argv, const char* usage,
                absl::Status (*run)(const std::string& program,
                                    const StopSignals& signals)) {
  ParseFlags(argc, argv, usage);
  const StopSignals signals;
  const absl::Status status = run(argv[0], signals);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace weft::examples
