// Models that benchmarks/training/estimator.cc trains, and their data. They
// equal those of the TensorFlow benchmark and of DeepRec.
//
// Threads: the functions have no state. The returned objects have the thread
// safety of an Estimator.
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
  bool in_memory = false;  // rows are decoded once and stay in memory
  // units of hidden layers; empty: the default of the model
  std::vector<int64_t> hidden;
  std::string optimizer;  // for DeepRec's models: "adagrad" or "adam"
  int64_t seed = 1;
  Logger* logger = nullptr;  // must outlive the model
};

struct EstimatorTask {
  estimator::Estimator model;
  // Returns the training input for a number of epochs. nullopt means that it is
  // endless.
  std::function<estimator::InputFn(std::optional<int64_t> epochs)> train_input;
  estimator::InputFn eval_input;
  int64_t train_rows = 0;
  int64_t eval_rows = 0;
};

// Returns the wide & deep model that the TensorFlow benchmark trains on UCI
// Adult. Four fifths of the rows, in an order that depends only on the seed,
// are for training, and the others for evaluation.
absl::StatusOr<EstimatorTask> AdultWideDeep(const EstimatorSettings& settings);

// Returns the wide & deep model of DeepRec's modelzoo for Criteo, which has 13
// numeric columns and 26 categorical columns with 10,000 buckets each.
// Embeddings have 64 or 128 floats (2,173 in total with the numbers), and the
// layers have 1024, 512 and 256 units.
absl::StatusOr<EstimatorTask> CriteoWideDeep(const EstimatorSettings& settings);
// Returns the DLRM model of DeepRec's modelzoo for Criteo. Embeddings have 16
// floats. The numbers pass through layers of 512, 256, 64 and 16 units with
// batch norm. The products of all pairs of the 27 vectors pass through layers
// of 512 and 256 units.
absl::StatusOr<EstimatorTask> CriteoDlrm(const EstimatorSettings& settings);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_TRAINING_ESTIMATOR_MODELS_H_
