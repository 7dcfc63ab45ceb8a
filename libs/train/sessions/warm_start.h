// WarmStart initializes variables from a checkpoint of another training, like
// TensorFlow's tf.train.warm_start.
//
//   train::ScaffoldOptions options;
//   ASSIGN_OR_RETURN(
//       options.initializers,
//       train::WarmStart(root, {.ckpt_to_initialize_from = "/jobs/old"}));
//   auto scaffold = std::make_shared<train::Scaffold>(std::move(options));
//
// It adds initializers that read the checkpoint, in addition to the variables'
// own initializers, and returns the added ones. Variables that are restored
// from a checkpoint of their own training are not initialized, and so are not
// affected.
//
// The checkpoint is inspected here, because a missing tensor or shape mismatch
// is a graph error, and read by the tasks of the variables. Both need access to
// its files.
//
// Errors: NOT_FOUND if the checkpoint or a tensor in it is missing;
// INVALID_ARGUMENT if shapes, types, vocabularies or names do not match. Each
// error names the variable.
//
// The function is as thread-safe as the scope. It blocks on files.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_WARM_START_H_
#define WEFT_LIBS_TRAIN_SESSIONS_WARM_START_H_

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
#include "libs/train/sessions/scaffold.h"

namespace weft::train {

// For a variable with a row, or a column, per line of a vocabulary file: rows
// follow their words from the old file to the new one.
struct VocabInfo {
  std::string new_vocab;  // path of the file
  int64_t new_vocab_size = 0;
  int64_t num_oov_buckets = 0;  // number of rows after the rows of words
  std::string old_vocab;
  int64_t old_vocab_size = -1;  // number of lines to use; -1: all
  // Initializer of new words and of the buckets; null: zeros.
  ops::Initializer backup_initializer;
  int axis = 0;  // 0: rows, 1: columns
};

struct WarmStartSettings {
  // A checkpoint prefix, or a directory, which stands for its newest
  // checkpoint.
  std::string ckpt_to_initialize_from;
  // A regular expression that must match the beginning of a trainable
  // variable's name ("dnn/hiddenlayer_0/kernel:0"); or several, for all global
  // variables, including slots and moving averages; or none: only variables in
  // var_name_to_vocab_info.
  std::variant<std::string, std::vector<std::string>, std::monostate>
      vars_to_warm_start = ".*";
  // Vocabularies by the name of the variable; for a partitioned variable, the
  // name of the whole variable.
  std::map<std::string, VocabInfo> var_name_to_vocab_info;
  // Maps the name of a variable to its name in the checkpoint.
  std::map<std::string, std::string> var_name_to_prev_var_name;
};

// `files` holds the checkpoint; null: the local file system. `logger` null:
// stderr.
absl::StatusOr<VariableInitializers> WarmStart(
    const Scope& scope, const WarmStartSettings& settings,
    FileSystem* files = nullptr, Logger* logger = nullptr);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_WARM_START_H_
