#include "benchmarks/mlp_worker.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/mlp.h"
#include "benchmarks/report.h"

namespace weft::benchmarks {
namespace {

LabelledRows NewRows(int num_rows) {
  return {Tensor(DT_FLOAT, TensorShape({num_rows, kMlpInputs})),
          Tensor(DT_INT32, TensorShape({num_rows}))};
}

LabelledRows PickBatch(const LabelledRows& data, int batch,
                       std::mt19937& random) {
  LabelledRows picked = NewRows(batch);
  const auto num_rows = static_cast<size_t>(data.labels.num_elements());
  const float* rows = data.rows.flat<float>().data();
  const int32_t* labels = data.labels.flat<int32_t>().data();
  float* to = picked.rows.mutable_flat<float>().data();
  int32_t* to_labels = picked.labels.mutable_flat<int32_t>().data();
  for (int i = 0; i < batch; ++i) {
    const size_t row = random() % num_rows;
    std::memcpy(to, rows + row * kMlpInputs, kMlpInputs * sizeof(float));
    to += kMlpInputs;
    to_labels[i] = labels[row];
  }
  return picked;
}

}  // namespace

LabelledRows MakeRows(int num_rows, uint32_t seed) {
  std::minstd_rand of_classes(1), of_rows(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<float> means(kMlpClasses * kMlpInputs);
  for (float& mean : means) mean = uniform(of_classes);
  LabelledRows data = NewRows(num_rows);
  float* pixel = data.rows.mutable_flat<float>().data();
  for (int32_t& label : data.labels.mutable_flat<int32_t>()) {
    label = static_cast<int32_t>(of_rows() % kMlpClasses);
    const float* mean = means.data() + label * kMlpInputs;
    for (int j = 0; j < kMlpInputs; ++j) {
      *pixel++ = 0.2f * mean[j] + 0.8f * uniform(of_rows);
    }
  }
  return data;
}

MlpWorker::MlpWorker(const Options& options)
    : options_(options), random_(options.index) {
  auto server = Server::Create(options.cluster, {.job_name = "worker",
                                                 .task_index = options.index,
                                                 .process = &process_,
                                                 .logger = &logger_});
  Check(server.status());
  server_ = *std::move(server);
  const std::string device = absl::StrCat("/job:worker/task:", options.index);
  auto devices = ReplicaDeviceSetter(
      {.worker_device = device, .cluster = options.cluster});
  Check(devices.status());
  model_ = BuildModel(root_.WithDeviceFunction(*devices), options.hidden);
  auto session = Session::Connect(
      server_->target(), root_,
      {.device_filters = {"/job:ps", device}, .process = &process_});
  Check(session.status());
  session_ = *std::move(session);
}

MlpWorker::Model MlpWorker::BuildModel(const Scope& scope, int hidden) {
  Model model;
  model.global_step = train::GetOrCreateGlobalStep(scope);
  const Mlp mlp = BuildMlp(scope, -1, hidden);
  model.rows = mlp.rows;
  model.labels = mlp.labels;
  model.train =
      train::GradientDescent(kMlpLearningRate)
          .Minimize(scope, mlp.loss, {.global_step = model.global_step});
  Output predicted =
      ops::ArgMax(scope, mlp.logits, 1, {.output_type = DT_INT32});
  Output right = ops::Equal(scope, predicted, model.labels);
  model.accuracy = ops::Mean(scope, ops::Cast(scope, right, DT_FLOAT), {0});
  return model;
}

void MlpWorker::Initialize() {
  Check(session_->Run(ops::GlobalVariablesInitializer(root_)));
}

int64_t MlpWorker::Step(const LabelledRows& training) {
  if (step_ == nullptr) {
    auto step = session_->MakeCallable({model_.rows, model_.labels},
                                       {model_.global_step}, {model_.train});
    Check(step.status());
    step_ = *std::move(step);
  }
  const LabelledRows batch = PickBatch(training, options_.batch, random_);
  const Tensor feeds[] = {batch.rows, batch.labels};
  Tensor global_step;
  Check(step_->RunInto(feeds, absl::MakeSpan(&global_step, 1)));
  return global_step.scalar<int64_t>();
}

float MlpWorker::Accuracy(const LabelledRows& test) {
  auto accuracy =
      session_->Run({{model_.rows, test.rows}, {model_.labels, test.labels}},
                    model_.accuracy);
  Check(accuracy.status());
  return accuracy->scalar<float>();
}

}  // namespace weft::benchmarks
