// The commands for SavedModels: what is in one, and what it answers.
//
// Functions that block: they read files, also of checkpoint writers and object
// stores, and run the model in this process.
#ifndef WEFT_TOOLS_CLI_SAVED_MODEL_COMMANDS_H_
#define WEFT_TOOLS_CLI_SAVED_MODEL_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"
#include "libs/runtime/process.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// The directory of the SavedModel that `path` is; of exports, each in a
// directory named by a number, the newest. NOT_FOUND where there is none.
absl::StatusOr<std::string> FindSavedModel(FileSystem& files,
                                           const std::string& path);

// Tags, signatures, inputs and outputs.
absl::StatusOr<std::string> RunSavedModelShow(FileSystem& files,
                                              const std::string& path,
                                              Format format);

struct Prediction {
  std::string text;
  // Sentences about parts of the request that the model does not look at.
  std::vector<std::string> warnings;
};
// What the model answers to the request, serving_json.h. The signature is the
// invocation's, or the request's, or "serving_default".
absl::StatusOr<Prediction> RunPredict(Process& process, const std::string& path,
                                      const Invocation& invocation,
                                      const std::string& request);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_SAVED_MODEL_COMMANDS_H_
