#include "benchmarks/common/mlp_worker.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "benchmarks/common/mlp.h"
#include "benchmarks/common/report.h"

namespace weft::benchmarks {
namespace {

LabelledRows NewRows(int num_rows) {
  return {Tensor(DT_FLOAT, TensorShape({num_rows, kMlpInputs})),
          Tensor(DT_INT32, TensorShape({num_rows}))};
}

Output RowsPlaceholder(const Scope& scope) {
  return ops::Placeholder(scope, DT_FLOAT, {.shape = {-1, kMlpInputs}});
}
Output LabelsPlaceholder(const Scope& scope) {
  return ops::Placeholder(scope, DT_INT32, {.shape = {-1}});
}

// Creates a variable that the initializer of the cluster's variables does not
// include.
ops::Variable LocalVariable(const Scope& scope, const std::string& name,
                            const Output& value) {
  return ops::Variable(scope.WithName(name), value,
                       {.trainable = false,
                        .collections = {"resident"},
                        .validate_shape = false});
}

}  // namespace

MlpWorker::MlpWorker(const Options& options, const LabelledRows& training)
    : options_(options),
      training_(training),
      random_(options.index),
      task_(options.cluster, options.index) {
  const Scope scope = root_.WithDeviceFunction(ReplicaDeviceSetter(
      {.worker_device = task_.device(), .cluster = options.cluster}));
  if (options.resident) BuildResident(scope.WithDevice(task_.device()));
  model_ = BuildModel(
      scope, options.resident
                 ? resident_.batch
                 : Batch{RowsPlaceholder(scope), LabelsPlaceholder(scope)});
  session_ = task_.Connect(root_);
}

void MlpWorker::BuildResident(const Scope& scope) {
  resident_.rows = RowsPlaceholder(scope);
  resident_.labels = LabelsPlaceholder(scope);
  const std::string suffix = absl::StrCat("_", options_.index);
  ops::Variable rows =
      LocalVariable(scope, "resident_rows" + suffix, resident_.rows);
  ops::Variable labels =
      LocalVariable(scope, "resident_labels" + suffix, resident_.labels);
  resident_.initializers = {rows.initializer(), labels.initializer()};
  Output pick = ops::RandomUniformInt(
      scope, {options_.batch}, 0,
      static_cast<int32_t>(training_.labels.num_elements()));
  resident_.batch = {
      ops::PlaceholderWithDefault(
          scope, ops::ResourceGather(scope, rows.handle(), pick, DT_FLOAT),
          {-1, kMlpInputs}),
      ops::PlaceholderWithDefault(
          scope, ops::ResourceGather(scope, labels.handle(), pick, DT_INT32),
          {-1})};
}

Operation MlpWorker::AddSync(const Scope& scope, const Output& loss,
                             train::Optimizer& optimizer, Model& model) const {
  train::SyncReplicasOptimizer sync(
      optimizer,
      {.replicas_to_aggregate = options_.cluster.num_tasks("worker")});
  const Operation train =
      sync.Minimize(scope, loss, {.global_step = model.global_step});
  model.sync = {sync.local_step_init_op(), sync.chief_init_op(),
                sync.GetInitTokensOp(scope), sync.sync_op()};
  return train;
}

MlpWorker::Model MlpWorker::BuildModel(const Scope& scope,
                                       const Batch& batch) const {
  Model model;
  model.batch = batch;
  model.global_step = train::GetOrCreateGlobalStep(scope);
  const Mlp mlp = BuildMlp(scope, batch.rows, batch.labels, options_.hidden);
  train::GradientDescent optimizer(kMlpLearningRate);
  if (options_.sync) {
    model.train = AddSync(scope, mlp.loss, optimizer, model);
  } else {
    model.train =
        optimizer.Minimize(scope, mlp.loss, {.global_step = model.global_step});
  }
  Output predicted =
      ops::ArgMax(scope, mlp.logits, 1, {.output_type = DT_INT32});
  Output right = ops::Equal(scope, predicted, batch.labels);
  model.accuracy = ops::Mean(scope, ops::Cast(scope, right, DT_FLOAT), {0});
  return model;
}

void MlpWorker::Initialize() {
  Check(session_->Run(ops::GlobalVariablesInitializer(root_)));
}

void MlpWorker::Prepare() {
  if (options_.resident) {
    Check(session_
              ->Run({{resident_.rows, training_.rows},
                     {resident_.labels, training_.labels}},
                    {}, resident_.initializers)
              .status());
  }
  if (options_.sync) PrepareSync();
}

// Starts the thread in which the chief applies updates until the process ends.
void MlpWorker::PrepareSync() {
  const Sync& sync = model_.sync;
  Check(session_->Run(ops::LocalVariablesInitializer(root_)));
  const bool is_chief = options_.index == 0;
  Check(session_->Run(is_chief ? sync.chief_init : sync.local_init));
  if (!is_chief) return;
  Check(session_->Run(sync.init_tokens));
  auto update = session_->MakeCallable({}, {}, {sync.update});
  Check(update.status());
  sync_update_ = *std::move(update);
  task_.scheduler().Schedule(Pool::kBlocking, [this] {
    while (true) Check(sync_update_->RunInto({}, {}));
  });
}

LabelledRows MlpWorker::PickBatch() {
  LabelledRows picked = NewRows(options_.batch);
  const auto num_rows = static_cast<size_t>(training_.labels.num_elements());
  const float* rows = training_.rows.flat<float>().data();
  const int32_t* labels = training_.labels.flat<int32_t>().data();
  float* to = picked.rows.mutable_flat<float>().data();
  for (int32_t& label : picked.labels.mutable_flat<int32_t>()) {
    const size_t row = random_() % num_rows;
    std::memcpy(to, rows + row * kMlpInputs, kMlpInputs * sizeof(float));
    to += kMlpInputs;
    label = labels[row];
  }
  return picked;
}

int64_t MlpWorker::Step() {
  const Batch& batch = model_.batch;
  const bool resident = options_.resident;
  if (step_ == nullptr) {
    auto step = session_->MakeCallable(
        resident ? std::vector<Output>{}
                 : std::vector<Output>{batch.rows, batch.labels},
        {model_.global_step}, {model_.train});
    Check(step.status());
    step_ = *std::move(step);
  }
  Tensor global_step;
  if (resident) {
    Check(step_->RunInto({}, absl::MakeSpan(&global_step, 1)));
  } else {
    const LabelledRows picked = PickBatch();
    const Tensor feeds[] = {picked.rows, picked.labels};
    Check(step_->RunInto(feeds, absl::MakeSpan(&global_step, 1)));
  }
  return global_step.scalar<int64_t>();
}

float MlpWorker::Accuracy(const LabelledRows& test) {
  const Batch& batch = model_.batch;
  auto accuracy = session_->Run(
      {{batch.rows, test.rows}, {batch.labels, test.labels}}, model_.accuracy);
  Check(accuracy.status());
  return accuracy->scalar<float>();
}

}  // namespace weft::benchmarks
