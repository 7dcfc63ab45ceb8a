// Internal state of an Estimator, and the graph of one call.
//
// Threads: only one call at a time, like the Estimator.
#ifndef WEFT_LIBS_ESTIMATOR_ESTIMATOR_IMPL_H_
#define WEFT_LIBS_ESTIMATOR_ESTIMATOR_IMPL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "libs/base/clock.h"
#include "libs/checkpoint/checkpoint_reader.h"
#include "libs/estimator/estimator.h"
#include "libs/fs/local_file_system.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"
#include "libs/summary/event.h"
#include "libs/summary/file_writer.h"
#include "libs/train/sessions/defaults.h"
#include "libs/train/sessions/monitored_session.h"
#include "libs/train/sessions/session_creator.h"

namespace weft::estimator {

class Estimator::Impl {
 public:
  Impl(ModelFn model_fn, EstimatorOptions options, RunConfig config);

  FileSystem& files() {
    return options.file_system != nullptr ? *options.file_system : local_files;
  }
  absl::StatusOr<std::optional<std::string>> LatestCheckpoint();
  // Returns the newest checkpoint like LatestCheckpoint, but NOT_FOUND if the
  // state file names a missing checkpoint.
  absl::StatusOr<std::optional<std::string>> FindLatestCheckpoint();
  // Opens the newest checkpoint; NOT_FOUND if there is no checkpoint.
  absl::StatusOr<std::unique_ptr<checkpoint::CheckpointReader>>
  OpenLatestCheckpoint();
  // Returns `path` or, if that is empty, the newest checkpoint. If there is no
  // checkpoint, logs that and returns "". NOT_FOUND if the state file names a
  // missing checkpoint.
  absl::StatusOr<std::string> CheckpointToUse(const std::string& path,
                                              absl::string_view to_do);
  // Returns the writer of an evaluation directory, created on first use with
  // the graph of that evaluation. It writes one file during the life of the
  // Estimator.
  absl::StatusOr<summary::FileWriter*> EvalWriter(const std::string& directory,
                                                  const Scope& graph);
  // CreatorOptions returns the options of a session creator. SessionOptionsWith
  // returns the options of its MonitoredSession, except the hooks.
  train::SessionCreatorOptions CreatorOptions() const;
  train::MonitoredSessionOptions SessionOptionsWith(
      train::HookList hooks) const;

  const ModelFn model_fn;
  const EstimatorOptions options;
  const RunConfig config;
  const std::string model_dir;
  const absl::Status status;
  LocalFileSystem local_files;
  const train::DefaultLogger logger;
  const train::DefaultScheduler scheduler;

 private:
  std::map<std::string, std::unique_ptr<summary::FileWriter>> eval_writers_;
};

// BuiltModel is the graph of one call of an Estimator.
struct BuiltModel {
  explicit BuiltModel(Scope scope) : root(std::move(scope)) {}
  Scope root;
  ops::Variable global_step;
  InputTensors input;
  EstimatorSpec spec;  // has been checked
};
absl::StatusOr<BuiltModel> BuildModel(const ModelFn& model_fn,
                                      const RunConfig& config, Mode mode,
                                      const InputFn& input_fn);

// Returns a hook that runs the input's initializers in each session; null if
// the input has no initializers.
std::shared_ptr<train::SessionRunHook> InputHook(const InputTensors& input);
// Appends the non-null elements of `from`.
void AddHooks(const train::HookList& from, train::HookList& hooks);

// Returns the scalars, by tag, of an event that an evaluation wrote; empty for
// other events.
std::map<std::string, float> ScalarsOf(const summary::Event& event);

// Parses the version number of an export directory: ten digits, which are the
// seconds since 1970 (until the year 2286). Null for other names.
std::optional<int64_t> ExportVersion(absl::string_view name);

// Returns a scalar number as a double; null for any other tensor.
std::optional<double> NumberIn(const Tensor& tensor);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_ESTIMATOR_IMPL_H_
