// SavedTraining trains a small model on three parameter servers and saves it.
// The servers write their parts of a checkpoint in parallel.
//
// Not thread-safe. Messages are printed to stdout.
#ifndef WEFT_EXAMPLES_SAVED_TRAINING_H_
#define WEFT_EXAMPLES_SAVED_TRAINING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "libs/api/weft.h"

namespace weft::examples {

struct SavedTrainingOptions {
  std::string folder;  // folder of the checkpoints
  // The global step at which training ends.
  int64_t steps = 5000;
  // Number of steps between two checkpoints.
  int64_t save_every = 1000;
};

class SavedTraining {
 public:
  explicit SavedTraining(SavedTrainingOptions options);

  // Trains in one session to the end, starting from the newest checkpoint if
  // there is one.
  absl::Status Train(const std::string& target);

 private:
  absl::Status RestoreOrInitialize(Session& session);
  absl::Status Save(Session& session, int64_t step, float loss);

  const SavedTrainingOptions options_;
  Scope root_ = Scope::Root();
  Output step_;  // the global step after a training step
  Output loss_;
  Operation train_;
  Operation init_;
  std::optional<train::Saver> saver_;
};

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_SAVED_TRAINING_H_
