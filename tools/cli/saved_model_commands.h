// The commands for SavedModels: show a model, and run a prediction.
//
// Functions block: they read files, also of checkpoint writers and object
// stores, and run the model in this process.
#ifndef WEFT_TOOLS_CLI_SAVED_MODEL_COMMANDS_H_
#define WEFT_TOOLS_CLI_SAVED_MODEL_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"
#include "libs/runtime/process/process.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Returns the SavedModel directory for `path`: itself, or the newest of exports
// in numbered directories. NOT_FOUND if there is none.
absl::StatusOr<std::string> FindSavedModel(FileSystem& files,
                                           const std::string& path);

// Shows tags, signatures, inputs and outputs.
absl::StatusOr<std::string> RunSavedModelShow(FileSystem& files,
                                              const std::string& path,
                                              Format format);

struct Prediction {
  std::string text;
  // Warnings about parts of the request that the model ignores.
  std::vector<std::string> warnings;
};
// Returns the model's reply to the request, see serving_json.h. The signature
// is the invocation's, or the request's, or "serving_default".
absl::StatusOr<Prediction> RunPredict(Process& process, const std::string& path,
                                      const Invocation& invocation,
                                      const std::string& request);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_SAVED_MODEL_COMMANDS_H_
