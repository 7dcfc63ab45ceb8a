// Trains on the elements of a Dataset. The pipeline reads rows of csv files,
// shuffles them, and makes batches while a step runs, until all epochs have
// been read. The pipeline runs on a worker, so the files must be on the
// worker's machine. The weights are on a ps.
//
//   data_pipeline                        # runs a cluster in this program
//   data_pipeline zmq://localhost:2222   # a task of a cluster on this machine
//                                        # with a ps and a worker
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "examples/in_process_cluster.h"
#include "libs/api/weft.h"

namespace {

using weft::Operation;
using weft::Output;
using weft::Scope;

constexpr char kPs[] = "/job:ps/task:0";
constexpr char kWorker[] = "/job:worker/task:0";
constexpr int kRows = 200;  // rows in each file
constexpr int kEpochs = 20;

// Writes rows (a, b, y) with y = 2 a - b + 1, and a and b spread over [0, 1).
void WriteFile(const std::string& path, int number) {
  std::ofstream file(path);
  file << "y,a,b\n";
  for (int i = 0; i < kRows; ++i) {
    const double a = (i * 7 + number) % kRows / static_cast<double>(kRows);
    const double b = (i * 13 + number) % kRows / static_cast<double>(kRows);
    file << absl::StrCat(2 * a - b + 1, ",", a, ",", b, "\n");
  }
}

struct Model {
  Scope root = Scope::Root();
  weft::ops::Variable weights;
  weft::ops::Variable bias;
  Output loss;
  Operation train;

  explicit Model(const std::string& pattern) {
    root.SetGraphSeed(1);
    const weft::ops::Iterator iterator =
        weft::ops::MakeCsvDataset(root.WithDevice(kWorker), pattern, 20,
                                  {"y", "a", "b"}, {0.0f, 0.0f, 0.0f},
                                  {.label_name = "y", .num_epochs = kEpochs})
            .MakeInitializableIterator();
    const std::vector<Output> batch = iterator.GetNext(root);
    const Scope ps = root.WithDevice(kPs);
    weights = weft::ops::Variable(ps.WithName("weights"),
                                  weft::Tensor::Vector<float>({0, 0}));
    bias = weft::ops::Variable(ps.WithName("bias"), 0.0f);
    const Scope worker = root.WithDevice(kWorker);
    const Output x =
        weft::ops::Stack(worker, {batch[0], batch[1]}, {.axis = 1});
    const Output y = weft::ops::Add(
        worker, weft::ops::Sum(worker, weft::ops::Mul(worker, x, weights), {1}),
        bias);
    loss = weft::ops::Mean(
        worker, weft::ops::Square(worker, weft::ops::Sub(worker, y, batch[2])),
        {0});
    const auto step = weft::train::GetOrCreateGlobalStep(ps);
    train = weft::train::GradientDescent(0.3f).Minimize(worker, loss,
                                                        {.global_step = step});
  }
};

// The session initializes the iterator together with the variables. Training
// ends with the step that reaches the end of the input.
absl::Status Train(const std::string& target, const std::string& pattern) {
  const Model model(pattern);
  ASSIGN_OR_RETURN(auto session, weft::train::MonitoredTrainingSession(
                                     model.root, {.master = target}));
  int steps = 0;
  while (!session->ShouldStop()) {
    const absl::Status status = session->Run(model.train);
    if (absl::IsOutOfRange(status)) break;
    RETURN_IF_ERROR(status);
    ++steps;
  }
  ASSIGN_OR_RETURN(const weft::Tensor weights, session->Run(model.weights));
  ASSIGN_OR_RETURN(const weft::Tensor bias, session->Run(model.bias));
  std::printf("%d steps: y = %.2f a + %.2f b + %.2f\n", steps,
              weights.flat<float>()[0], weights.flat<float>()[1],
              bias.scalar<float>());
  RETURN_IF_ERROR(session->Close());
  return target.empty() ? absl::OkStatus() : weft::Session::Reset(target, {});
}

absl::Status Main(const std::string& target) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "data_pipeline_XXXXXX")
          .string();
  if (mkdtemp(folder.data()) == nullptr) {
    return absl::InternalError("cannot create a folder in " + folder);
  }
  for (int i = 0; i < 2; ++i) {
    WriteFile(absl::StrCat(folder, "/", i, ".csv"), i);
  }
  const absl::Status status = Train(target, folder + "/*.csv");
  std::filesystem::remove_all(folder);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::examples::RunOnCluster(argc, argv, {{"ps", 1}, {"worker", 1}},
                                      Main);
}
