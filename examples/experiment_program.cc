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
#include "libs/base/clock.h"

namespace weft::examples {
namespace {

// Each fifth row is for evaluation.
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
          "Progress is that of a model with a loss and a global step.");
    }
    // The Estimator adds the whole loss after those that it is the sum of.
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
  SystemClock clock_;
  Progress progress_;
  Output loss_;
  ops::Variable global_step_;
  int64_t steps_ = 0;  // here
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
  return absl::InternalError("No directory can be made at " + made);
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

std::shared_ptr<train::SessionRunHook> ShowProgress(int64_t steps,
                                                    int64_t batch_size) {
  return std::make_shared<ProgressHook>(steps, batch_size);
}

absl::StatusOr<estimator::RunConfig> ConfigOf(const std::string& program,
                                              estimator::RunConfig base) {
  ASSIGN_OR_RETURN(auto config,
                   estimator::RunConfig::FromEnvironment(std::move(base)));
  if (config.model_dir.empty()) {
    ASSIGN_OR_RETURN(config.model_dir, NewDirectory(program));
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

}  // namespace weft::examples
