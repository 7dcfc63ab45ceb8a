// Trains a classifier of Fashion-MNIST: 784-128-10, mean softmax cross entropy,
// stochastic gradient descent, in a session in this process.
//
// The last line it prints is "test accuracy 0.8712".
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "examples/fashion_mnist_data.h"
#include "examples/progress.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/fs/local_file_system.h"

ABSL_FLAG(std::string, data_dir, "/usr/share/datasets/fashion-mnist",
          "Directory of the dataset-fashion-mnist package's files.");
ABSL_FLAG(int, epochs, 15, "How often each image is seen.");
ABSL_FLAG(int, batch_size, 64, "Images in a step.");
ABSL_FLAG(int, hidden, 128, "Units of the hidden layer.");
ABSL_FLAG(float, learning_rate, 0.05f, "Of gradient descent.");
ABSL_FLAG(uint64_t, seed, 1, "Of the weights and of the order of images.");

namespace weft::examples {
namespace {

struct Model {
  Output images, labels;  // placeholders
  Output loss, accuracy;
  Operation train, init;
};

Output Layer(const Scope& scope, const Output& x, int inputs, int units,
             int64_t seed) {
  const float stddev = std::sqrt(2.0f / static_cast<float>(inputs));
  auto w = ops::Variable(scope.WithName("w"),
                         ops::Mul(scope,
                                  ops::RandomNormal(scope, {inputs, units},
                                                    DT_FLOAT, {.seed = seed}),
                                  stddev));
  auto b = ops::Variable(scope.WithName("b"),
                         Tensor(DT_FLOAT, TensorShape({units})));
  return ops::BiasAdd(scope, ops::MatMul(scope, x, w), b);
}

Model BuildModel(const Scope& root, int hidden_units, float learning_rate,
                 int64_t seed) {
  Model model;
  model.images = ops::Placeholder(root.WithName("images"), DT_FLOAT,
                                  {.shape = {-1, kPixels}});
  model.labels =
      ops::Placeholder(root.WithName("labels"), DT_INT32, {.shape = {-1}});
  Output hidden = ops::Relu(root, Layer(root.SubScope("hidden"), model.images,
                                        kPixels, hidden_units, seed));
  Output logits =
      Layer(root.SubScope("logits"), hidden, hidden_units, kClasses, seed + 1);
  Output losses =
      ops::SparseSoftmaxCrossEntropyWithLogits(root, logits, model.labels).loss;
  model.loss = ops::Mean(root.WithName("loss"), losses, {0});
  Output predicted = ops::ArgMax(root, logits, 1, {.output_type = DT_INT32});
  model.accuracy = ops::Mean(
      root.WithName("accuracy"),
      ops::Cast(root, ops::Equal(root, predicted, model.labels), DT_FLOAT),
      {0});
  model.train =
      train::GradientDescent(learning_rate).Minimize(root, model.loss);
  model.init = ops::GlobalVariablesInitializer(root);
  return model;
}

// The rows of `data` that `order` names, copied into one batch.
ImageSet Batch(const ImageSet& data, const int* order, int size) {
  ImageSet batch{Tensor(DT_FLOAT, TensorShape({size, kPixels})),
                 Tensor(DT_INT32, TensorShape({size}))};
  const float* from = data.images.flat<float>().data();
  float* to = batch.images.mutable_flat<float>().data();
  for (int i = 0; i < size; ++i) {
    std::memcpy(to + int64_t{i} * kPixels, from + int64_t{order[i]} * kPixels,
                kPixels * sizeof(float));
    batch.labels.mutable_flat<int32_t>()[i] =
        data.labels.flat<int32_t>()[order[i]];
  }
  return batch;
}

absl::Status Train(Session& session, const Model& model, const ImageSet& data,
                   int epochs, int batch_size, uint64_t seed) {
  std::vector<int> order(data.labels.num_elements());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 shuffle(seed);
  const int steps_per_epoch = static_cast<int>(order.size()) / batch_size;
  ASSIGN_OR_RETURN(auto step,
                   session.MakeCallable({model.images, model.labels},
                                        {model.loss}, {model.train}));
  const SystemClock clock;
  Progress progress(clock, stdout, int64_t{epochs} * steps_per_epoch,
                    batch_size);
  int64_t steps = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), shuffle);
    for (int i = 0; i < steps_per_epoch; ++i) {
      const ImageSet batch =
          Batch(data, order.data() + int64_t{i} * batch_size, batch_size);
      ASSIGN_OR_RETURN(std::vector<Tensor> loss,
                       step->Run({batch.images, batch.labels}));
      progress.Step(epoch, ++steps, loss[0].scalar<float>());
    }
  }
  progress.Finish();
  std::printf("%lld steps in %.1f s: %.0f steps/s, %.0f examples/s\n",
              static_cast<long long>(steps),
              absl::ToDoubleSeconds(progress.elapsed()),
              progress.StepsPerSecond(steps),
              progress.StepsPerSecond(steps) * batch_size);
  return absl::OkStatus();
}

absl::Status CheckFlags(int64_t num_images) {
  const int batch_size = absl::GetFlag(FLAGS_batch_size);
  if (absl::GetFlag(FLAGS_epochs) < 1 || absl::GetFlag(FLAGS_hidden) < 1 ||
      batch_size < 1 || batch_size > num_images) {
    return absl::InvalidArgumentError(
        "--epochs, --hidden and --batch_size must be at least 1, and a batch "
        "no larger than the training set.");
  }
  return absl::OkStatus();
}

absl::Status Main() {
  LocalFileSystem files;
  const std::string directory = absl::GetFlag(FLAGS_data_dir);
  ASSIGN_OR_RETURN(const ImageSet training,
                   ReadFashionMnist(files, directory, "train"));
  ASSIGN_OR_RETURN(const ImageSet test,
                   ReadFashionMnist(files, directory, "t10k"));
  RETURN_IF_ERROR(CheckFlags(training.labels.num_elements()));

  Scope root = Scope::Root();
  const uint64_t seed = absl::GetFlag(FLAGS_seed);
  const Model model = BuildModel(root, absl::GetFlag(FLAGS_hidden),
                                 absl::GetFlag(FLAGS_learning_rate),
                                 static_cast<int64_t>(seed));
  ASSIGN_OR_RETURN(auto session, Session::Connect("", root));
  RETURN_IF_ERROR(session->Run(model.init));
  RETURN_IF_ERROR(Train(*session, model, training, absl::GetFlag(FLAGS_epochs),
                        absl::GetFlag(FLAGS_batch_size), seed));
  ASSIGN_OR_RETURN(Tensor accuracy, session->Run({{model.images, test.images},
                                                  {model.labels, test.labels}},
                                                 model.accuracy));
  std::printf("test accuracy %.4f\n", accuracy.scalar<float>());
  return absl::OkStatus();
}

}  // namespace
}  // namespace weft::examples

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Trains a classifier of Fashion-MNIST and prints its test accuracy.");
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = weft::examples::Main();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
