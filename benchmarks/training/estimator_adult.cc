// Implements AdultWideDeep, the same model that the TensorFlow benchmark trains
// on UCI Adult.
#include <map>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "benchmarks/training/estimator_models.h"
#include "libs/fs/local_file_system.h"

namespace weft::benchmarks {
namespace {

using namespace estimator;       // NOLINT: programs of users begin like this
using namespace feature_column;  // NOLINT

constexpr char kLabel[] = "income-per-year";
constexpr char kUnused[] = "fnlwgt";

struct Scaled {
  const char* name;
  float mean, scale;
};
constexpr Scaled kNumbers[] = {{"age", 38.6f, 13.6f},
                               {"education-num", 10.1f, 2.6f},
                               {"capital-gain", 0.0f, 7000.0f},
                               {"capital-loss", 0.0f, 400.0f},
                               {"hours-per-week", 40.4f, 12.3f}};
const std::pair<const char*, int64_t> kShort[] = {{"workclass", 16},
                                                  {"education", 20},
                                                  {"marital-status", 10},
                                                  {"relationship", 8}};

bool IsNumber(const std::string& name) {
  for (const Scaled& number : kNumbers) {
    if (name == number.name) return true;
  }
  return name == kUnused;
}

// Returns numpy.random.RandomState(seed).permutation(n), the order of rows in
// the TensorFlow benchmark.
std::vector<size_t> Permutation(int64_t seed, size_t n) {
  std::mt19937 generator(static_cast<uint32_t>(seed));
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = i;
  for (size_t i = n; i-- > 1;) {
    uint32_t mask = 1;
    while (mask < i) mask = mask << 1 | 1;
    uint32_t j = generator() & mask;
    while (j > i) j = generator() & mask;
    std::swap(order[i], order[j]);
  }
  return order;
}

struct Files {
  std::vector<std::string> names;  // names of the columns
  std::string train, eval;         // paths of the files
  int64_t train_rows = 0, eval_rows = 0;
};

absl::StatusOr<Files> Split(const EstimatorSettings& settings) {
  LocalFileSystem local;
  ASSIGN_OR_RETURN(const std::string text, local.ReadFile(settings.data));
  std::vector<absl::string_view> rows =
      absl::StrSplit(text, '\n', absl::SkipEmpty());
  if (rows.size() < 10) {
    return absl::InvalidArgumentError(
        absl::StrCat(settings.data, " has no rows below its header."));
  }
  Files files;
  files.names = absl::StrSplit(rows[0], ',');
  rows.erase(rows.begin());
  const size_t cut = rows.size() * 4 / 5;
  std::vector<absl::string_view> parts[2];
  for (const size_t row : Permutation(settings.seed, rows.size())) {
    parts[parts[0].size() < cut ? 0 : 1].push_back(rows[row]);
  }
  files.train = settings.scratch + "/train.csv";
  files.eval = settings.scratch + "/eval.csv";
  files.train_rows = static_cast<int64_t>(parts[0].size());
  files.eval_rows = static_cast<int64_t>(parts[1].size());
  for (const bool eval : {false, true}) {
    RETURN_IF_ERROR(local.WriteFileAtomically(
        eval ? files.eval : files.train,
        absl::StrCat(absl::StrJoin(parts[eval ? 1 : 0], "\n"), "\n")));
  }
  return files;
}

// Parses batches of csv lines into columns.
ops::Dataset Parsed(const ops::Dataset& lines,
                    const std::vector<std::string>& columns) {
  InputList defaults;
  std::vector<std::string> names;
  for (const std::string& name : columns) {
    defaults.push_back(IsNumber(name) ? Input(0.0f) : Input(std::string()));
    if (name != kUnused) names.push_back(name);
  }
  return lines.Map(
      [=](const Scope& s, const std::vector<Output>& batch) {
        const auto values = ops::DecodeCSV(s, batch[0], defaults);
        std::vector<Output> used;
        for (size_t i = 0; i < values.size(); ++i) {
          if (columns[i] == kUnused) continue;
          used.push_back(
              columns[i] == kLabel
                  ? ops::Cast(s, ops::Equal(s, values[i], ">50K"), DT_FLOAT)
                  : values[i]);
        }
        return used;
      },
      {.names = names});
}

InputFn Rows(const std::string& path, const std::vector<std::string>& columns,
             const EstimatorSettings& settings, std::optional<int64_t> epochs) {
  return DatasetInputFn(
      [=, batch = settings.batch, in_memory = settings.in_memory](
          const Scope& scope) -> absl::StatusOr<ops::Dataset> {
        const int64_t times = epochs.value_or(-1);
        const auto lines = ops::TextLineDataset(scope, {path});
        if (!in_memory) {
          return Parsed(lines.Repeat(times).Batch(batch), columns).Prefetch(1);
        }
        return Parsed(lines.Batch(int64_t{1} << 20), columns)
            .Unbatch()
            .Cache()
            .Repeat(times)
            .Batch(batch)
            .Prefetch(1);
      },
      kLabel);
}

FeatureColumn Number(const Scaled& of) {
  NumericColumnOptions options;
  options.normalizer_fn = [of](const Scope& scope, const Output& values) {
    return ops::Div(scope, ops::Sub(scope, values, of.mean), of.scale);
  };
  return NumericColumn(of.name, options);
}

Estimator WideDeep(const EstimatorSettings& settings) {
  DnnLinearCombinedOptions model;
  const auto ages = BucketizedColumn(NumericColumn("age"),
                                     {18, 25, 30, 35, 40, 45, 50, 55, 60, 65});
  const auto job = CategoricalColumnWithHashBucket("occupation", 1000);
  for (const Scaled& number : kNumbers) {
    model.dnn_feature_columns.push_back(Number(number));
  }
  for (const auto& [name, size] : kShort) {
    const auto column = CategoricalColumnWithHashBucket(name, size);
    model.linear_feature_columns.push_back(column);
    model.dnn_feature_columns.push_back(IndicatorColumn(column));
  }
  model.dnn_feature_columns.push_back(EmbeddingColumn(job, 8));
  for (const FeatureColumn& column :
       {job, ages, CrossedColumn({"education", "occupation"}, 1000),
        CrossedColumn({ages, "education", "occupation"}, 1000)}) {
    model.linear_feature_columns.push_back(column);
  }
  model.dnn_hidden_units = settings.hidden.empty()
                               ? std::vector<int64_t>{100, 75, 50, 25}
                               : settings.hidden;
  model.estimator.logger = settings.logger;
  RunConfig config;
  config.model_dir = settings.scratch + "/model";
  config.tf_random_seed = settings.seed;
  return DnnLinearCombinedClassifier(model, config);
}

}  // namespace

absl::StatusOr<EstimatorTask> AdultWideDeep(const EstimatorSettings& settings) {
  ASSIGN_OR_RETURN(const Files files, Split(settings));
  return EstimatorTask{
      WideDeep(settings),
      [=](std::optional<int64_t> epochs) {
        return Rows(files.train, files.names, settings, epochs);
      },
      Rows(files.eval, files.names, settings, 1), files.train_rows,
      files.eval_rows};
}

}  // namespace weft::benchmarks
