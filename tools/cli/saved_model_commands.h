// The commands for SavedModels: show a model, and run a prediction.
//
// The functions block while they read files, including those of checkpoint
// writers and object stores, and while they run the model in this process.
#ifndef WEFT_TOOLS_CLI_SAVED_MODEL_COMMANDS_H_
#define WEFT_TOOLS_CLI_SAVED_MODEL_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"
#include "libs/runtime/process/process.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Returns the SavedModel directory for `path`: either `path` itself, or the
// newest export in its numbered directories. Returns NOT_FOUND if there is
// none.
absl::StatusOr<std::string> FindSavedModel(FileSystem& files,
                                           const std::string& path);

// Returns a text that shows tags, signatures, inputs and outputs of a model.
absl::StatusOr<std::string> RunSavedModelShow(FileSystem& files,
                                              const std::string& path,
                                              Format format);

struct Prediction {
  std::string text;
  // Warnings about parts of the request that the model ignores.
  std::vector<std::string> warnings;
};
// Returns the model's reply to the request (see serving_json.h). The signature
// is that of the invocation or else of the request, by default
// "serving_default".
absl::StatusOr<Prediction> RunPredict(Process& process, const std::string& path,
                                      const Invocation& invocation,
                                      const std::string& request);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_SAVED_MODEL_COMMANDS_H_
