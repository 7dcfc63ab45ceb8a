// SavedTraining: a small model on three parameter servers that is saved as it
// is trained: each of them writes its part of a checkpoint, side by side.
//
// Threads: used by one. What it has to say goes to standard output.
#ifndef WEFT_EXAMPLES_SAVED_TRAINING_H_
#define WEFT_EXAMPLES_SAVED_TRAINING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "libs/api/weft.h"

namespace weft::examples {

struct SavedTrainingOptions {
  std::string folder;  // of the checkpoints
  // The global step at which it ends.
  int64_t steps = 5000;
  // Steps from one checkpoint to the next.
  int64_t save_every = 1000;
};

class SavedTraining {
 public:
  explicit SavedTraining(SavedTrainingOptions options);

  // One session, from the newest checkpoint on if there is one, to the end.
  absl::Status Train(const std::string& target);

 private:
  absl::Status RestoreOrInitialize(Session& session);
  absl::Status Save(Session& session, int64_t step, float loss);

  const SavedTrainingOptions options_;
  Scope root_ = Scope::Root();
  Output step_;  // after the step
  Output loss_;
  Operation train_;
  Operation init_;
  std::optional<train::Saver> saver_;
};

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_SAVED_TRAINING_H_
