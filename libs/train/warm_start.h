// WarmStart: variables begin with what a checkpoint of another training holds,
// TensorFlow's tf.train.warm_start.
//
//   train::ScaffoldOptions options;
//   ASSIGN_OR_RETURN(
//       options.initializers,
//       train::WarmStart(root, {.ckpt_to_initialize_from = "/jobs/old"}));
//   auto scaffold = std::make_shared<train::Scaffold>(std::move(options));
//
// It adds initializers that read the checkpoint, beside those of the variables,
// and returns them. Variables that are restored from a checkpoint of their own
// training are not initialised, and so are not touched.
//
// The checkpoint is looked into here, for a tensor that is missing or of
// another shape is an error of the graph; and read by the tasks of the
// variables. Both need its files.
//
// Errors: NOT_FOUND without a checkpoint, or without a tensor in it;
// INVALID_ARGUMENT where shapes, types, vocabularies or names do not fit. Each
// names the variable.
//
// Threads: as the scope's. Blocks on files.
#ifndef WEFT_LIBS_TRAIN_WARM_START_H_
#define WEFT_LIBS_TRAIN_WARM_START_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/base/logging.h"
#include "libs/fs/file_system.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/initializers.h"
#include "libs/train/scaffold.h"

namespace weft::train {

// Of a variable with a row, or a column, for each line of a file: the rows
// follow their words from the old file to the new one.
struct VocabInfo {
  std::string new_vocab;  // path
  int64_t new_vocab_size = 0;
  int64_t num_oov_buckets = 0;  // rows after those of the words
  std::string old_vocab;
  int64_t old_vocab_size = -1;  // its first lines; -1: all
  // Of new words and of the buckets; null: zeros.
  ops::Initializer backup_initializer;
  int axis = 0;  // 0: rows, 1: columns
};

struct WarmStartSettings {
  // A prefix, or a folder, which stands for its newest checkpoint.
  std::string ckpt_to_initialize_from;
  // A regular expression that the beginning of a trainable variable's name
  // ("dnn/hiddenlayer_0/kernel:0") must match; or several, for all global
  // variables, slots and moving averages among them; or none: only variables in
  // var_name_to_vocab_info.
  std::variant<std::string, std::vector<std::string>, std::monostate>
      vars_to_warm_start = ".*";
  // By name: of a partitioned variable, the name of the whole.
  std::map<std::string, VocabInfo> var_name_to_vocab_info;
  // What a variable was called then.
  std::map<std::string, std::string> var_name_to_prev_var_name;
};

// `files` has the checkpoint; null: the machine's. `logger` null: stderr.
absl::StatusOr<VariableInitializers> WarmStart(
    const Scope& scope, const WarmStartSettings& settings,
    FileSystem* files = nullptr, Logger* logger = nullptr);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_WARM_START_H_
