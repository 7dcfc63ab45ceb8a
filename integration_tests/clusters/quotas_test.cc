// Tests limits of the memory that peers and sessions may use on a task
// (docs/operations/quotas.md). A request above a limit fails with
// RESOURCE_EXHAUSTED, and the error names the tensor, the task and the option
// to raise. All other work continues, and afterwards the memory is freed. The
// tests run over the simulated network and over sockets.
//
// WEFT_ABANDONED_SESSIONS sets the number of abandoned sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/address.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/graph/import/graph_def.h"
#include "libs/ops/resource/queue_ops.h"
#include "libs/protocol/master/blocking_master.h"
#include "libs/protocol/master/master_client.h"

namespace weft {
namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr absl::Duration kLease = absl::Minutes(1);
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

Tensor Floats(int64_t bytes) {
  return Tensor(DT_FLOAT, TensorShape({bytes / int64_t{sizeof(float)}}));
}

// Matches a RESOURCE_EXHAUSTED error that contains `what`, the task and the
// option to raise.
auto IsRefused(const std::string& what, const std::string& task,
               const std::string& option) {
  return testing::AllOf(StatusIs(kExhausted, what), StatusIs(kExhausted, task),
                        StatusIs(kExhausted, option));
}

// World provides a network and its processes. The network is either simulated
// or that of this machine.
class World {
 public:
  explicit World(bool simulated) {
    if (!simulated) return;
    scheduler_ = std::make_unique<SimulatedScheduler>(
        clock_, SimulatedSchedulerOptions{.seed = 5});
    network_ = std::make_unique<bus::MemoryNetwork>(*scheduler_);
  }

  std::unique_ptr<Process> NewProcess(
      const std::string& name, const bus::TransportOptions& transport = {}) {
    const ProcessOptions options{.compute_threads = 2, .transport = transport};
    if (scheduler_ == nullptr) return std::make_unique<Process>(options);
    return std::make_unique<Process>(
        nullptr, NewSeededRandom(++num_processes_), *scheduler_,
        [this, name](Scheduler&) {
          return bus::NewMemoryWire(*network_, name);
        },
        options);
  }

  SimulatedScheduler& scheduler() { return *scheduler_; }
  bus::MemoryNetwork& network() { return *network_; }

 private:
  ManualClock clock_;
  std::unique_ptr<SimulatedScheduler> scheduler_;
  std::unique_ptr<bus::MemoryNetwork> network_;
  uint64_t num_processes_ = 0;
};

// One task of a cluster, with its own process.
struct Task {
  Task(World& world, const ClusterSpec& cluster, const std::string& job,
       const Quotas& quotas, const bus::TransportOptions& transport)
      : process(world.NewProcess(job, transport)) {
    auto created =
        Server::Create(cluster, {.job_name = job,
                                 .process = process.get(),
                                 .lease = kLease,
                                 .heartbeat_interval = absl::InfiniteDuration(),
                                 .heartbeat_timeout = absl::InfiniteDuration(),
                                 .log_waits_after = absl::InfiniteDuration(),
                                 .quotas = quotas,
                                 .logger = &logger});
    EXPECT_OK(created);
    if (created.ok()) server = *std::move(created);
  }
  int64_t bytes_in_use() const {
    return process->buffers().stats().bytes_in_use;
  }
  int64_t peak() const { return process->buffers().stats().peak_bytes_in_use; }

  NullLogger logger;
  std::unique_ptr<Process> process;
  std::unique_ptr<Server> server;
};

// A cluster of one task, "/job:local/task:0".
class QuotasTest : public testing::TestWithParam<bool> {
 protected:
  bool simulated() const { return GetParam(); }

  void Start(const Quotas& quotas) { Start(quotas, quotas.OfPeers()); }
  void Start(const Quotas& quotas, const bus::TransportOptions& transport) {
    const std::string port = simulated() ? "1000" : "0";
    task_ = std::make_unique<Task>(
        world_, ClusterSpec{{"local", {absl::StrCat("localhost:", port)}}},
        "local", quotas, transport);
    ASSERT_NE(task_->server, nullptr);
  }
  std::unique_ptr<Session> Connect() {
    auto session = Session::Connect(
        task_->server->target(), root_,
        {.connect_timeout = absl::Seconds(30), .process = client_.get()});
    EXPECT_OK(session);
    return session.ok() ? *std::move(session) : nullptr;
  }
  // Waits until the task uses `bytes` of memory. Unused memory is freed within
  // a minute.
  void ExpectInUse(int64_t bytes) {
    const absl::Time limit = client_->clock().Now() + absl::Minutes(1);
    while (task_->bytes_in_use() != bytes && client_->clock().Now() < limit) {
      client_->scheduler().NewEvent()->WaitUntil(client_->clock().Now() +
                                                 absl::Milliseconds(1));
    }
    EXPECT_EQ(task_->bytes_in_use(), bytes);
  }

  World world_{simulated()};
  Scope root_ = Scope::Root();
  Output x_ = ops::Placeholder(root_.WithName("x"), DT_FLOAT);
  std::unique_ptr<Task> task_;
  std::unique_ptr<Process> client_ = world_.NewProcess("client");
};

INSTANTIATE_TEST_SUITE_P(Networks, QuotasTest, testing::Bool(),
                         [](const auto& kind) {
                           return kind.param ? "Simulated" : "Sockets";
                         });

constexpr char kLocal[] = "/job:local/replica:0/task:0";

TEST_P(QuotasTest, FeedOfTenGigabytesAllocatesNoMemory) {
  Start({.max_held_bytes_per_peer = 4 * kMiB});
  const Output y = ops::Identity(root_.WithName("y"), x_);
  const auto session = Connect();
  const int64_t in_use = task_->bytes_in_use();
  ASSERT_OK(session->Run({{x_, Floats(kMiB)}}, Operation(y)));
  const int64_t peak = task_->peak();
  // The feeds are 10 GB in total. Over sockets, a part of each feed is
  // transferred before its rejection arrives.
  const int runs = simulated() ? 1280 : 10;
  const Tensor large = Floats(8 * kMiB);
  for (int i = 0; i < runs; ++i) {
    ASSERT_THAT(session->Run({{x_, large}}, Operation(y)),
                IsRefused("feed x:0", kLocal, "max_held_bytes_per_peer"));
  }
  EXPECT_LT(task_->peak(), peak + kMiB);
  EXPECT_OK(session->Run({{x_, Floats(kMiB)}}, Operation(y)));
  ExpectInUse(in_use);
}

// Sends 200 feeds one after another with a quota of 4 MiB.
TEST_P(QuotasTest, SequentialFeedsMayExceedTheQuota) {
  Start({.max_held_bytes_per_peer = 4 * kMiB,
         .max_fed_bytes_per_session = 4 * kMiB});
  const Output y = ops::Identity(root_.WithName("y"), x_);
  const auto session = Connect();
  const Tensor piece = Floats(3 * kMiB);
  const int64_t in_use = task_->bytes_in_use();
  for (int i = 0; i < 200; ++i)
    ASSERT_OK(session->Run({{x_, piece}}, Operation(y)));
  ExpectInUse(in_use);
  EXPECT_LE(task_->peak(), 8 * kMiB);
}

// Outcomes collects the results of asynchronous runs.
class Outcomes {
 public:
  explicit Outcomes(Process& process) : process_(process) {}

  Session::RunDone Note() {
    return [this](const absl::StatusOr<std::vector<Tensor>>& result) {
      absl::MutexLock lock(&mutex_);
      statuses_.push_back(result.status());
    };
  }
  // Waits until `count` runs have ended. Returns the results so far.
  std::vector<absl::Status> WaitFor(size_t count) {
    const absl::Time limit = process_.clock().Now() + absl::Minutes(1);
    while (process_.clock().Now() < limit) {
      {
        absl::MutexLock lock(&mutex_);
        if (statuses_.size() >= count) return statuses_;
      }
      process_.scheduler().NewEvent()->WaitUntil(process_.clock().Now() +
                                                 absl::Milliseconds(1));
    }
    absl::MutexLock lock(&mutex_);
    return statuses_;
  }

 private:
  Process& process_;
  absl::Mutex mutex_;
  std::vector<absl::Status> statuses_ ABSL_GUARDED_BY(mutex_);
};

TEST_P(QuotasTest, FeedQuotaIsSharedByRunningSteps) {
  Start({.max_fed_bytes_per_session = 3 * kMiB});
  const Output queue = ops::FIFOQueue(root_, {DT_FLOAT});
  const Operation enqueue = ops::QueueEnqueue(root_, queue, {1.0f});
  const Output taken = ops::QueueDequeue(root_, queue, {DT_FLOAT})[0];
  const Output y = ops::Identity(
      root_.WithName("y").WithControlDependencies({Operation(taken)}), x_);
  const auto session = Connect();
  const int64_t in_use = task_->bytes_in_use();
  {
    ASSERT_OK_AND_ASSIGN(const auto waits,
                         session->MakeCallable({x_}, {}, {Operation(y)}));
    Outcomes outcomes(*client_);
    for (int i = 0; i < 4; ++i) {
      waits->RunAsync({Floats(kMiB)}, outcomes.Note());
    }
    const auto first = outcomes.WaitFor(1);
    ASSERT_EQ(first.size(), 1u);
    EXPECT_THAT(first[0],
                IsRefused("feed x:0", kLocal, "max_fed_bytes_per_session"));
    for (int i = 0; i < 3; ++i) ASSERT_OK(session->Run(enqueue));
    const auto all = outcomes.WaitFor(4);
    ASSERT_EQ(all.size(), 4u);
    for (size_t i = 1; i < all.size(); ++i) EXPECT_OK(all[i]);
  }
  ASSERT_OK(session->Run(enqueue));
  EXPECT_OK(session->Run({{x_, Floats(3 * kMiB)}}, Operation(y)));
  ASSERT_OK(session->Close());
  ExpectInUse(in_use);
}

// The characters of string tensors count against the quota, although they are
// stored outside the tensor's buffer.
TEST_P(QuotasTest, StringsCountWithTheirBytes) {
  Start({.max_fed_bytes_per_session = 3 * kMiB});
  const Output s = ops::Placeholder(root_.WithName("s"), DT_STRING);
  const Output y = ops::Identity(root_.WithName("y"), s);
  const auto session = Connect();
  const Tensor large = Tensor::Scalar(std::string(4 * kMiB, 'x'));
  EXPECT_THAT(session->Run({{s, large}}, Operation(y)),
              IsRefused("feed s:0", kLocal, "max_fed_bytes_per_session"));
  const Tensor small = Tensor::Scalar(std::string(2 * kMiB, 'x'));
  ASSERT_OK_AND_ASSIGN(const Tensor same, session->Run({{s, small}}, y));
  EXPECT_EQ(same.scalar<std::string>().size(), size_t{2 * kMiB});
}

// A callable may feed and fetch thousands of values, including values that are
// sent as attachments.
TEST_P(QuotasTest, ThousandsOfFeedsAndFetchesAreAllowed) {
  Start({});
  constexpr int kValues = 6000;
  std::vector<Output> fetches;
  for (int i = 0; i < kValues; ++i) fetches.push_back(ops::Identity(root_, x_));
  const auto session = Connect();
  for (const int64_t bytes : {1000, 2000}) {
    ASSERT_OK_AND_ASSIGN(const auto values,
                         session->Run({{x_, Floats(bytes)}}, fetches));
    ASSERT_EQ(values.size(), fetches.size());
    for (const Tensor& value : values) {
      ASSERT_EQ(static_cast<int64_t>(value.num_bytes()), bytes);
    }
  }
}

TEST_P(QuotasTest, ConnectionsPerTaskAreBounded) {
  Start({.max_connections = 2});
  const Output y = ops::Identity(root_.WithName("y"), x_);
  const auto first = Connect();
  const auto other = world_.NewProcess("other");
  const auto second = Session::Connect(
      task_->server->target(), root_,
      {.connect_timeout = absl::Seconds(30), .process = other.get()});
  ASSERT_OK(second);
  const auto third_process = world_.NewProcess("third");
  EXPECT_THAT(Session::Connect(task_->server->target(), root_,
                               {.connect_timeout = absl::Milliseconds(500),
                                .process = third_process.get()}),
              StatusIs(absl::StatusCode::kUnavailable, "max_connections"));
  EXPECT_OK(first->Run({{x_, Floats(4)}}, y));
}

TEST_P(QuotasTest, CallablesPerSessionAreBounded) {
  Start({.max_callables_per_session = 3});
  std::vector<Output> fetches;
  for (int i = 0; i < 4; ++i) fetches.push_back(ops::Identity(root_, x_));
  const auto session = Connect();
  std::vector<std::unique_ptr<Session::Callable>> callables;
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(auto callable,
                         session->MakeCallable({x_}, {fetches[i]}));
    callables.push_back(std::move(callable));
  }
  EXPECT_THAT(session->MakeCallable({x_}, {fetches[3]}),
              IsRefused("3 callables", kLocal, "max_callables_per_session"));
  EXPECT_OK(callables[0]->Run({Floats(4)}));
  callables.pop_back();
  EXPECT_OK(session->MakeCallable({x_}, {fetches[3]}));
  EXPECT_EQ(task_->server->runtime().num_registrations(), 2);
}

TEST_P(QuotasTest, GraphSizeIsBounded) {
  Start({.max_graph_bytes_per_session = kMiB});
  const auto session = Connect();
  const Output y = ops::Identity(root_, x_);
  EXPECT_OK(session->Run({{x_, Floats(4)}}, y));
  Tensor large = Floats(2 * kMiB);
  auto values = large.mutable_flat<float>();
  std::iota(values.begin(), values.end(), 0.0f);
  const Output constant = ops::Const(root_, large);
  EXPECT_THAT(session->Run(constant),
              IsRefused("graph", kLocal, "max_graph_bytes_per_session"));
  EXPECT_EQ(task_->server->num_sessions(), 1);
}

// Quota tests that need the simulated network.
class SimulatedQuotasTest : public QuotasTest {};
INSTANTIATE_TEST_SUITE_P(Network, SimulatedQuotasTest, testing::Values(true));

TEST_P(SimulatedQuotasTest, PendingRepliesPerClientAreBounded) {
  const Quotas quotas{.max_unsent_bytes_per_peer = 4 * kMiB};
  bus::TransportOptions transport = quotas.OfPeers();
  transport.credit_bytes = 2 * kMiB;
  Start(quotas, transport);
  const Output y = ops::Add(root_.WithName("y"), x_, x_);
  const auto session = Connect();
  constexpr size_t kRuns = 20;
  ASSERT_OK_AND_ASSIGN(const auto callable, session->MakeCallable({x_}, {y}));
  ASSERT_OK(callable->Run({Floats(kMiB)}));
  world_.scheduler().AdvanceBy(absl::Seconds(1));
  const int64_t in_use = task_->bytes_in_use();
  world_.network().set_hook([](const bus::MessageInfo& message) {
    const bool is_bulk = message.channel_kind == bus::ChannelKind::kBulk;
    return bus::HookResult{.delay = is_bulk && message.to_dialer
                                        ? absl::Hours(1)
                                        : absl::ZeroDuration()};
  });
  Outcomes outcomes(*client_);
  for (size_t i = 0; i < kRuns; ++i) {
    callable->RunAsync({Floats(kMiB)}, outcomes.Note());
  }
  world_.scheduler().AdvanceBy(absl::Minutes(1));
  const auto refused = outcomes.WaitFor(0);
  EXPECT_GE(refused.size(), kRuns - 7);
  for (const absl::Status& status : refused) {
    EXPECT_THAT(status,
                IsRefused("fetch y:0", kLocal, "max_unsent_bytes_per_peer"));
  }
  EXPECT_LE(task_->bytes_in_use(), in_use + 7 * kMiB);
  // The network was only slow, so the pending runs succeed.
  world_.scheduler().AdvanceBy(absl::Hours(100));
  const auto all = outcomes.WaitFor(kRuns);
  ASSERT_EQ(all.size(), kRuns);
  for (size_t i = refused.size(); i < kRuns; ++i) EXPECT_OK(all[i]);
  world_.network().set_hook(
      [](const bus::MessageInfo&) { return bus::HookResult{}; });
  EXPECT_OK(callable->Run({Floats(kMiB)}));
  ExpectInUse(in_use);
}

// A cluster in which the ps computes a value of a given size for the worker.
class TwoTasks {
 public:
  TwoTasks(const Quotas& ps, const Quotas& worker)
      : ps_(world_, spec_, "ps", ps, ps.OfPeers()),
        worker_(world_, spec_, "worker", worker, worker.OfPeers()) {}

  void ExpectLargeValueIsRefused(const std::string& task,
                                 const std::string& option) {
    Connect();
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(session_->Run({{size_, Size(kMiB)}}, Operation(arrived_)),
                  IsRefused("tensor made:0", task, option));
      EXPECT_OK(session_->Run({{size_, Size(40)}}, Operation(arrived_)));
    }
    ExpectNothingLeft();
  }
  void ExpectLargeFeedIsRefused(const std::string& task,
                                const std::string& option) {
    Connect();
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(session_->Run({{fed_, Floats(kMiB)}}, Operation(used_)),
                  IsRefused("takes feeds [fed:0]", task, option));
      EXPECT_OK(session_->Run({{fed_, Floats(40)}}, Operation(used_)));
    }
    ExpectNothingLeft();
  }

 private:
  static Tensor Size(int32_t bytes) {
    return Tensor::Vector<int32_t>({bytes / int32_t{sizeof(float)}});
  }
  void Connect() {
    ASSERT_OK_AND_ASSIGN(
        session_, Session::Connect(worker_.server->target(), root_,
                                   {.operation_timeout = absl::Minutes(5),
                                    .process = client_.get()}));
    in_use_ = worker_.bytes_in_use() + ps_.bytes_in_use();
  }
  void ExpectNothingLeft() {
    ASSERT_OK(session_->Close());
    for (const Task* task : {&ps_, &worker_}) {
      const StepTable::Size steps = task->server->runtime().steps();
      EXPECT_EQ(steps.running + steps.waiting + steps.aborted, 0);
      EXPECT_EQ(steps.waiting_bytes, 0);
    }
    world_.scheduler().AdvanceBy(absl::Seconds(1));
    EXPECT_EQ(worker_.bytes_in_use() + ps_.bytes_in_use(), in_use_);
  }

  World world_{true};
  const ClusterSpec spec_{{"ps", {"localhost:1000"}},
                          {"worker", {"localhost:1001"}}};
  Task ps_, worker_;
  std::unique_ptr<Process> client_ = world_.NewProcess("client");
  Scope root_ = Scope::Root();
  Scope on_ps_ = root_.WithDevice("/job:ps/task:0/cpu:0");
  Output size_ = ops::Placeholder(on_ps_, DT_INT32);
  Output made_ = ops::Fill(on_ps_.WithName("made"), size_, 1.0f);
  Output arrived_ =
      ops::Neg(root_.WithDevice("/job:worker/task:0/cpu:0"), made_);
  Output fed_ = ops::Placeholder(on_ps_.WithName("fed"), DT_FLOAT);
  Output used_ = ops::Neg(on_ps_, fed_);
  std::unique_ptr<Session> session_;
  int64_t in_use_ = 0;
};

constexpr char kPs[] = "/job:ps/replica:0/task:0";
constexpr char kWorker[] = "/job:worker/replica:0/task:0";

TEST(QuotasBetweenTasksTest, ValueOverQuotaIsNamed) {
  TwoTasks tasks({}, {.max_held_bytes_per_peer = kMiB / 2});
  tasks.ExpectLargeValueIsRefused(kWorker, "max_held_bytes_per_peer");
}

TEST(QuotasBetweenTasksTest, UnusedValueOverQuotaIsNamed) {
  TwoTasks tasks({}, {.max_unclaimed_bytes_per_session = kMiB / 2});
  tasks.ExpectLargeValueIsRefused(kWorker, "max_unclaimed_bytes_per_session");
}

TEST(QuotasBetweenTasksTest, UnsendableValueIsNamed) {
  TwoTasks tasks({.max_unsent_bytes_per_peer = kMiB / 2}, {});
  tasks.ExpectLargeValueIsRefused(kPs, "max_unsent_bytes_per_peer");
}

TEST(QuotasBetweenTasksTest, RemoteFeedOverQuotaIsNamed) {
  TwoTasks tasks({.max_held_bytes_per_peer = kMiB / 2}, {});
  tasks.ExpectLargeFeedIsRefused(kPs, "max_held_bytes_per_peer");
}

// Steps of the worker's sessions that wait for an element of a queue on the ps.
class WaitingSteps {
 public:
  WaitingSteps(const Quotas& ps, const Quotas& worker)
      : ps_(world_, spec_, "ps", ps, ps.OfPeers()),
        worker_(world_, spec_, "worker", worker, worker.OfPeers()) {}

  std::unique_ptr<Session> Connect() {
    auto session = Session::Connect(
        worker_.server->target(), root_,
        {.operation_timeout = absl::Minutes(5), .process = client_.get()});
    EXPECT_OK(session);
    return session.ok() ? *std::move(session) : nullptr;
  }
  // Starts `count` steps that wait for an element. Returns their callable.
  std::unique_ptr<Session::Callable> Wait(Session& session, int count) {
    auto callable = session.MakeCallable({}, {taken_});
    EXPECT_OK(callable);
    for (int i = 0; i < count; ++i) {
      (*callable)->RunAsync({}, outcomes_.Note());
    }
    world_.scheduler().AdvanceBy(absl::Seconds(1));
    return *std::move(callable);
  }
  int running() const { return ps_.server->runtime().steps().running; }

  World world_{true};
  const ClusterSpec spec_{{"ps", {"localhost:1000"}},
                          {"worker", {"localhost:1001"}}};
  Task ps_, worker_;
  std::unique_ptr<Process> client_ = world_.NewProcess("client");
  Outcomes outcomes_{*client_};
  Scope root_ = Scope::Root();
  Scope on_ps_ = root_.WithDevice("/job:ps/task:0/cpu:0");
  Output queue_ = ops::FIFOQueue(on_ps_, {DT_FLOAT}, {.shared_name = "queue"});
  Operation enqueue_ = ops::QueueEnqueue(on_ps_, queue_, {1.0f});
  Output taken_ = ops::QueueDequeue(on_ps_, queue_, {DT_FLOAT})[0];
  Output size_ = ops::QueueSize(on_ps_, queue_);
};

TEST(QuotasBetweenTasksTest, StepsEndDespiteExhaustedRequestQuota) {
  constexpr int kSteps = 4;
  WaitingSteps steps({.max_requests_per_peer = kSteps}, {});
  auto session = steps.Connect();
  auto callable = steps.Wait(*session, kSteps);
  EXPECT_EQ(steps.running(), kSteps);
  ASSERT_OK(session->Close());
  const auto ended = steps.outcomes_.WaitFor(kSteps);
  ASSERT_EQ(ended.size(), size_t{kSteps});
  for (const absl::Status& status : ended) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
  }
  EXPECT_EQ(steps.running(), 0);
  EXPECT_EQ(steps.ps_.server->runtime().num_sessions(), 0);
  // The cancelled steps have not taken the element, so a new step gets it.
  callable.reset();
  session = steps.Connect();
  ASSERT_OK(session->Run(steps.enqueue_));
  ASSERT_OK_AND_ASSIGN(const Tensor size, session->Run(steps.size_));
  EXPECT_EQ(size.scalar<int32_t>(), 1);
}

TEST(QuotasBetweenTasksTest, OneClientCannotExhaustTheQuota) {
  WaitingSteps steps({.max_requests_per_peer = 4},
                     {.max_requests_per_client = 2});
  const auto session = steps.Connect();
  const auto callable = steps.Wait(*session, 4);
  EXPECT_EQ(steps.running(), 2);
  const auto refused = steps.outcomes_.WaitFor(2);
  ASSERT_EQ(refused.size(), 2u);
  for (const absl::Status& status : refused) {
    EXPECT_THAT(status,
                IsRefused("requests", kWorker, "max_requests_per_client"));
  }
  const auto other = steps.Connect();
  for (int i = 0; i < 2; ++i) EXPECT_OK(other->Run(steps.enqueue_));
  EXPECT_EQ(steps.outcomes_.WaitFor(4).size(), 4u);
}

// A client that opens and uses sessions but never closes them.
class Deserter {
 public:
  Deserter(Process& process, const std::string& target)
      : process_(process),
        client_(process.transport(),
                {.address = *bus::Address::Parse(target.substr(6)),
                 .self = {.incarnation = process.random().NextId()},
                 .scheduler = &process.scheduler(),
                 .allocator = &process.buffers(),
                 .operation_timeout = absl::Minutes(1)}) {}

  absl::StatusOr<uint64_t> Open(const std::string& graph_def) {
    ASSIGN_OR_RETURN(const uint64_t session,
                     master_.CreateSession({.isolate_session_state = true}));
    RETURN_IF_ERROR(master_.ExtendSession(session, {graph_def, 0}).status());
    return session;
  }
  protocol::BlockingMaster& master() { return master_; }

  absl::Status OpenAndUse(const std::string& graph_def, const Tensor& value) {
    ASSIGN_OR_RETURN(const uint64_t session, Open(graph_def));
    ASSIGN_OR_RETURN(
        const uint64_t callable,
        master_.MakeCallable(session, {{"x:0"}, {"y:0"}, {"assign"}}));
    const std::unique_ptr<Event> done = process_.scheduler().NewEvent();
    absl::Status status;
    Tensor fetch;
    client_.RunCallable(session, callable,
                        {.feeds = absl::MakeConstSpan(&value, 1),
                         .fetches = absl::MakeSpan(&fetch, 1)},
                        [&](absl::Status result) {
                          status = std::move(result);
                          done->Set();
                        });
    done->Wait();
    return status;
  }

 private:
  Process& process_;
  protocol::MasterClient client_;
  protocol::BlockingMaster master_{client_, process_.scheduler()};
};

// A partial run counts against the quota until it ends, although the request
// that started it is answered at once.
TEST(QuotasBetweenTasksTest, PartialRunsCannotExhaustTheQuota) {
  WaitingSteps steps({.max_requests_per_peer = 4},
                     {.max_requests_per_client = 2});
  const Scope root = Scope::Root();
  const Output x = ops::Placeholder(root.WithName("x"), DT_FLOAT);
  ops::Neg(root.WithName("y").WithDevice("/job:ps/task:0/cpu:0"), x);
  const std::string graph_def = ExportGraphDef(root.graph()).value();
  Deserter client(*steps.client_, steps.worker_.server->target());
  std::vector<uint64_t> sessions;
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(sessions.emplace_back(), client.Open(graph_def));
  }
  const auto begin = [&](uint64_t session) {
    return client.master().MakeCallable(
        session, {.feeds = {"x:0"}, .fetches = {"y:0"}, .is_partial = true});
  };
  ASSERT_OK_AND_ASSIGN(const uint64_t first, begin(sessions[0]));
  ASSERT_OK(begin(sessions[1]));
  EXPECT_EQ(steps.running(), 2);
  EXPECT_THAT(begin(sessions[2]),
              IsRefused("requests", kWorker, "max_requests_per_client"));
  EXPECT_OK(steps.Connect()->Run(steps.enqueue_));
  ASSERT_OK(client.master().ReleaseCallable(sessions[0], first));
  steps.world_.scheduler().AdvanceBy(absl::Seconds(1));
  EXPECT_OK(begin(sessions[2]));
  EXPECT_EQ(steps.running(), 2);
}

// All resources of a task that abandoned sessions might leak.
struct Footprint {
  explicit Footprint(const Task& task)
      : bytes_in_use(task.bytes_in_use()),
        sessions_of_master(task.server->num_sessions()),
        sessions(task.server->runtime().num_sessions()),
        registrations(task.server->runtime().num_registrations()),
        steps(task.server->runtime().steps().running +
              task.server->runtime().steps().waiting),
        remembered(task.server->runtime().steps().aborted +
                   task.server->runtime().steps().ended +
                   task.server->runtime().steps().masters) {}
  friend bool operator==(const Footprint&, const Footprint&) = default;
  friend void PrintTo(const Footprint& it, std::ostream* out) {
    *out << it.bytes_in_use << " bytes, " << it.sessions_of_master << "/"
         << it.sessions << " sessions, " << it.registrations
         << " registrations, " << it.steps << " steps, " << it.remembered
         << " remembered";
  }

  int64_t bytes_in_use;
  int sessions_of_master, sessions, registrations, steps, remembered;
};

int AbandonedSessions() {
  const char* count = std::getenv("WEFT_ABANDONED_SESSIONS");
  return count != nullptr ? std::atoi(count) : 300;
}

TEST_P(SimulatedQuotasTest, AbandonedSessionsFreeTheirResources) {
  constexpr int64_t kBytes = 4096;
  Start({});
  const Output v = ops::VariableV2(root_.WithName("v"), {kBytes / 4}, DT_FLOAT);
  ops::Assign(root_.WithName("assign"), v, x_);
  ops::Neg(root_.WithName("y"), x_);
  const std::string graph_def = ExportGraphDef(root_.graph()).value();
  const auto abandon = [&](int count) {
    Deserter client(*client_, task_->server->target());
    for (int i = 0; i < count; ++i) {
      ASSERT_OK(client.OpenAndUse(graph_def, Floats(kBytes)));
    }
  };
  abandon(1);
  world_.scheduler().AdvanceBy(2 * kLease);
  const Footprint before(*task_);
  EXPECT_EQ(before.sessions_of_master, 0);

  const int count = AbandonedSessions();
  abandon(count);
  world_.scheduler().AdvanceBy(kLease / 2);
  const Footprint open(*task_);
  EXPECT_EQ(open.sessions_of_master, count);
  EXPECT_EQ(open.sessions, count);
  EXPECT_EQ(open.registrations, count);
  EXPECT_GE(open.bytes_in_use, before.bytes_in_use + count * kBytes);
  // A session without its variables needs less than kBytes.
  EXPECT_LE(open.bytes_in_use, before.bytes_in_use + count * 2 * kBytes);

  world_.scheduler().AdvanceBy(2 * kLease);
  EXPECT_EQ(Footprint(*task_), before);
}

}  // namespace
}  // namespace weft
