// Models trained by benchmarks/training/estimator.cc, and their data, equal to
// those on TensorFlow's side and in DeepRec.
//
// Values and functions; the returned objects are as thread-safe as the
// Estimator.
#ifndef WEFT_BENCHMARKS_TRAINING_ESTIMATOR_MODELS_H_
#define WEFT_BENCHMARKS_TRAINING_ESTIMATOR_MODELS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/api/weft.h"
#include "libs/base/logging.h"

namespace weft::benchmarks {

struct EstimatorSettings {
  std::string data;     // adult.csv, or the directory of train.tsv and dev.tsv
  std::string scratch;  // an existing directory for files and the model
  int64_t batch = 128;
  bool in_memory = false;       // rows are decoded once
  std::vector<int64_t> hidden;  // empty: the default of the model
  std::string optimizer;        // of DeepRec's models: "adagrad" or "adam"
  int64_t seed = 1;
  Logger* logger = nullptr;  // outlives the model
};

struct EstimatorTask {
  estimator::Estimator model;
  // Number of epochs; none: endless.
  std::function<estimator::InputFn(std::optional<int64_t> epochs)> train_input;
  estimator::InputFn eval_input;
  int64_t train_rows = 0;
  int64_t eval_rows = 0;
};

// The wide & deep model of the baseline on UCI Adult: four fifths of the rows,
// in an order fixed by the seed, for training, the rest for evaluation.
absl::StatusOr<EstimatorTask> AdultWideDeep(const EstimatorSettings& settings);

// A model of DeepRec's modelzoo on Criteo: 13 numbers, and 26 categories in
// 10,000 buckets each. Wide & deep: rows of 64 or 128 floats (2,173 in total
// with the numbers), and layers of 1024, 512 and 256 units.
absl::StatusOr<EstimatorTask> CriteoWideDeep(const EstimatorSettings& settings);
// DLRM: rows of 16 floats; numbers pass layers of 512, 256, 64 and 16 units
// with batch norm; products of all pairs of the 27 vectors; layers of 512 and
// 256 units above.
absl::StatusOr<EstimatorTask> CriteoDlrm(const EstimatorSettings& settings);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_TRAINING_ESTIMATOR_MODELS_H_
