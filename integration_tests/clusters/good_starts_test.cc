// Checks that valid programs are never rejected. A seed generates a training
// program: the placement, partitioning and names of its variables, other shared
// resources, when and on which tasks its sessions start, and other users of the
// cluster. All its replicas start in any order on simulated tasks. No replica
// may be rejected as conflicting.
//
// WEFT_GOOD_STARTS sets the number of seeds (default 40), and
// WEFT_GOOD_STARTS_FIRST the first seed. tools/nightly.sh uses both, and they
// help to debug a single seed.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  uint64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(NewSeededRandom(seed)) {}
  // Returns a number in [low, high].
  int Between(int low, int high) {
    return low + static_cast<int>(random_->Next() % (high - low + 1));
  }
  bool Percent(int percent) { return Between(1, 100) <= percent; }
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[random_->Next() % i]);
    }
  }

 private:
  const std::unique_ptr<Random> random_;
};

// Random properties that all replicas of a program share.
struct Plan {
  Plan(uint64_t seed, int servers, const std::string& in_container)
      : num_servers(servers), container(in_container) {
    Draw draw(seed);
    spread = static_cast<Spread>(draw.Between(0, 4));
    by_resource = draw.Percent(70);
    type = draw.Percent(80) ? DT_FLOAT : DT_DOUBLE;
    for (int i = draw.Between(1, 4); i >= 0; --i) {
      widths.push_back(draw.Between(1, 6));
    }
    if (draw.Percent(50)) {
      num_parts = draw.Between(2, 4);
      axis = draw.Between(0, 1);
    }
    optimizer = draw.Between(0, 3);
    has_queue = draw.Percent(40);
    has_table = draw.Percent(30);
    has_accumulator = draw.Percent(30);
    has_locals = draw.Percent(60);
    has_late_variable = draw.Percent(40);
    capacity = draw.Between(1, 50);
  }

  enum Spread { kRoundRobin, kGreedy, kRandom, kPinned, kUnpinned };

  int num_servers;
  std::string container;
  Spread spread;
  bool by_resource;
  DataType type;
  // widths of the layers; the first is that of the input
  std::vector<int> widths;
  int num_parts = 0;  // parts of the embedding; 0 means no embedding
  int axis = 0;
  int optimizer;
  bool has_queue, has_table, has_accumulator, has_locals, has_late_variable;
  int capacity;
};

// Replica builds the graph of one session.
class Replica {
 public:
  // `task` hosts the session's master, for example "/job:worker/task:1".
  Replica(const Plan& plan, const std::string& task, int index)
      : plan_(plan), task_(task), index_(index), scope_(ModelScope()) {}

  // Builds the part of the graph that the chief, the workers and evaluators
  // share.
  void BuildModel() {
    step_ = Add(Next(), "global_step", {}, DT_INT64, /*trainable=*/false);
    if (plan_.num_parts > 0) AddEmbedding();
    for (size_t i = 1; i < plan_.widths.size(); ++i) {
      weights_.push_back(Add(Next(), absl::StrCat("w", i),
                             {plan_.widths[i - 1], plan_.widths[i]},
                             plan_.type));
      weights_.push_back(
          Add(Next(), absl::StrCat("b", i), {plan_.widths[i]}, plan_.type));
    }
  }

  void BuildTraining() {
    Output loss;
    for (const ops::Variable& one : weights_) {
      const Output flat = ops::Reshape(scope_, one, {-1});
      const Output sum = ops::Sum(scope_, ops::Square(scope_, flat), 0);
      loss = loss ? ops::Add(scope_, loss, sum) : sum;
    }
    optimizer_ = NewOptimizer();
    train_ = optimizer_->Minimize(scope_, loss, {.global_step = step_});
    if (plan_.has_queue) AddQueues();
    if (plan_.has_table) AddTable();
    if (plan_.has_accumulator) AddAccumulator();
    if (plan_.has_locals) AddLocals();
  }

  // Builds the part of the graph that only the chief has.
  void BuildChiefsOwn() {
    const Scope own = root.WithDevice(task_);
    Add(own, "best_loss", {}, DT_FLOAT, /*trainable=*/false);
    Output queue = ops::FIFOQueue(own.WithName("ready"), {DT_BOOL},
                                  {.capacity = 1, .shared_name = "ready"});
    reads.push_back(ops::QueueSize(own, queue));
  }

  // Adds a variable after the session has begun, which extends its graph.
  void BuildLate() {
    if (!plan_.has_late_variable) return;
    Add(Next(), "late", {plan_.capacity}, plan_.type, /*trainable=*/false);
  }

  Operation train() const { return train_; }
  Output step() const { return step_.value(); }

  // Returns the initializers of all variables, including those of the
  // optimizer.
  std::vector<Operation> Initializers() const {
    std::vector<Operation> result;
    for (const ops::Variable& one : ops::GlobalVariables(root)) {
      result.push_back(one.initializer());
    }
    return result;
  }

  const Scope root = Scope::Root();
  std::vector<Output> reads;

 private:
  Scope ModelScope() const {
    const Scope root_or_container =
        plan_.container.empty() ? root : root.WithContainer(plan_.container);
    ReplicaDeviceSetterOptions setter = {.ps_tasks = plan_.num_servers,
                                         .worker_device = task_};
    switch (plan_.spread) {
      case Plan::kGreedy:
        setter.strategy = GreedyLoadBalancing(plan_.num_servers);
        break;
      case Plan::kRandom:
        setter.strategy = RandomByName(plan_.num_servers);
        break;
      case Plan::kRoundRobin:
        break;
      case Plan::kPinned:
      case Plan::kUnpinned:
        return root_or_container;
    }
    return root_or_container.WithDeviceFunction(ReplicaDeviceSetter(setter));
  }

  // Returns the scope for the next variable, which may choose its device.
  Scope Next() {
    if (plan_.spread != Plan::kPinned) return scope_;
    return scope_.WithDevice(
        absl::StrCat("/job:ps/task:", num_pinned_++ % plan_.num_servers));
  }

  ops::Variable Add(const Scope& scope, const std::string& name,
                    const TensorShape& shape, DataType type,
                    bool trainable = true) {
    return ops::Variable(scope.WithName(name), ops::initializers::Ones(), shape,
                         {.dtype = type,
                          .trainable = trainable,
                          .use_resource = plan_.by_resource});
  }

  void AddEmbedding() {
    const auto embedding = ops::GetPartitionedVariable(
        Next(), "embedding", {plan_.num_parts + 5, plan_.num_parts + 3},
        {.dtype = plan_.type,
         .initializer = ops::initializers::Ones(),
         .partitioner = ops::FixedSizePartitioner(plan_.num_parts, plan_.axis),
         .use_resource = plan_.by_resource});
    for (const ops::Variable& part : embedding.parts()) {
      weights_.push_back(part);
    }
  }

  std::unique_ptr<train::Optimizer> NewOptimizer() const {
    switch (plan_.optimizer) {
      case 0:
        return std::make_unique<train::GradientDescent>(0.1f);
      case 1:
        return std::make_unique<train::Momentum>(0.1f, 0.9f);
      case 2:
        return std::make_unique<train::Adagrad>(0.1f);
      default:
        return std::make_unique<train::Adam>();
    }
  }

  // Adds a queue that all replicas share, and a private queue, which may differ
  // between replicas.
  void AddQueues() {
    const Scope server = scope_.WithDevice("/job:ps/task:0");
    const Output tokens =
        ops::FIFOQueue(server.WithName("tokens"), {DT_INT64},
                       {.capacity = plan_.capacity, .shared_name = "tokens"});
    reads.push_back(ops::QueueSize(server, tokens));
    const Scope own = root.WithDevice(task_);
    const Output inputs = ops::FIFOQueue(own.WithName("inputs"), {DT_FLOAT},
                                         {.capacity = 10 + index_});
    reads.push_back(ops::QueueSize(own, inputs));
  }

  void AddTable() {
    const Scope server = scope_.WithDevice("/job:ps/task:0");
    reads.push_back(ops::LookupTableSize(
        server,
        ops::MutableHashTable(server.WithName("vocabulary"), DT_STRING,
                              DT_INT64, {.shared_name = "vocabulary"})));
  }

  void AddAccumulator() {
    const Scope server = scope_.WithDevice("/job:ps/task:0");
    reads.push_back(ops::AccumulatorNumAccumulated(
        server,
        ops::ConditionalAccumulator(server.WithName("gradients"), plan_.type,
                                    PartialShape({plan_.capacity}),
                                    {.shared_name = "gradients"})));
  }

  // Adds local variables. They have the same names on each worker, but may have
  // different shapes.
  void AddLocals() {
    const Scope own = root.WithDevice(task_);
    Add(own, "local_step", {}, DT_INT64, /*trainable=*/false);
    Add(own, "buffer", {1 + index_}, DT_FLOAT, /*trainable=*/false);
  }

  const Plan plan_;
  const std::string task_;
  const int index_;
  const Scope scope_;
  int num_pinned_ = 0;
  ops::Variable step_;
  std::vector<ops::Variable> weights_;
  std::unique_ptr<train::Optimizer> optimizer_;
  Operation train_;
};

class GoodStart {
 public:
  explicit GoodStart(uint64_t seed)
      : seed_(seed),
        draw_(seed),
        num_servers_(draw_.Between(1, 3)),
        num_workers_(draw_.Between(1, 3)),
        has_reports_(draw_.Percent(50)),
        cluster_(OptionsFor(seed)) {}

  void Run() {
    if (draw_.Percent(30)) AbandonAnother();
    const std::string container = draw_.Percent(30) ? "experiment" : "";
    Start(Plan(seed_, num_servers_, container));
    if (HasFailed() || draw_.Percent(60)) return;
    // As in a notebook, starts another model with the same names after a reset.
    if (draw_.Percent(50)) open_.clear();
    Reset({});
    Reset({"experiment", "stranger"});
    open_.clear();
    Start(Plan(seed_ + 1000000, num_servers_, container));
  }

 private:
  struct Open {
    std::unique_ptr<Replica> replica;
    std::unique_ptr<Session> session;
    bool is_trainer = false;
  };

  TestCluster::Options OptionsFor(uint64_t seed) const {
    TestCluster::Options options = {
        .kind = ClusterKind::kSimulated,
        .jobs = {{"ps", num_servers_}, {"worker", num_workers_}},
        .seed = seed};
    if (has_reports_) {
      options.heartbeat_interval = absl::Milliseconds(20);
      options.heartbeat_timeout = absl::Minutes(1);
    }
    return options;
  }

  bool HasFailed() const { return ::testing::Test::HasFailure(); }

  // Another program with the same names extends its session, so that its nodes
  // are placed. It ends without creating resources.
  void AbandonAnother() {
    const Plan plan(seed_ + 2000000, num_servers_, "");
    AddTrainer(plan, 0);
    ASSERT_OK(open_.back()->session->Extend());
    ASSERT_OK(open_.back()->session->Close());
    open_.clear();
  }

  void Start(const Plan& plan) {
    const Plan strange(seed_ + 3000000, num_servers_, "stranger");
    std::vector<std::function<void()>> starts;
    for (int i = 0; i < num_workers_; ++i) {
      starts.push_back([&, i] { AddTrainer(plan, i); });
      if (draw_.Percent(20)) starts.push_back([&, i] { AddTrainer(plan, i); });
    }
    for (int i = draw_.Between(0, 2); i > 0; --i) {
      starts.push_back([&] { AddEvaluator(plan); });
    }
    if (draw_.Percent(40)) {
      starts.push_back([&] { AddTrainer(strange, 0); });
    }
    draw_.Shuffle(starts);
    for (const auto& start : starts) {
      start();
      if (HasFailed()) return;
      Begin(*open_.back());
      if (draw_.Percent(15)) open_.pop_back();
    }
    Train();
  }

  void AddTrainer(const Plan& plan, int worker) {
    auto replica = std::make_unique<Replica>(
        plan, absl::StrCat("/job:worker/task:", worker), worker);
    replica->BuildModel();
    replica->BuildTraining();
    if (worker == 0) replica->BuildChiefsOwn();
    Connect(std::move(replica), "worker", worker, /*is_trainer=*/true);
  }

  // Connects an evaluator to a worker or a parameter server. Its graph contains
  // the model only.
  void AddEvaluator(const Plan& plan) {
    const bool is_worker = draw_.Percent(50);
    const std::string job = is_worker ? "worker" : "ps";
    const int index =
        draw_.Between(0, (is_worker ? num_workers_ : num_servers_) - 1);
    auto replica = std::make_unique<Replica>(
        plan, absl::StrCat("/job:", job, "/task:", index), index);
    replica->BuildModel();
    Connect(std::move(replica), job, index, /*is_trainer=*/false);
  }

  void Connect(std::unique_ptr<Replica> replica, const std::string& job,
               int index, bool is_trainer) {
    ASSERT_OK(replica->root.status());
    ASSERT_OK_AND_ASSIGN(
        auto session,
        Session::Connect(cluster_.target(job, index), replica->root,
                         cluster_.session_options()));
    open_.push_back(std::make_unique<Open>(
        Open{std::move(replica), std::move(session), is_trainer}));
  }

  void Begin(Open& open) {
    if (draw_.Percent(50)) {
      EXPECT_OK(open.session->Run({}, {}, open.replica->Initializers()));
    } else {
      EXPECT_OK(open.session->Extend());
    }
  }

  // Runs a training step in all open sessions.
  void Train() {
    for (const auto& open : open_) {
      if (open->is_trainer && draw_.Percent(70)) open->replica->BuildLate();
    }
    draw_.Shuffle(open_);
    for (const auto& open : open_) {
      EXPECT_OK(open->session->Run({}, {}, open->replica->Initializers()));
    }
    for (const auto& open : open_) {
      EXPECT_OK(open->session->Run({}, open->replica->reads));
      EXPECT_OK(open->session->Run(open->replica->step()));
    }
    // More training is slow and adds little coverage.
    if (!open_.empty() && open_[0]->is_trainer && draw_.Percent(30)) {
      EXPECT_OK(open_[0]->session->Run(open_[0]->replica->train()));
    }
  }

  void Reset(const std::vector<std::string>& containers) {
    ASSERT_OK(Session::Reset(cluster_.target("worker", 0), containers,
                             cluster_.session_options()));
  }

  const uint64_t seed_;
  Draw draw_;
  const int num_servers_, num_workers_;
  const bool has_reports_;
  TestCluster cluster_;
  std::vector<std::unique_ptr<Open>> open_;
};

TEST(GoodStartsTest, ValidStartsAreAccepted) {
  const uint64_t first = FromEnvironment("WEFT_GOOD_STARTS_FIRST", 1);
  const uint64_t count = FromEnvironment("WEFT_GOOD_STARTS", 40);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    GoodStart(seed).Run();
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace weft
