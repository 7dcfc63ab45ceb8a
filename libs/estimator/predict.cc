// Implements Estimator::Predict.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/estimator/estimator.h"
#include "libs/estimator/estimator_impl.h"
#include "libs/tensor/buffer.h"

namespace weft::estimator {
namespace {

struct Wanted {
  std::vector<std::string> names;
  std::vector<Output> outputs;
};

absl::StatusOr<Wanted> ChooseOutputs(const EstimatorSpec& spec,
                                     const std::vector<std::string>& keys) {
  Wanted wanted;
  std::vector<std::string> all;
  for (const auto& [name, output] : spec.predictions) all.push_back(name);
  for (const std::string& key : keys.empty() ? all : keys) {
    const auto found = spec.predictions.find(key);
    if (found == spec.predictions.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("predict_keys has '", key,
                       "', which the model does not predict; it has: ",
                       absl::StrJoin(all, ", "), "."));
    }
    wanted.names.push_back(key);
    wanted.outputs.push_back(found->second);
  }
  return wanted;
}

// Returns row `i` without the batch dimension.
absl::StatusOr<Tensor> Row(const Tensor& batch, int64_t i) {
  ASSIGN_OR_RETURN(const Tensor row,
                   batch.SliceRows(i, i + 1, HeapAllocator()));
  TensorShape shape = batch.shape();
  shape.RemoveDim(0);
  return row.Reshaped(shape);
}

class Stream : public PredictionStream {
 public:
  Stream(std::shared_ptr<void> owner, Wanted wanted, bool single,
         std::unique_ptr<train::MonitoredSession> session)
      : owner_(std::move(owner)),
        wanted_(std::move(wanted)),
        single_(single),
        session_(std::move(session)) {}

  absl::StatusOr<std::optional<Prediction>> Next() override {
    RETURN_IF_ERROR(status_);
    while (next_ == rows_) {
      if (session_ == nullptr) return std::nullopt;
      status_ = ReadBatch();
      RETURN_IF_ERROR(status_);
    }
    auto prediction = Take();
    status_ = prediction.status();
    RETURN_IF_ERROR(status_);
    return *std::move(prediction);
  }

 private:
  // Reads the next batch. At the end of the input, closes the session.
  absl::Status ReadBatch() {
    if (session_->ShouldStop()) return End(absl::OkStatus());
    auto values = session_->Run(FeedList(), wanted_.outputs);
    if (!values.ok()) {
      return End(absl::IsOutOfRange(values.status()) ? absl::OkStatus()
                                                     : values.status());
    }
    batch_ = *std::move(values);
    if (single_) RETURN_IF_ERROR(CheckBatch());
    rows_ = single_ ? batch_[0].dim(0) : 1;
    next_ = 0;
    return absl::OkStatus();
  }
  absl::Status End(const absl::Status& why) {
    return std::exchange(session_, nullptr)->Close(why);
  }
  absl::Status CheckBatch() const {
    for (size_t i = 0; i < batch_.size(); ++i) {
      if (batch_[i].rank() > 0 && batch_[0].rank() > 0 &&
          batch_[i].dim(0) == batch_[0].dim(0)) {
        continue;
      }
      return absl::InvalidArgumentError(absl::StrCat(
          "Batch length of predictions should be same, but '", wanted_.names[i],
          "' has shape ", batch_[i].shape().ToString(), " and '",
          wanted_.names[0], "' ", batch_[0].shape().ToString(), "."));
    }
    return absl::OkStatus();
  }
  absl::StatusOr<Prediction> Take() {
    Prediction prediction;
    for (size_t i = 0; i < batch_.size(); ++i) {
      if (single_) {
        ASSIGN_OR_RETURN(prediction[wanted_.names[i]], Row(batch_[i], next_));
      } else {
        prediction[wanted_.names[i]] = batch_[i];
      }
    }
    ++next_;
    return prediction;
  }

  const std::shared_ptr<void> owner_;  // owns the logger and the scheduler
  const Wanted wanted_;
  const bool single_;
  std::unique_ptr<train::MonitoredSession> session_;  // null at the end
  std::vector<Tensor> batch_;
  int64_t rows_ = 0;  // predictions in the current batch
  int64_t next_ = 0;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PredictionStream>> Estimator::Predict(
    const InputFn& input_fn, const PredictOptions& options) {
  Impl& impl = *impl_;
  RETURN_IF_ERROR(impl.status);
  ASSIGN_OR_RETURN(const std::string checkpoint,
                   impl.CheckpointToUse(options.checkpoint_path, "predict"));
  ASSIGN_OR_RETURN(
      const BuiltModel built,
      BuildModel(impl.model_fn, impl.config, Mode::kPredict, input_fn));
  ASSIGN_OR_RETURN(Wanted wanted,
                   ChooseOutputs(built.spec, options.predict_keys));
  train::HookList hooks;
  AddHooks({InputHook(built.input)}, hooks);
  AddHooks(options.hooks, hooks);
  AddHooks(built.spec.prediction_hooks, hooks);
  auto creator = impl.CreatorOptions();
  creator.scaffold = built.spec.scaffold;
  creator.master = impl.config.master;
  creator.config = impl.config.TrainingSession();
  // The session gets its own variables, because a training may be using the
  // shared ones.
  creator.config.isolate_session_state = true;
  creator.checkpoint_filename_with_path = checkpoint;
  ASSIGN_OR_RETURN(
      auto session,
      train::MonitoredSession::Create(
          built.root,
          std::make_unique<train::ChiefSessionCreator>(std::move(creator)),
          impl.SessionOptionsWith(std::move(hooks))));
  return std::make_unique<Stream>(impl_, std::move(wanted),
                                  options.yield_single_examples,
                                  std::move(session));
}

}  // namespace weft::estimator
