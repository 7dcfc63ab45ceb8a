// A complete distributed training in twenty lines. learn_runner runs an
// Experiment with a DnnClassifier over feature columns, on every task of a
// cluster or in a single process. The model learns from the census of 1994 (UCI
// Adult) to predict incomes above 50,000 dollars a year.
//
//   adult_income
//   PROGRAM=bazel-bin/examples/adult_income
//   tools/local_cluster --ps=2 --workers=2 --evaluators=1 -- $PROGRAM
//
// In a cluster, each worker trains on its own rows, with variables on the
// parameter servers. The evaluator evaluates each checkpoint up to the last
// one.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "examples/experiment_program.h"
#include "libs/api/weft.h"

ABSL_FLAG(std::string, data_dir, "",
          "Directory of adult.csv, the UCI Adult data with its header; empty: "
          "a thousand rows of it that come with this program.");
ABSL_FLAG(
    std::string, model_dir, "",
    "Where checkpoints and TensorBoard's log go, the same for all tasks; "
    "training continues from a checkpoint there. Empty: a new directory.");
ABSL_FLAG(std::string, hparams, "",
          "Hyperparameters other than those that it has, as "
          "hidden_units=[10,20],batch_size=128.");
ABSL_FLAG(int64_t, steps, 2000, "Steps of all workers together.");
ABSL_FLAG(int64_t, save_every, 500, "Steps from one checkpoint to the next.");
ABSL_FLAG(int64_t, seed, 1, "Seed of the weights and of the order of rows.");

namespace weft::examples {
namespace {

using namespace estimator;       // NOLINT: programs of users begin like this
using namespace feature_column;  // NOLINT

constexpr char kLabel[] = "income-per-year";

InputFn Rows(const std::string& path, int64_t batch_size,
             const RunConfig::Shard& shard, bool for_training) {
  CsvInputOptions options;
  options.label_name = kLabel;
  options.rows = PartRows(batch_size, shard, for_training);
  return CsvInputFn(path, options);
}

FeatureColumns Columns() {
  return {
      EmbeddingColumn(CategoricalColumnWithHashBucket("occupation", 1000), 8),
      IndicatorColumn(CategoricalColumnWithHashBucket("relationship", 10)),
      BucketizedColumn(NumericColumn("age"),
                       {18, 25, 30, 35, 40, 45, 50, 55, 60, 65}),
      BucketizedColumn(NumericColumn("education-num"), {9, 10, 11, 13, 14}),
      BucketizedColumn(NumericColumn("hours-per-week"), {30, 40, 41, 50}),
      BucketizedColumn(NumericColumn("capital-gain"), {1, 5000, 10000})};
}

ExperimentFn Program(const std::string& path, Logger& logger) {
  return [&path, &logger](const RunConfig& config,
                          const HParams& params) -> absl::StatusOr<Experiment> {
    const auto batch_size = params.Get<int64_t>("batch_size");
    const int64_t steps = absl::GetFlag(FLAGS_steps);
    EstimatorOptions quietly;
    quietly.logger = &logger;
    return Experiment(
        {.estimator = DnnClassifier(
             {.hidden_units = params.Get<std::vector<int64_t>>("hidden_units"),
              .feature_columns = Columns(),
              .estimator = quietly},
             config, {.label_vocabulary = {"<=50K", ">50K"}}),
         .train_input_fn = Rows(path, batch_size, config.InputShard(), true),
         .eval_input_fn = Rows(path, 1000, {}, false),
         .train_steps = steps,
         .eval_steps = std::nullopt,
         .train_monitors = {ShowProgress(steps, batch_size)},
         .continuous_eval_throttle_secs = 0});
  };
}

absl::Status Main(const std::string& program, const StopSignals& signals) {
  HParams params(
      {{"hidden_units", std::vector<int64_t>{10, 20}}, {"batch_size", 128}});
  RETURN_IF_ERROR(params.Parse(absl::GetFlag(FLAGS_hparams)));
  ASSIGN_OR_RETURN(
      const std::string data,
      FindData(program, absl::GetFlag(FLAGS_data_dir), "adult.csv",
               "adult_income.csv",
               absl::StrCat(
                   "Give the directory of adult.csv with --data_dir: the UCI "
                   "Adult data (archive.ics.uci.edu/dataset/2/adult), with a "
                   "first line that names the columns, ",
                   kLabel, " the last.")));
  Warnings logger("adult_income");
  return RunExperiment({.name = "adult_income",
                        .model_dir = absl::GetFlag(FLAGS_model_dir),
                        .save_every = absl::GetFlag(FLAGS_save_every),
                        .seed = absl::GetFlag(FLAGS_seed)},
                       Program(data, logger), params, signals);
}

}  // namespace
}  // namespace weft::examples

int main(int argc, char** argv) {
  return weft::examples::ProgramMain(
      argc, argv, "Learns who earns more than 50,000 dollars a year.",
      weft::examples::Main);
}
