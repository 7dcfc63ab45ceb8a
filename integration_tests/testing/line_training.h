// Helpers for tests of complete training runs: a model of y = 2 x, its data and
// an exporter that records its calls.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_LINE_TRAINING_H_
#define WEFT_INTEGRATION_TESTS_TESTING_LINE_TRAINING_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/fresh_folder.h"
#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"

namespace weft::estimator {

// Returns an input of `count` batches. Each batch has all three points of y = 2
// x.
inline InputFn PointsTimes(int64_t count) {
  return DatasetInputFn(
      [count](const Scope& scope) -> absl::StatusOr<ops::Dataset> {
        return ops::Dataset::FromTensors(scope,
                                         {Tensor::Vector<float>({1, 2, 3}),
                                          Tensor::Vector<float>({2, 4, 6})},
                                         {"x", "y"})
            .Repeat(count);
      },
      "y");
}
inline InputFn Points() { return PointsTimes(-1); }  // an endless input
inline InputFn PointsOnce() { return PointsTimes(1); }

inline int64_t StepOf(const EvalMetrics& metrics) {
  return metrics.at("global_step").scalar<int64_t>();
}

// An exporter that records its calls.
class RecordingExporter : public Exporter {
 public:
  explicit RecordingExporter(std::string name = "recording")
      : name_(std::move(name)) {}

  const std::string& name() const override { return name_; }
  absl::StatusOr<std::optional<std::string>> Export(
      Estimator&, const std::string& export_path, const std::string& checkpoint,
      const EvalMetrics& metrics, bool is_the_final_export) override {
    steps.push_back(StepOf(metrics));
    path = export_path;
    is_final = is_the_final_export;
    checkpoint_path = checkpoint;
    if (on_export) on_export();
    absl::Status error;
    if (!errors.empty()) {
      error = errors.front();
      errors.pop_front();
    }
    if (!error.ok()) return error;
    return JoinPath(export_path, "1");
  }

  std::vector<int64_t> steps;
  std::string path;
  std::string checkpoint_path;
  bool is_final = false;
  std::function<void()> on_export;
  // results of the next exports; OK after these
  std::deque<absl::Status> errors;

 private:
  const std::string name_;
};

class TrainAndEvaluateTest : public ::testing::Test {
 protected:
  RunConfig Config() {
    RunConfig config;
    config.model_dir = model_dir_;
    config.save_checkpoints_steps = 2;
    config.keep_checkpoint_max = keep_checkpoint_max_;
    config.session_config.process = &process_;
    return config;
  }
  Estimator Line(const RunConfig& config, Scheduler* scheduler = nullptr,
                 FileSystem* files = nullptr) {
    LinearOptions options;
    options.feature_columns = {feature_column::NumericColumn("x")};
    options.estimator.logger = &logger_;
    options.estimator.scheduler = scheduler;
    options.estimator.file_system = files;
    return LinearRegressor(options, config);
  }
  Estimator Line() { return Line(Config()); }
  EvalSpec Evaluation() {
    EvalSpec spec;
    spec.input_fn = PointsOnce();
    spec.exporters = {exporter_};
    return spec;
  }
  RunConfig EvaluatorConfig() {
    RunConfig config = Config();
    config.task_type = "evaluator";
    config.is_chief = false;
    return config;
  }

  Process process_;
  LocalFileSystem files_;
  RecordingLogger logger_;
  const std::string model_dir_ = FreshFolder(files_);
  int keep_checkpoint_max_ = 5;
  const std::shared_ptr<RecordingExporter> exporter_ =
      std::make_shared<RecordingExporter>();
};

}  // namespace weft::estimator

#endif  // WEFT_INTEGRATION_TESTS_TESTING_LINE_TRAINING_H_
