// A wide & deep model for display advertising, like DeepRec's model of the same
// name. It predicts clicks from 13 numbers and 26 categories (the Kaggle data
// of Criteo, in tab-separated files without a header). Runs as a single
// process, or as all tasks of a cluster:
//
//   criteo_wide_deep --data_dir=DIR      # train.tsv and dev.tsv
//   PROGRAM="bazel-bin/examples/criteo_wide_deep --data_dir=DIR"
//   tools/local_cluster --ps=2 --workers=2 --evaluators=1 -- $PROGRAM
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "examples/experiment_program.h"
#include "libs/api/weft.h"

ABSL_FLAG(std::string, data_dir, "",
          "Directory of train.tsv and dev.tsv: label, 13 integers, 26 "
          "categories in each line, of Criteo's display advertising data.");
ABSL_FLAG(
    std::string, model_dir, "",
    "Where checkpoints and TensorBoard's log go, the same for all tasks; "
    "training continues from a checkpoint there. Empty: a new directory.");
ABSL_FLAG(std::string, hparams, "",
          "Hyperparameters other than those that it has, as "
          "hidden_units=[1024,512,256],hash_bucket_size=10000.");
ABSL_FLAG(int64_t, steps, 500, "Steps of all workers together.");
ABSL_FLAG(int64_t, save_every, 250, "Steps from one checkpoint to the next.");
ABSL_FLAG(int64_t, seed, 1, "Seed of the weights and of the order of rows.");

namespace weft::examples {
namespace {

using namespace estimator;       // NOLINT: programs of users begin like this
using namespace feature_column;  // NOLINT

constexpr int kNumbers = 13;
constexpr int kCategories = 26;
constexpr char kLabel[] = "clicked";

std::vector<std::string> Names(const char* letter, int count) {
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i) names.push_back(absl::StrCat(letter, i));
  return names;
}

InputFn Rows(const std::string& name, int64_t batch_size,
             const RunConfig::Shard& shard, bool for_training) {
  CsvInputOptions options;
  options.label_name = kLabel;
  options.field_delim = '\t';
  std::vector<std::string> columns = {kLabel};
  options.column_defaults[kLabel] = Tensor::Scalar(int32_t{0});
  for (const std::string& number : Names("I", kNumbers)) {
    columns.push_back(number);
    options.column_defaults[number] = Tensor::Scalar(0.0f);
  }
  for (const std::string& category : Names("C", kCategories)) {
    columns.push_back(category);
    options.column_defaults[category] = Tensor::Scalar(std::string());
  }
  options.column_names = std::move(columns);
  options.rows.batch_size = batch_size;
  options.rows.shuffle = for_training;
  if (!for_training) options.rows.num_epochs = 1;
  options.rows.shard = shard;
  options.rows.transform = [](const ops::Dataset& rows) {
    return rows.Cache();  // each row is read from the files only once
  };
  return CsvInputFn(absl::StrCat(absl::GetFlag(FLAGS_data_dir), "/", name),
                    options);
}

// Returns the logarithms of counts, because counts extend over many orders of
// magnitude.
Output LogOfCount(const Scope& scope, const Output& values) {
  return ops::Log1p(scope, ops::Relu(scope, values));
}

Estimator WideAndDeep(const RunConfig& config, const HParams& params,
                      Logger& logger) {
  DnnLinearCombinedOptions options;
  NumericColumnOptions number;
  number.normalizer_fn = LogOfCount;
  for (const std::string& name : Names("I", kNumbers)) {
    options.dnn_feature_columns.push_back(NumericColumn(name, number));
  }
  for (const std::string& name : Names("C", kCategories)) {
    const auto category = CategoricalColumnWithHashBucket(
        name, params.Get<int64_t>("hash_bucket_size"));
    options.linear_feature_columns.push_back(category);
    options.dnn_feature_columns.push_back(
        EmbeddingColumn(category, params.Get<int64_t>("embedding_dimension")));
  }
  options.dnn_hidden_units = params.Get<std::vector<int64_t>>("hidden_units");
  options.estimator.logger = &logger;
  ClassifierOptions labels;
  labels.loss_reduction = losses::Reduction::kSumOverBatchSize;
  const auto rate = static_cast<float>(params.Get<double>("learning_rate"));
  options.dnn_optimizer = [rate](const Scope&) {
    return std::make_unique<train::Adam>(rate);
  };
  return DnnLinearCombinedClassifier(options, config, labels);
}

absl::Status Main(const std::string&, const StopSignals& signals) {
  if (absl::GetFlag(FLAGS_data_dir).empty()) {
    return absl::InvalidArgumentError(
        "Give the directory of train.tsv and dev.tsv with --data_dir: parts of "
        "Criteo's display advertising data (kaggle.com/c/"
        "criteo-display-ad-challenge).");
  }
  HParams params({{"hidden_units", std::vector<int64_t>{256, 128, 64}},
                  {"embedding_dimension", 16},
                  {"hash_bucket_size", 1000},
                  {"learning_rate", 0.001},
                  {"batch_size", 512}});
  RETURN_IF_ERROR(params.Parse(absl::GetFlag(FLAGS_hparams)));
  Warnings logger("criteo_wide_deep");
  const ExperimentFn experiment_fn =
      [&](const RunConfig& its,
          const HParams& hparams) -> absl::StatusOr<Experiment> {
    const int64_t steps = absl::GetFlag(FLAGS_steps);
    const auto batch_size = hparams.Get<int64_t>("batch_size");
    return Experiment({.estimator = WideAndDeep(its, hparams, logger),
                       .train_input_fn = Rows("train.tsv", batch_size,
                                              its.InputShard(), true),
                       .eval_input_fn = Rows("dev.tsv", 1000, {}, false),
                       .train_steps = steps,
                       .eval_steps = std::nullopt,
                       .train_monitors = {ShowProgress(steps, batch_size)},
                       .continuous_eval_throttle_secs = 0});
  };
  return RunExperiment({.name = "criteo_wide_deep",
                        .model_dir = absl::GetFlag(FLAGS_model_dir),
                        .save_every = absl::GetFlag(FLAGS_save_every),
                        .seed = absl::GetFlag(FLAGS_seed)},
                       experiment_fn, params, signals);
}

}  // namespace
}  // namespace weft::examples

int main(int argc, char** argv) {
  return weft::examples::ProgramMain(argc, argv,
                                     "Learns which advertisements are clicked.",
                                     weft::examples::Main);
}
