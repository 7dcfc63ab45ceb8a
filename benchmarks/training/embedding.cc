// embedding measures an embedding table of shape [rows, dim] in two parts, one
// on each of 2 ps. A step feeds ids, looks them up, and computes loss =
// sum(rows^2) / (2 * batch) on worker:0. For the lookup, each ps gathers its
// rows, and worker:0 puts them in order. With --update=none, the step fetches
// the loss. With sgd or adagrad, it applies the sparse gradient and fetches
// nothing.
//
// The probability of the id with rank r is proportional to r^-zipf. A random
// permutation scatters the ranks over the table. 64 batches are generated in
// advance and used round robin.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "benchmarks/common/report.h"
#include "benchmarks/common/server_processes.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int, rows, 1'000'000, "Rows of the table; even.");
ABSL_FLAG(int, dim, 64, "Elements of a row.");
ABSL_FLAG(int, batch, 4096, "Ids of a step.");
ABSL_FLAG(double, zipf, 1.05, "Exponent of the ids' distribution.");
ABSL_FLAG(std::string, strategy, "mod",
          "mod: part = id % 2; div: the first half of the ids on ps:0.");
ABSL_FLAG(std::string, update, "none", "none, sgd or adagrad");
ABSL_FLAG(int, steps, 1000, "Steps to time, at most.");
ABSL_FLAG(double, seconds, 8.0, "Time limit of the measurement.");

namespace weft::benchmarks {
namespace {

constexpr int kParts = 2;
constexpr int kBatches = 64;

struct Ids {
  std::vector<Tensor> batches;
  double distinct = 0;  // average number of distinct ids per batch
};

Ids MakeIds(int rows, int batch) {
  std::mt19937_64 random(7);
  std::vector<double> sums(rows);  // cumulative weights of the ranks
  double sum = 0;
  for (int r = 0; r < rows; ++r) {
    sums[r] = sum += std::pow(r + 1.0, -absl::GetFlag(FLAGS_zipf));
  }
  std::vector<int64_t> id_of_rank(rows);
  std::iota(id_of_rank.begin(), id_of_rank.end(), 0);
  std::shuffle(id_of_rank.begin(), id_of_rank.end(), random);
  std::uniform_real_distribution<double> uniform(0, sum);
  Ids ids;
  for (int i = 0; i < kBatches; ++i) {
    Tensor tensor(DT_INT64, TensorShape({batch}));
    std::set<int64_t> seen;
    for (int64_t& id : tensor.mutable_flat<int64_t>()) {
      const auto at =
          std::lower_bound(sums.begin(), sums.end(), uniform(random)) -
          sums.begin();
      id = id_of_rank[std::min<ptrdiff_t>(at, rows - 1)];
      seen.insert(id);
    }
    ids.distinct += static_cast<double>(seen.size()) / kBatches;
    ids.batches.push_back(std::move(tensor));
  }
  return ids;
}

struct Model {
  Output ids, loss;
  Operation train;  // null if there is no update
};

Model BuildModel(const Scope& scope, const std::string& update, bool mod) {
  const int batch = absl::GetFlag(FLAGS_batch);
  const ops::PartitionedVariable table = ops::GetPartitionedVariable(
      scope, "table",
      TensorShape({absl::GetFlag(FLAGS_rows), absl::GetFlag(FLAGS_dim)}),
      {.initializer = ops::initializers::RandomUniform(-0.05, 0.05),
       .partitioner = ops::FixedSizePartitioner(kParts)});
  Check(scope.status());
  Model model;
  model.ids = ops::Placeholder(scope, DT_INT64, {.shape = {batch}});
  const Output rows =
      nn::EmbeddingLookup(scope, table, model.ids, {mod ? "mod" : "div"});
  model.loss =
      ops::Mul(scope, ops::Sum(scope, ops::Square(scope, rows), {0, 1}),
               0.5f / static_cast<float>(batch));
  if (update == "sgd") {
    model.train = train::GradientDescent(0.1f).Minimize(scope, model.loss);
  } else if (update == "adagrad") {
    model.train = train::Adagrad(0.01f).Minimize(scope, model.loss);
  }
  return model;
}

void MeasureLookUps(const std::string& target, const Scope& root,
                    const Model& model, const Ids& ids, Report& report) {
  auto session = Session::Connect(target, root);
  Check(session.status());
  Check((*session)->Run(ops::GlobalVariablesInitializer(root)));
  auto callable = model.train
                      ? (*session)->MakeCallable({model.ids}, {}, {model.train})
                      : (*session)->MakeCallable({model.ids}, {model.loss});
  Check(callable.status());
  size_t turn = 0;
  const Timing timing = Measure(
      [&] {
        const Tensor& batch = ids.batches[turn++ % kBatches];
        Check((*callable)->Run(absl::MakeConstSpan(&batch, 1)).status());
      },
      absl::GetFlag(FLAGS_steps), 20, absl::GetFlag(FLAGS_seconds));
  auto loss = (*session)->Run({{model.ids, ids.batches[0]}}, model.loss);
  Check(loss.status());
  if (!(loss->scalar<float>() > 0))
    Check(absl::InternalError("the loss is not positive"));
  report.Latency("step", timing);
  report.Value("rows", timing.steps_per_second * absl::GetFlag(FLAGS_batch),
               "rows/s");
}

void Main() {
  const std::string strategy = absl::GetFlag(FLAGS_strategy);
  const std::string update = absl::GetFlag(FLAGS_update);
  const int rows = absl::GetFlag(FLAGS_rows);
  if ((strategy != "mod" && strategy != "div") || rows % kParts != 0 ||
      (update != "none" && update != "sgd" && update != "adagrad")) {
    Check(
        absl::InvalidArgumentError("--strategy is mod or div; --update none, "
                                   "sgd or adagrad; --rows even"));
  }
  ServerProcesses servers({{"ps", kParts}, {"worker", 1}});
  const Ids ids = MakeIds(rows, absl::GetFlag(FLAGS_batch));
  Report report("embedding");
  report.Param("rows", rows);
  report.Param("dim", absl::GetFlag(FLAGS_dim));
  report.Param("batch", absl::GetFlag(FLAGS_batch));
  report.Param("strategy", strategy);
  report.Param("update", update);
  report.Param("distinct_ids_per_batch", ids.distinct);
  Scope root = Scope::Root();
  const Model model = BuildModel(
      root.WithDeviceFunction(ReplicaDeviceSetter(
          {.worker_device = "/job:worker/task:0", .cluster = servers.spec()})),
      update, strategy == "mod");
  MeasureLookUps(servers.Target("worker", 0), root, model, ids, report);
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv,
                   "Lookups in, and sparse updates of, a table on two ps.");
  weft::benchmarks::Main();
}
