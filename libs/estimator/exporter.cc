#include "libs/estimator/exporter.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/estimator/estimator_impl.h"
#include "libs/fs/path.h"
#include "libs/summary/event.h"
#include "libs/summary/events_writer.h"

namespace weft::estimator {
namespace {

using Exported = absl::StatusOr<std::optional<std::string>>;

absl::Status CheckOptions(const std::string& name,
                          const ServingInputReceiverFn& receive,
                          const ExporterOptions& options) {
  if (name.empty()) {
    return absl::InvalidArgumentError("An Exporter must have a name.");
  }
  if (!receive) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Exporter '", name, "' needs a serving_input_receiver_fn."));
  }
  if (options.exports_to_keep.value_or(1) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "`exports_to_keep`, if provided, must be a positive number. Got ",
      *options.exports_to_keep));
}

// Returns whether the metrics are of step 0, because an evaluation may precede
// the first training step.
bool IsOfStepZero(const EvalMetrics& metrics) {
  const auto step = metrics.find("global_step");
  return step != metrics.end() && NumberIn(step->second) == 0;
}

// SavedModelExporter is the common base of all exporters.
class SavedModelExporter : public Exporter {
 public:
  SavedModelExporter(std::string name, ServingInputReceiverFn receive,
                     ExporterOptions options)
      : name_(std::move(name)),
        receive_(std::move(receive)),
        options_(std::move(options)),
        status_(CheckOptions(name_, receive_, options_)) {}

  const std::string& name() const override { return name_; }

  Exported Export(Estimator& estimator, const std::string& export_path,
                  const std::string& checkpoint_path,
                  const EvalMetrics& eval_result,
                  bool is_the_final_export) override {
    RETURN_IF_ERROR(status_);
    if (!is_the_final_export && IsOfStepZero(eval_result)) {
      estimator.environment().logger.Info(absl::StrCat(
          "Exporter '", name_,
          "' skips the export until the model is trained: ", checkpoint_path,
          " is of step 0."));
      return std::nullopt;
    }
    ASSIGN_OR_RETURN(const bool is_due,
                     IsDue(estimator, eval_result, is_the_final_export));
    if (!is_due) return std::nullopt;
    ExportSavedModelOptions options;
    options.assets_extra = options_.assets_extra;
    options.as_text = options_.as_text;
    options.checkpoint_path = checkpoint_path;
    auto path = estimator.ExportSavedModel(export_path, receive_, options);
    if (!path.ok()) {
      return Annotate(path.status(), absl::StrCat("exporter '", name_, "'"));
    }
    WasExported(eval_result);
    if (KeepsCount()) DeleteOldOnes(estimator, *path);
    return *std::move(path);
  }

 protected:
  virtual absl::StatusOr<bool> IsDue(const Estimator& estimator,
                                     const EvalMetrics& eval_result,
                                     bool is_the_final_export) = 0;
  virtual void WasExported(const EvalMetrics&) {}
  virtual bool KeepsCount() const { return true; }

 private:
  // Deletes old exports, but never `newest`, whatever its number is, nor later
  // ones, which belong to another program. Failed deletions are retried after
  // the next export.
  void DeleteOldOnes(const Estimator& estimator,
                     const std::string& newest) const {
    if (!options_.exports_to_keep) return;
    FileSystem& files = estimator.environment().files;
    const std::string export_path(Dirname(newest));
    auto names = files.ListDirectory(export_path);
    if (!names.ok()) return;
    std::erase_if(*names, [&](const auto& name) {
      return !ExportVersion(name) || name >= Basename(newest);
    });
    const auto keep = static_cast<uint64_t>(*options_.exports_to_keep - 1);
    if (names->size() <= keep) return;
    // Names are sorted: all have the same length.
    names->resize(names->size() - keep);
    for (const std::string& name : *names) {
      const std::string old = JoinPath(export_path, name);
      const absl::Status deleted = files.DeleteRecursively(old);
      if (deleted.ok()) continue;
      estimator.environment().logger.Warning(absl::StrCat(
          "Can not delete ", old, " recursively: ", deleted.message()));
    }
  }

  const std::string name_;
  const ServingInputReceiverFn receive_;
  const ExporterOptions options_;
  const absl::Status status_;
};

class Latest : public SavedModelExporter {
 public:
  using SavedModelExporter::SavedModelExporter;

 protected:
  absl::StatusOr<bool> IsDue(const Estimator&, const EvalMetrics&,
                             bool) override {
    return true;
  }
};

class Final : public SavedModelExporter {
 public:
  using SavedModelExporter::SavedModelExporter;

 protected:
  absl::StatusOr<bool> IsDue(const Estimator& estimator, const EvalMetrics&,
                             bool is_the_final_export) override {
    if (is_the_final_export) {
      estimator.environment().logger.Info(
          "Performing the final export in the end of training.");
    }
    return is_the_final_export;
  }
  bool KeepsCount() const override { return false; }
};

class Best : public SavedModelExporter {
 public:
  Best(ServingInputReceiverFn receive, BestExporterOptions options)
      : SavedModelExporter(options.name, std::move(receive),
                           std::move(options.exporter)),
        pattern_(std::move(options.event_file_pattern)),
        compare_(options.compare_fn ? std::move(options.compare_fn)
                                    : LossSmaller) {}

 protected:
  absl::StatusOr<bool> IsDue(const Estimator& estimator,
                             const EvalMetrics& eval_result, bool) override {
    if (model_dir_ != estimator.model_dir()) {
      best_.reset();
      has_exported_ = false;
      RETURN_IF_ERROR(ReadEvents(estimator));
      model_dir_ = estimator.model_dir();
    }
    ASSIGN_OR_RETURN(const bool is_best, IsBest(eval_result));
    if (is_best || !has_exported_) {
      estimator.environment().logger.Info("Performing best model export.");
    }
    return is_best || !has_exported_;
  }

  void WasExported(const EvalMetrics& eval_result) override {
    has_exported_ = true;
    const auto is_best = IsBest(eval_result);
    if (is_best.ok() && *is_best) best_ = eval_result;
  }

 private:
  absl::StatusOr<bool> IsBest(const EvalMetrics& current) const {
    if (!best_) return true;
    return compare_(*best_, current);
  }

  absl::Status ReadEvents(const Estimator& estimator) {
    if (pattern_.empty()) return absl::OkStatus();
    estimator.environment().logger.Info(
        "Loading best metric from event files.");
    FileSystem& files = estimator.environment().files;
    ASSIGN_OR_RETURN(const auto paths, files.GetMatchingPaths(JoinPath(
                                           estimator.model_dir(), pattern_)));
    if (paths.empty()) {
      estimator.environment().logger.Warning(absl::StrCat(
          "Exporter '", name(), "': no event file matches ", pattern_,
          ", so no earlier evaluation counts. Those with a name lie in "
          "eval_NAME, an Experiment's evaluator's in eval_continuous: set "
          "event_file_pattern."));
    }
    for (const std::string& path : paths) {
      const absl::Status read = ReadFile(files, path);
      if (read.ok()) continue;
      estimator.environment().logger.Warning(absl::StrCat(
          "Later evaluations in a corrupt event file are ignored: ",
          read.message()));
    }
    return absl::OkStatus();
  }

  // Reads a file to its end, or to the first corruption: a program may have
  // been killed while writing.
  absl::Status ReadFile(FileSystem& files, const std::string& path) {
    ASSIGN_OR_RETURN(const auto reader,
                     summary::EventsReader::Open(files, path));
    while (true) {
      const auto event = reader->Next();
      if (absl::IsOutOfRange(event.status())) return absl::OkStatus();
      RETURN_IF_ERROR(event.status());
      EvalMetrics metrics;
      for (const auto& [tag, scalar] : ScalarsOf(*event)) {
        metrics[tag] = Tensor::Scalar(scalar);
      }
      if (metrics.empty()) continue;
      ASSIGN_OR_RETURN(const bool is_best, IsBest(metrics));
      if (is_best) best_ = std::move(metrics);
    }
  }

  const std::string pattern_;
  const CompareFn compare_;
  std::string model_dir_;  // directory of the model with the best result
  std::optional<EvalMetrics> best_;
  bool has_exported_ = false;
};

std::optional<double> LossOf(const EvalMetrics& metrics) {
  const auto loss = metrics.find("loss");
  return loss == metrics.end() ? std::nullopt : NumberIn(loss->second);
}

}  // namespace

absl::StatusOr<bool> LossSmaller(const EvalMetrics& best_eval_result,
                                 const EvalMetrics& current_eval_result) {
  const auto best = LossOf(best_eval_result);
  const auto current = LossOf(current_eval_result);
  if (!best || !current) {
    return absl::InvalidArgumentError(absl::StrCat(
        best ? "current" : "best",
        "_eval_result cannot be empty or no loss is found in it."));
  }
  return *current < *best || (std::isnan(*best) && !std::isnan(*current));
}

std::shared_ptr<Exporter> LatestExporter(
    const std::string& name, ServingInputReceiverFn serving_input_receiver_fn,
    ExporterOptions options) {
  return std::make_shared<Latest>(name, std::move(serving_input_receiver_fn),
                                  std::move(options));
}

std::shared_ptr<Exporter> FinalExporter(
    const std::string& name, ServingInputReceiverFn serving_input_receiver_fn,
    ExporterOptions options) {
  return std::make_shared<Final>(name, std::move(serving_input_receiver_fn),
                                 std::move(options));
}

std::shared_ptr<Exporter> BestExporter(
    ServingInputReceiverFn serving_input_receiver_fn,
    BestExporterOptions options) {
  return std::make_shared<Best>(std::move(serving_input_receiver_fn),
                                std::move(options));
}

}  // namespace weft::estimator
