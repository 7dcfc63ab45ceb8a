// Implements CriteoWideDeep and CriteoDlrm, two models from DeepRec's modelzoo
// in their original sizes.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "benchmarks/training/estimator_models.h"
#include "libs/fs/local_file_system.h"

namespace weft::benchmarks {
namespace {

using namespace estimator;       // NOLINT: programs of users begin like this
using namespace feature_column;  // NOLINT

constexpr int kNumbers = 13;
constexpr int kCategories = 26;
constexpr int64_t kBuckets = 10000;
constexpr int64_t kShuffleBuffer = 20000;
constexpr float kLearningRate = 0.01f;
constexpr float kLinearLearningRate = 0.2f;
constexpr char kLabel[] = "clicked";
constexpr int64_t kDlrmRow = 16;
// For each numeric column, its minimum in all rows of Criteo and the range from
// its minimum to its maximum.
constexpr std::pair<float, float> kRanges[kNumbers] = {
    {0, 1539},   {-3, 22069}, {0, 65535}, {0, 561},   {0, 2655388},
    {0, 233523}, {0, 26297},  {0, 5106},  {0, 24376}, {0, 9},
    {0, 181},    {0, 1807},   {0, 6879}};

std::vector<std::string> Names(const char* letter, int count) {
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i) names.push_back(absl::StrCat(letter, i));
  return names;
}

ops::Dataset Parsed(const ops::Dataset& lines) {
  InputList defaults = {0};
  defaults.insert(defaults.end(), kNumbers, Input(0.0f));
  defaults.insert(defaults.end(), kCategories, Input(" "));
  std::vector<std::string> names = {kLabel};
  for (const auto& more : {Names("I", kNumbers), Names("C", kCategories)}) {
    names.insert(names.end(), more.begin(), more.end());
  }
  return lines.Map(
      [=](const Scope& s, const std::vector<Output>& batch) {
        return ops::DecodeCSV(s, batch[0], defaults, {.field_delim = "\t"});
      },
      {.names = names});
}

InputFn Rows(const std::string& path, const EstimatorSettings& settings,
             std::optional<int64_t> epochs, bool shuffle) {
  return DatasetInputFn(
      [=](const Scope& scope) -> absl::StatusOr<ops::Dataset> {
        const int64_t times = epochs.value_or(-1);
        auto lines = ops::TextLineDataset(scope, {path});
        const auto mixed = [&](const ops::Dataset& rows) {
          return shuffle ? rows.Shuffle(kShuffleBuffer, {.seed = settings.seed})
                         : rows;
        };
        if (settings.in_memory) {
          const auto rows =
              Parsed(lines.Batch(int64_t{1} << 20)).Unbatch().Cache();
          return mixed(rows).Repeat(times).Batch(settings.batch).Prefetch(2);
        }
        return Parsed(mixed(lines).Repeat(times).Batch(settings.batch))
            .Prefetch(2);
      },
      kLabel);
}

OptimizerChoice Optimizer(const EstimatorSettings& settings) {
  const bool adam = settings.optimizer == "adam";
  return [adam](const Scope&) -> std::unique_ptr<train::Optimizer> {
    if (adam) return std::make_unique<train::Adam>(kLearningRate);
    return std::make_unique<train::Adagrad>(kLearningRate);
  };
}

RunConfig Config(const EstimatorSettings& settings) {
  RunConfig config;
  config.model_dir = settings.scratch + "/model";
  config.tf_random_seed = settings.seed;
  return config;
}

FeatureColumn Category(const std::string& name) {
  return CategoricalColumnWithHashBucket(name, kBuckets);
}

FeatureColumns NumberColumns(bool scaled) {
  FeatureColumns columns;
  for (int i = 0; i < kNumbers; ++i) {
    NumericColumnOptions number;
    number.normalizer_fn = [i](const Scope& scope, const Output& values) {
      const auto& [least, range] = kRanges[i];
      return ops::Div(scope, ops::Sub(scope, values, least), range);
    };
    columns.push_back(NumericColumn(absl::StrCat("I", i + 1),
                                    scaled ? number : NumericColumnOptions()));
  }
  return columns;
}

absl::StatusOr<int64_t> CountRows(const std::string& path) {
  LocalFileSystem local;
  ASSIGN_OR_RETURN(const std::string text, local.ReadFile(path));
  return static_cast<int64_t>(std::count(text.begin(), text.end(), '\n'));
}

absl::StatusOr<EstimatorTask> WithRows(Estimator model,
                                       const EstimatorSettings& settings) {
  const std::string train = settings.data + "/train.tsv";
  const std::string dev = settings.data + "/dev.tsv";
  ASSIGN_OR_RETURN(const int64_t train_rows, CountRows(train));
  ASSIGN_OR_RETURN(const int64_t eval_rows, CountRows(dev));
  return EstimatorTask{std::move(model),
                       [=](std::optional<int64_t> epochs) {
                         return Rows(train, settings, epochs, true);
                       },
                       Rows(dev, settings, 1, false), train_rows, eval_rows};
}

// ---- DLRM ----

Output Dense(const Scope& scope, const Output& input, int64_t units) {
  if (!input) return input;
  const auto kernel =
      ops::GetVariable(scope, "kernel", {input.shape().dim(1), units});
  const auto bias = ops::GetVariable(
      scope, "bias", {units}, {.initializer = ops::initializers::Zeros()});
  if (!scope.ok()) return Output();
  return ops::BiasAdd(scope, ops::MatMul(scope, input, kernel), bias);
}

Output BatchNorm(const Scope& scope, const Output& input, bool is_training) {
  const int64_t size = input.shape().dim(1);
  const auto variable = [&](const char* name, const ops::Initializer& initial,
                            bool trainable) {
    return ops::GetVariable(scope, name, {size},
                            {.initializer = initial, .trainable = trainable});
  };
  const auto gamma = variable("gamma", ops::initializers::Ones(), true);
  const auto beta = variable("beta", ops::initializers::Zeros(), true);
  const auto mean = variable("moving_mean", ops::initializers::Zeros(), false);
  const auto variance =
      variable("moving_variance", ops::initializers::Ones(), false);
  if (!scope.ok()) return Output();
  nn::MeanAndVariance used{mean.value(), variance.value()};
  if (is_training) {
    used = nn::Moments(scope, input, {0});
    const std::pair<const ops::Variable&, const Output&> updates[] = {
        {mean, used.mean}, {variance, used.variance}};
    for (const auto& [moving, batch] : updates) {
      scope.AddToCollection(
          collection::kUpdateOps,
          Operation(train::AssignMovingAverage(scope, moving, batch, 0.99,
                                               /*zero_debias=*/false)));
    }
  }
  return nn::BatchNormalization(scope, input, used.mean, used.variance, beta,
                                gamma, 0.001);
}

// Returns the dot products of all pairs of vectors, with shape [batch, n * (n -
// 1) / 2].
Output Interactions(const Scope& scope, const InputList& vectors) {
  const auto n = static_cast<int32_t>(vectors.size());
  const Output all = ops::Stack(scope, vectors, {.axis = 1});
  const Output products = ops::Reshape(
      scope, ops::BatchMatMulV2(scope, all, all, {.adj_y = true}), {-1, n * n});
  std::vector<int32_t> below;  // indices of the elements below the diagonal
  for (int32_t row = 0; row < n; ++row) {
    for (int32_t column = 0; column < row; ++column) {
      below.push_back(row * n + column);
    }
  }
  return ops::GatherV2(scope, products, Tensor::Vector<int32_t>(below), 1);
}

Output DlrmLogits(const Scope& scope, const Features& features,
                  const std::vector<int64_t>& top, bool is_training) {
  Output dense = InputLayer(ops::VariableScope(scope, "dense_input_layer"),
                            features, NumberColumns(/*scaled=*/false));
  int layer = 0;
  for (const int64_t units :
       {int64_t{512}, int64_t{256}, int64_t{64}, kDlrmRow}) {
    const Scope inner = ops::VariableScope(
        scope, absl::StrCat("mlp_bot_hiddenlayer_", layer++));
    dense = Dense(inner, dense, units);
    if (!dense) return dense;
    dense = BatchNorm(ops::VariableScope(inner, "batch_normalization"),
                      ops::Relu(inner, dense), is_training);
  }
  InputList vectors = {dense};
  const Scope sparse = ops::VariableScope(scope, "sparse_input_layer");
  for (const std::string& name : Names("C", kCategories)) {
    vectors.emplace_back(InputLayer(
        sparse, features, {EmbeddingColumn(Category(name), kDlrmRow)}));
  }
  if (!scope.ok()) return Output();
  Output net = ops::Concat(scope, {dense, Interactions(scope, vectors)}, 1);
  for (size_t i = 0; i < top.size(); ++i) {
    const Scope inner =
        ops::VariableScope(scope, absl::StrCat("mlp_top_hiddenlayer_", i));
    net = Dense(inner, net, top[i]);
    if (net) net = ops::Relu(inner, net);
  }
  return Dense(ops::VariableScope(scope, "logits"), net, 1);
}

absl::StatusOr<EstimatorSpec> DlrmModel(const Scope& scope,
                                        const ModelInput& input,
                                        const EstimatorSettings& settings) {
  const std::vector<int64_t> top = settings.hidden.empty()
                                       ? std::vector<int64_t>{512, 256}
                                       : settings.hidden;
  const Output logits =
      DlrmLogits(scope, input.features, top, input.mode == Mode::kTrain);
  RETURN_IF_ERROR(scope.status());
  const auto head =
      BinaryClassHead({.loss_reduction = losses::Reduction::kSumOverBatchSize});
  return head->CreateEstimatorSpec(
      scope, input, logits,
      [&](const Scope& s, const Output& loss) -> absl::StatusOr<Operation> {
        ASSIGN_OR_RETURN(const auto optimizer,
                         Optimizer(settings).Make(s, kLearningRate));
        return optimizer->Minimize(s, loss,
                                   {.global_step = train::GetGlobalStep(s)});
      });
}

}  // namespace

absl::StatusOr<EstimatorTask> CriteoWideDeep(
    const EstimatorSettings& settings) {
  const std::set<int> wide_rows = {3, 4, 10, 12, 16, 21, 24, 26};
  DnnLinearCombinedOptions model;
  model.dnn_feature_columns = NumberColumns(/*scaled=*/true);
  model.linear_feature_columns = model.dnn_feature_columns;
  for (int i = 1; i <= kCategories; ++i) {
    const auto category = Category(absl::StrCat("C", i));
    model.linear_feature_columns.push_back(category);
    model.dnn_feature_columns.push_back(
        EmbeddingColumn(category, wide_rows.contains(i) ? 128 : 64));
  }
  model.dnn_hidden_units = settings.hidden.empty()
                               ? std::vector<int64_t>{1024, 512, 256}
                               : settings.hidden;
  model.estimator.logger = settings.logger;
  model.dnn_optimizer = Optimizer(settings);
  model.linear_optimizer =
      [](const Scope&) -> std::unique_ptr<train::Optimizer> {
    return std::make_unique<train::Ftrl>(kLinearLearningRate);
  };
  ClassifierOptions labels;
  labels.loss_reduction = losses::Reduction::kSumOverBatchSize;
  return WithRows(DnnLinearCombinedClassifier(model, Config(settings), labels),
                  settings);
}

absl::StatusOr<EstimatorTask> CriteoDlrm(const EstimatorSettings& settings) {
  EstimatorOptions options;
  options.logger = settings.logger;
  Estimator model(
      [settings](const Scope& scope, const ModelInput& input) {
        return DlrmModel(scope, input, settings);
      },
      options, Config(settings));
  return WithRows(std::move(model), settings);
}

}  // namespace weft::benchmarks
