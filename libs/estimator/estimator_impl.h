// What the calls of an Estimator share: its state, and the graph of one call.
//
// Threads: as the Estimator's.
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
#include "libs/train/defaults.h"
#include "libs/train/monitored_session.h"
#include "libs/train/session_creator.h"

namespace weft::estimator {

class Estimator::Impl {
 public:
  Impl(ModelFn model_fn, EstimatorOptions options, RunConfig config);

  FileSystem& files() {
    return options.file_system != nullptr ? *options.file_system : local_files;
  }
  absl::StatusOr<std::optional<std::string>> LatestCheckpoint();
  // The same, but NOT_FOUND where the state file names one that is gone.
  absl::StatusOr<std::optional<std::string>> FindLatestCheckpoint();
  // Of the newest; NOT_FOUND without one.
  absl::StatusOr<std::unique_ptr<checkpoint::CheckpointReader>>
  OpenLatestCheckpoint();
  // `path`, or the newest; empty where there is none, which is logged.
  // NOT_FOUND where the state file names one that is gone.
  absl::StatusOr<std::string> CheckpointToUse(const std::string& path,
                                              absl::string_view to_do);
  // Of an evaluation directory; made when first asked for, with the graph of
  // that evaluation. What they write goes into one file as long as the
  // Estimator lives.
  absl::StatusOr<summary::FileWriter*> EvalWriter(const std::string& directory,
                                                  const Scope& graph);
  // A session's creator and all but hooks of its MonitoredSession.
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

// The graph of one call.
struct BuiltModel {
  explicit BuiltModel(Scope scope) : root(std::move(scope)) {}
  Scope root;
  ops::Variable global_step;
  InputTensors input;
  EstimatorSpec spec;  // checked
};
absl::StatusOr<BuiltModel> BuildModel(const ModelFn& model_fn,
                                      const RunConfig& config, Mode mode,
                                      const InputFn& input_fn);

// Runs the operations that begin the input in each session; null where there
// are none.
std::shared_ptr<train::SessionRunHook> InputHook(const InputTensors& input);
// Its elements, those that are not null.
void AddHooks(const train::HookList& from, train::HookList& hooks);

// By tag, the scalars of one event that an evaluation wrote; empty for others.
std::map<std::string, float> ScalarsOf(const summary::Event& event);

// The number of an export, if a directory of that name may be one: as many
// digits as seconds since 1970 have, until the year 2286.
std::optional<int64_t> ExportVersion(absl::string_view name);

// A number as a double; none for anything else.
std::optional<double> NumberIn(const Tensor& tensor);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_ESTIMATOR_IMPL_H_
