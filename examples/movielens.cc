// Predicts film ratings by an Estimator with a custom model (MovieLens 100K). A
// rating is 3, plus a bias of the user, plus a bias of the film, plus the
// product of a vector of the user and a vector of the film. Runs as a single
// process, or as all tasks of a cluster:
//
//   movielens --data_dir=ml-100k      # u.data
//   PROGRAM=bazel-bin/examples/movielens
//   tools/local_cluster --ps=2 --workers=2 --evaluators=1 -- $PROGRAM
//
// Every fifth rating is used for evaluation. The program prints the root mean
// square error (RMSE) of the predictions for these ratings.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "examples/experiment_program.h"
#include "libs/api/weft.h"

ABSL_FLAG(std::string, data_dir, "",
          "Directory of u.data, as in MovieLens 100K: lines of user, film, "
          "rating and a time, separated by tabs; empty: two thousand ratings "
          "that are generated and come with this program.");
ABSL_FLAG(
    std::string, model_dir, "",
    "Where checkpoints and TensorBoard's log go, the same for all tasks; "
    "training continues from a checkpoint there. Empty: a new directory.");
ABSL_FLAG(std::string, hparams, "",
          "Hyperparameters other than those that it has, as "
          "dimension=20,learning_rate=0.1,l2=0.1.");
ABSL_FLAG(int64_t, steps, 1500, "Steps of all workers together.");
ABSL_FLAG(int64_t, save_every, 500, "Steps from one checkpoint to the next.");
ABSL_FLAG(int64_t, seed, 1, "Seed of the weights and of the order of rows.");

namespace weft::examples {
namespace {

using namespace estimator;       // NOLINT: programs of users begin like this
using namespace feature_column;  // NOLINT

constexpr char kLabel[] = "rating";

InputFn Ratings(const std::string& path, int64_t batch_size,
                const RunConfig::Shard& shard, bool for_training) {
  CsvInputOptions options;
  options.label_name = kLabel;
  options.field_delim = '\t';
  options.column_names = {"user", "film", kLabel, "time"};
  options.select_columns = {"user", "film", kLabel};
  options.column_defaults = {{"user", Tensor::Scalar(int64_t{0})},
                             {"film", Tensor::Scalar(int64_t{0})},
                             {kLabel, Tensor::Scalar(0.0f)}};
  options.rows = PartRows(batch_size, shard, for_training);
  return CsvInputFn(path, options);
}

// Adds an L2 penalty for the vectors of a batch, so that users with few ratings
// stay near the mean.
void AddPenalty(const Scope& scope, const Output& vectors, double l2) {
  scope.AddToCollection(
      collection::kRegularizationLosses,
      ops::Mul(scope, ops::Sum(scope, ops::Square(scope, vectors), {0, 1}),
               static_cast<float>(l2)));
}

// Returns the predicted ratings, with shape [batch, 1].
Output Stars(const Scope& scope, const ModelInput& input,
             const HParams& params) {
  const auto buckets = params.Get<int64_t>("hash_bucket_size");
  LinearOptions alone;
  std::vector<Output> vectors;
  for (const std::string name : {"user", "film"}) {
    const auto ids = CategoricalColumnWithHashBucket(name, buckets, DT_INT64);
    alone.feature_columns.push_back(ids);
    const Output vector =
        InputLayer(ops::VariableScope(scope, "product"), input.features,
                   {EmbeddingColumn(ids, params.Get<int64_t>("dimension"))});
    if (!vector) return vector;
    if (input.mode == Mode::kTrain) {
      AddPenalty(scope, vector, params.Get<double>("l2"));
    }
    vectors.push_back(vector);
  }
  const Output apart =
      LinearLogits(ops::VariableScope(scope, "alone"), input.features,
                   input.mode == Mode::kTrain, alone, 1);
  if (!apart) return apart;
  const Output product = ops::Sum(
      scope, ops::Mul(scope, vectors[0], vectors[1]), {1}, {.keep_dims = true});
  return ops::Add(scope, ops::Add(scope, apart, product), 3.0f);
}

ModelFn Factorization(const HParams& params) {
  return [params](const Scope& scope,
                  const ModelInput& input) -> absl::StatusOr<EstimatorSpec> {
    const Output stars = Stars(scope, input, params);
    RETURN_IF_ERROR(scope.status());
    ASSIGN_OR_RETURN(const auto head, RegressionHead());
    const auto rate = static_cast<float>(params.Get<double>("learning_rate"));
    return head->CreateEstimatorSpec(
        scope, input, stars,
        [=](const Scope& s, const Output& loss) -> absl::StatusOr<Operation> {
          return train::Adagrad(rate).Minimize(
              s, loss, {.global_step = train::GetGlobalStep(s)});
        });
  };
}

ExperimentFn Program(const std::string& path, Logger& logger) {
  return [&path, &logger](const RunConfig& config,
                          const HParams& params) -> absl::StatusOr<Experiment> {
    const auto batch_size = params.Get<int64_t>("batch_size");
    const int64_t steps = absl::GetFlag(FLAGS_steps);
    EstimatorOptions quietly;
    quietly.logger = &logger;
    return Experiment(
        {.estimator = Estimator(Factorization(params), quietly, config),
         .train_input_fn = Ratings(path, batch_size, config.InputShard(), true),
         .eval_input_fn = Ratings(path, 1000, {}, false),
         .train_steps = steps,
         .eval_steps = std::nullopt,
         .train_monitors = {ShowProgress(steps, batch_size)},
         .continuous_eval_throttle_secs = 0});
  };
}

absl::Status Main(const std::string& program, const StopSignals& signals) {
  HParams params({{"dimension", 20},
                  {"hash_bucket_size", 100000},
                  {"learning_rate", 0.1},
                  {"l2", 0.1},
                  {"batch_size", 1000}});
  RETURN_IF_ERROR(params.Parse(absl::GetFlag(FLAGS_hparams)));
  ASSIGN_OR_RETURN(
      const std::string data,
      FindData(program, absl::GetFlag(FLAGS_data_dir), "u.data",
               "generated_ratings.data",
               "Give the directory of MovieLens 100K's u.data with --data_dir "
               "(grouplens.org/datasets/movielens/100k)."));
  Warnings logger("movielens");
  return RunExperiment({.name = "movielens",
                        .model_dir = absl::GetFlag(FLAGS_model_dir),
                        .save_every = absl::GetFlag(FLAGS_save_every),
                        .seed = absl::GetFlag(FLAGS_seed)},
                       Program(data, logger), params, signals);
}

}  // namespace
}  // namespace weft::examples

int main(int argc, char** argv) {
  return weft::examples::ProgramMain(
      argc, argv, "Learns film ratings of users.", weft::examples::Main);
}
