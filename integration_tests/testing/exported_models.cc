// Trains each canned model for a few steps and exports it for serving:
//
//   exported_models DIR [EXPORTS]
//
// The export of model NAME is in EXPORTS/NAME/SECONDS (default:
// DIR/NAME/SECONDS). EXPORTS may be in an object store. The program prints its
// own predictions for the examples in People() as lines "NAME KEY VALUES", each
// with the values for all people. Finally it deletes the vocabulary file used
// in training.
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/logging.h"
#include "libs/base/status.h"
#include "libs/estimator/canned/canned.h"
#include "libs/estimator/inputs.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/variable.h"
#include "libs/runtime/process/process.h"
#include "libs/train/optimizers/global_step.h"
#include "libs/train/optimizers/optimizer.h"

namespace weft::estimator {
namespace {

using feature_column::BucketizedColumn;
using feature_column::CategoricalColumnWithHashBucket;
using feature_column::CategoricalColumnWithVocabularyFile;
using feature_column::CrossedColumn;
using feature_column::EmbeddingColumn;
using feature_column::IndicatorColumn;
using feature_column::NumericColumn;

struct Columns {
  FeatureColumns wide, deep;
};

Columns ColumnsOf(const std::string& vocabulary_file) {
  const auto age = NumericColumn("age");
  const auto city =
      CategoricalColumnWithVocabularyFile("city", vocabulary_file);
  return {{BucketizedColumn(age, {30, 40, 50}), city,
           CrossedColumn({"job", "city"}, 20)},
          {age, IndicatorColumn(city),
           EmbeddingColumn(CategoricalColumnWithHashBucket("job", 50), 3)}};
}

// Returns the data for training and prediction.
std::map<std::string, Tensor> People() {
  return {
      {"age", Tensor::Vector<float>({25, 33.5, 61, 48})},
      {"job", Tensor::Vector<std::string>({"cook", "smith", "cook", "\xff"})},
      {"city", Tensor::Vector<std::string>({"Ulm", "Rome", "Oslo", "?"})}};
}

InputFn Input(const Tensor& labels, std::optional<int64_t> epochs) {
  TensorInputOptions options;
  options.batch_size = 4;
  options.num_epochs = epochs;
  return TensorInputFn(People(), labels, options);
}

absl::Status PrintPredictions(const std::string& name, Estimator& model) {
  PredictOptions options;
  options.yield_single_examples = false;
  ASSIGN_OR_RETURN(auto stream, model.Predict(Input(Tensor(), 1), options));
  ASSIGN_OR_RETURN(const auto batch, stream->Next());
  if (!batch) return absl::InternalError("the model returned no predictions");
  for (const auto& [key, value] : *batch) {
    std::printf("%s %s", name.c_str(), key.c_str());
    for (int64_t i = 0; i < value.num_elements(); ++i) {
      if (value.dtype() == DT_STRING) {
        std::printf(" %s", value.flat<std::string>()[i].c_str());
      } else if (value.dtype() == DT_FLOAT) {
        std::printf(" %.9g", double{value.flat<float>()[i]});
      } else {
        std::printf(" %d", value.dtype() == DT_INT64
                               ? static_cast<int>(value.flat<int64_t>()[i])
                               : value.flat<int32_t>()[i]);
      }
    }
    std::printf("\n");
  }
  return absl::OkStatus();
}

// A custom model_fn that computes y = scale * age. Its export has outputs of
// its own.
absl::StatusOr<EstimatorSpec> ScaledAge(const Scope& scope,
                                        const ModelInput& input) {
  const auto scale = ops::Variable(scope.WithName("scale"), 0.5f);
  const Output age = ops::Reshape(scope, input.features.at("age").dense(),
                                  Tensor::Vector<int32_t>({-1, 1}));
  EstimatorSpec spec;
  spec.predictions["scaled"] = ops::Mul(scope, age, scale);
  if (input.mode == Mode::kPredict) {
    spec.export_outputs["twice"] = PredictOutput{
        {{"scaled", ops::Mul(scope, spec.predictions["scaled"], 1.0f)}}};
    return spec;
  }
  spec.loss = ops::Mean(scope, ops::Square(scope, spec.predictions["scaled"]),
                        Tensor::Vector<int32_t>({0, 1}));
  spec.train_op = train::GradientDescent(1e-4f).Minimize(
      scope, spec.loss, {.global_step = train::GetGlobalStep(scope)});
  return spec;
}

class Exports {
 public:
  Exports(std::string directory, std::string exports)
      : directory_(std::move(directory)),
        exports_(std::move(exports)),
        vocabulary_(JoinPath(directory_, "cities.txt")) {}

  absl::Status Run() {
    RETURN_IF_ERROR(files_.CreateDirectories(directory_));
    RETURN_IF_ERROR(
        files_.WriteFileAtomically(vocabulary_, "Rome\nUlm\nOslo\n"));
    RETURN_IF_ERROR(ExportClassifiers());
    RETURN_IF_ERROR(ExportRegressors());
    RETURN_IF_ERROR(Export("model_fn", Tensor(), [](const RunConfig& config) {
      return Estimator(ScaledAge, {}, config);
    }));
    return files_.DeleteFile(vocabulary_);
  }

 private:
  using Make = std::function<Estimator(const RunConfig& config)>;

  absl::Status Export(const std::string& name, const Tensor& labels,
                      const Make& make) {
    RunConfig config;
    config.model_dir = JoinPath(directory_, absl::StrCat(name, "_model"));
    config.tf_random_seed = 7;
    config.session_config.process = &process_;
    Estimator model = make(config);
    RETURN_IF_ERROR(
        Annotate(model.Train(Input(labels, {}), {.steps = 20}), name));
    RETURN_IF_ERROR(PrintPredictions(name, model));
    const Columns columns = ColumnsOf(vocabulary_);
    FeatureColumns all = columns.wide;
    all.insert(all.end(), columns.deep.begin(), columns.deep.end());
    ASSIGN_OR_RETURN(const auto spec,
                     feature_column::MakeParseExampleSpec(all));
    return model
        .ExportSavedModel(JoinPath(exports_, name),
                          BuildParsingServingInputReceiverFn(spec))
        .status();
  }

  absl::Status ExportClassifiers() {
    const Columns columns = ColumnsOf(vocabulary_);
    const auto two = Tensor::Vector<int64_t>({0, 1, 1, 0});
    const auto words = Tensor::Vector<std::string>({"no", "yes", "yes", "no"});
    const auto three = Tensor::Vector<int64_t>({0, 1, 2, 0});
    RETURN_IF_ERROR(
        Export("linear_classifier", two, [&](const RunConfig& config) {
          return LinearClassifier({.feature_columns = columns.wide}, config);
        }));
    RETURN_IF_ERROR(
        Export("vocabulary_classifier", words, [&](const RunConfig& config) {
          return LinearClassifier({.feature_columns = columns.wide}, config,
                                  {.label_vocabulary = {"no", "yes"}});
        }));
    RETURN_IF_ERROR(
        Export("dnn_classifier", three, [&](const RunConfig& config) {
          return DnnClassifier({.hidden_units = {8, 4},
                                .feature_columns = columns.deep,
                                .batch_norm = true},
                               config, {.n_classes = 3});
        }));
    RETURN_IF_ERROR(
        Export("combined_classifier", two, [&](const RunConfig& config) {
          return DnnLinearCombinedClassifier(
              {.linear_feature_columns = columns.wide,
               .dnn_feature_columns = columns.deep,
               .dnn_hidden_units = {6}},
              config);
        }));
    return Export("baseline_classifier", three, [](const RunConfig& config) {
      return BaselineClassifier({}, config, {.n_classes = 3});
    });
  }

  absl::Status ExportRegressors() {
    const Columns columns = ColumnsOf(vocabulary_);
    const auto one = Tensor::Vector<float>({1, 2.5, -1, 0});
    const Tensor pairs = Tensor::FromValues<float>(TensorShape({4, 2}),
                                                   {1, 2, 3, 4, 5, 6, 7, 8});
    RETURN_IF_ERROR(
        Export("linear_regressor", one, [&](const RunConfig& config) {
          return LinearRegressor({.feature_columns = columns.wide}, config);
        }));
    RETURN_IF_ERROR(
        Export("dnn_regressor", pairs, [&](const RunConfig& config) {
          return DnnRegressor(
              {.hidden_units = {5}, .feature_columns = columns.deep}, config,
              {.label_dimension = 2});
        }));
    RETURN_IF_ERROR(
        Export("combined_regressor", one, [&](const RunConfig& config) {
          return DnnLinearCombinedRegressor(
              {.linear_feature_columns = columns.wide,
               .dnn_feature_columns = columns.deep,
               .dnn_hidden_units = {4}},
              config);
        }));
    return Export("baseline_regressor", one, [](const RunConfig& config) {
      return BaselineRegressor({}, config);
    });
  }

  const std::string directory_;
  const std::string exports_;
  const std::string vocabulary_;
  LocalFileSystem files_;
  Process process_;
};

}  // namespace
}  // namespace weft::estimator

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: exported_models DIR [EXPORTS]\n");
    return 2;
  }
  const absl::Status status =
      weft::estimator::Exports(argv[1], argv[argc - 1]).Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
