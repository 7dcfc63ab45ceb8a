// Simulates a cluster with busy pools. A seed chooses some pools of some tasks,
// and kernels, client functions or graph extensions hold all threads of these
// pools for an unlimited time. Meanwhile steps reach their deadlines, sessions
// are closed, clients and tasks die, and quotas are full. There are no other
// faults, so heartbeats and the end of work must take bounded time, however
// busy a task is.
//
// WEFT_SIMULATION_SEEDS, WEFT_SIMULATION_FIRST_SEED and WEFT_SIMULATION_HUNT
// work as for simulation_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "integration_tests/testing/each_seed.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 20;
constexpr int kServers = 2;  // tasks of job "ps"
constexpr int kActions = 14;
constexpr absl::Duration kLease = absl::Seconds(8);
constexpr absl::Duration kHeartbeatTimeout = absl::Seconds(5);
constexpr absl::Duration kPeerTimeout = absl::Seconds(2);
// Maximum time of control work, such as the end of a step or a session, in
// addition to the timeouts that it waits for.
constexpr absl::Duration kPrompt = absl::Seconds(1);
// Maximum time of all other work, after the pools have been released.
constexpr absl::Duration kRecovery = absl::Minutes(2);
// The quota of unanswered requests per connection. Some clients run more steps
// than this, so the quota is exhausted.
constexpr int kRequests = 8;
constexpr uint64_t kMostSteps = 20;
constexpr char kClient[] = "busy client";

using Task = std::pair<std::string, int>;

struct BusyResult {
  std::vector<std::string> violations;
  std::vector<std::string> faults;
  int num_steps = 0;
};

// BusyPools occupies all threads of some pools of some tasks.
class BusyPools {
 public:
  explicit BusyPools(TestCluster& cluster) : cluster_(cluster) {}
  ~BusyPools() { ReleaseAll(); }

  void Hold(const Task& task, Pool pool) {
    const int size = SizeOf(pool);
    const std::shared_ptr<Event> over = cluster_.scheduler().NewEvent();
    SimulatedScheduler::Part& pools = cluster_.pools(task.first, task.second);
    for (int i = 0; i < size; ++i) {
      pools.Schedule(pool, [over] { over->Wait(); });
    }
    holds_[task].push_back(over);
  }
  void Release(const Task& task) {
    for (const auto& over : holds_[task]) over->Set();
    holds_.erase(task);
  }
  void ReleaseAll() {
    while (!holds_.empty()) Release(Task(holds_.begin()->first));
  }

 private:
  int SizeOf(Pool pool) const {
    const SimulatedPools& sizes = cluster_.pool_sizes();
    if (pool == Pool::kCompute) return sizes.compute;
    return pool == Pool::kGraph ? sizes.graph : sizes.blocking;
  }

  TestCluster& cluster_;
  std::map<Task, std::vector<std::shared_ptr<Event>>> holds_;
};

TestCluster::Options ClusterOptions(uint64_t seed, Logger* logger) {
  TestCluster::Options options = {
      .kind = ClusterKind::kSimulated,
      .jobs = {{"coordinator", 1}, {"ps", kServers}, {"worker", 1}},
      .seed = seed,
      .pools = SmallPools(seed),
      .lease = kLease,
      .heartbeat_interval = absl::Seconds(1),
      .heartbeat_timeout = kHeartbeatTimeout,
      .logger = logger};
  // For odd seeds, the bus has no timeout. Then the heartbeats of the
  // coordinator detect dead tasks.
  if (seed % 2 == 0) options.transport.peer_timeout = kPeerTimeout;
  options.transport.max_requests_per_peer = kRequests;
  options.transport.max_requests_per_client = kRequests;
  return options;
}

// The graph of a client that runs steps on parameter server 1. Its master is on
// the worker.
struct BusyProgram {
  BusyProgram() {
    const Scope server = root.WithDevice("/job:ps/task:1");
    const Output jobs = ops::FIFOQueue(server, {DT_FLOAT});
    never = ops::QueueDequeue(server, jobs, {DT_FLOAT})[0];
    sum = ops::Add(root.WithDevice("/job:ps/task:0"),
                   ops::Add(server, 1.0f, 2.0f), 3.0f);
  }

  Scope root = Scope::Root();
  Output never;  // a value that never becomes available
  Output sum;    // a sum of values from both servers
};

class BusySimulation {
 public:
  explicit BusySimulation(uint64_t seed)
      : seed_(seed),
        random_(NewSeededRandom(seed * 7919 + 1)),
        cluster_(ClusterOptions(seed, &logger_)),
        busy_(cluster_) {
    cluster_.scheduler().set_yields(
        {.one_in = std::vector<uint64_t>{0, 1000, 100, 20}[Chance(4)]});
  }

  BusyResult Run() {
    Advance(absl::Seconds(2));
    Connect();
    for (int i = 0; i < kActions && result_.violations.empty(); ++i) Act();
    if (result_.violations.empty()) CloseSession();
    busy_.ReleaseAll();
    session_.reset();
    Advance(absl::Seconds(5));
    client_.reset();
    return std::move(result_);
  }

 private:
  struct Step {
    absl::Status status;
    bool is_done = false;
  };

  void Act() {
    if (Chance(2) == 0) MakeBusy();
    switch (Chance(8)) {
      case 0:
      case 1:
        EndStepsAtDeadline(1);
        break;
      case 2:
        EndStepsAtDeadline(2 + Chance(kMostSteps));
        break;
      case 3:
        CloseSession();
        Connect();
        break;
      case 4:
        KillClient();
        break;
      case 5:
        KillMaster();
        break;
      case 6:
        KillServer();
        break;
      default:
        Log("time passes");
        Advance(absl::Seconds(1 + Chance(15)));
        ReleaseSome();
    }
    CheckNoTaskIsLost();
  }

  std::vector<Task> Tasks() const {
    return {{"coordinator", 0}, {"ps", 0}, {"ps", 1}, {"worker", 0}};
  }

  void MakeBusy() {
    for (const Task& task : Tasks()) {
      for (const Pool pool : {Pool::kCompute, Pool::kGraph, Pool::kBlocking}) {
        if (Chance(3) != 0) continue;
        constexpr const char* kNames[] = {"compute", "control", "graph",
                                          "blocking"};
        Log(absl::StrCat("the ", kNames[static_cast<int>(pool)], " pool of ",
                         NameOf(task), " is busy"));
        busy_.Hold(task, pool);
      }
    }
    Advance(absl::Milliseconds(Chance(1000)));
  }
  void ReleaseSome() {
    for (const Task& task : Tasks()) {
      if (Chance(2) != 0) continue;
      Log(absl::StrCat(NameOf(task), " has time"));
      busy_.Release(task);
    }
  }
  void ReleaseAll() {
    Log("all have time");
    busy_.ReleaseAll();
    Advance(absl::Seconds(1));
  }

  // Opens a session and creates its callables.
  void Connect() {
    ReleaseAll();
    client_ = cluster_.NewProcess(kClient);
    const absl::Time deadline = Now() + kRecovery;
    absl::Status status = absl::UnknownError("not tried");
    while (!status.ok() && Now() < deadline) status = TryToConnect();
    if (!status.ok())
      Violate(absl::StrCat("no session opens: ", status.ToString()));
    expected_losses_ = NumLosses();
  }
  absl::Status TryToConnect() {
    absl::Status status = absl::UnknownError("hangs");
    const bool is_done = Do(kRecovery, [this, &status] {
      auto session =
          Session::Connect(cluster_.target("worker", 0), program_.root,
                           {.operation_timeout = absl::Seconds(30),
                            .connect_timeout = absl::Seconds(30),
                            .process = client_.get()});
      status = session.status();
      if (!session.ok()) return;
      session_ = *std::move(session);
      status = session_->Run(program_.sum).status();
      (void)session_->Run({}, {program_.never},
                          {.timeout = absl::Milliseconds(100)});
    });
    if (!is_done) Abort("a client that connects");
    if (!status.ok()) Advance(absl::Seconds(1));
    return status;
  }

  // Runs `work` on a client's thread. Returns whether it has ended within
  // `limit`.
  bool Do(absl::Duration limit, std::function<void()> work) {
    const auto is_done = std::make_shared<bool>(false);
    cluster_.scheduler().Schedule(Pool::kBlocking,
                                  [is_done, work = std::move(work)] {
                                    work();
                                    *is_done = true;
                                  });
    return Reaches(limit, [is_done] { return *is_done; });
  }
  bool Reaches(absl::Duration limit, const std::function<bool()>& condition) {
    const absl::Time deadline = Now() + limit;
    while (!condition() && Now() < deadline) Advance(absl::Milliseconds(50));
    return condition();
  }

  // Starts `count` steps. Each must end at its deadline, and soon afterwards no
  // task may hold its resources.
  void EndStepsAtDeadline(uint64_t count) {
    const absl::Duration timeout = absl::Milliseconds(100 + Chance(2000));
    Log(absl::StrCat(count, " steps of ", absl::FormatDuration(timeout)));
    auto steps = StartSteps(count, timeout);
    if (!EndInTime(steps, timeout + kPrompt)) return;
    for (const auto& step : *steps) {
      if (absl::IsDeadlineExceeded(step.status) ||
          (count > 1 && absl::IsResourceExhausted(step.status))) {
        continue;
      }
      Violate(absl::StrCat("a step ends with ", step.status.ToString()));
    }
    ExpectNoSteps();
  }

  std::shared_ptr<std::vector<Step>> StartSteps(uint64_t count,
                                                absl::Duration timeout) {
    auto steps = std::make_shared<std::vector<Step>>(count);
    for (uint64_t i = 0; i < count; ++i) {
      ++result_.num_steps;
      cluster_.scheduler().Schedule(Pool::kBlocking, [this, steps, i, timeout] {
        Step& step = (*steps)[i];
        step.status =
            session_->Run({}, {program_.never}, {.timeout = timeout}).status();
        step.is_done = true;
      });
    }
    return steps;
  }

  bool EndInTime(const std::shared_ptr<std::vector<Step>>& steps,
                 absl::Duration limit) {
    const auto are_done = [steps] {
      return std::all_of(steps->begin(), steps->end(),
                         [](const Step& step) { return step.is_done; });
    };
    if (Reaches(limit, are_done)) return true;
    Violate("a step does not end in time");
    busy_.ReleaseAll();
    if (!Reaches(kRecovery, are_done)) Abort("a step");
    return false;
  }

  void ExpectNoSteps() {
    const auto is_none = [this] {
      for (int p = 0; p < kServers; ++p) {
        if (cluster_.runtime("ps", p)->steps().running != 0) return false;
      }
      return true;
    };
    if (!Reaches(kPrompt, is_none)) Violate("a task continues a step");
  }

  bool HasSessions(int p) {
    return cluster_.runtime("ps", p)->num_sessions() != 0;
  }
  // Waits until no running parameter server has a session.
  void ExpectNoSessions(absl::Duration limit) {
    const auto is_none = [this] { return !HasSessions(0) && !HasSessions(1); };
    if (!Reaches(limit, is_none)) Violate("a task keeps a session");
  }

  void CloseSession() {
    const uint64_t num_steps = Chance(2) == 0 ? 0 : Chance(kMostSteps);
    Log(absl::StrCat("the session is closed with ", num_steps, " steps"));
    const auto steps = StartSteps(num_steps, absl::Minutes(1));
    Advance(absl::Milliseconds(200));
    const auto status = std::make_shared<absl::Status>();
    const bool is_done =
        Do(kPrompt, [this, status] { *status = session_->Close(); });
    if (is_done && !status->ok())
      Violate(absl::StrCat("a session does not close: ", status->ToString()));
    if (!is_done) {
      Violate("a session does not close");
      busy_.ReleaseAll();
      Advance(kRecovery);
    }
    ExpectNoSessions(kPrompt);
    (void)EndInTime(steps, kPrompt);
    ForgetSession();
  }
  void ForgetSession() {
    busy_.ReleaseAll();
    const bool is_done = Do(kRecovery, [this] {
      session_.reset();
      client_.reset();
    });
    if (!is_done) Abort("the end of a session");
  }

  // Cuts all connections of a client with running steps. Tasks must end its
  // steps and sessions in time.
  void KillClient() {
    Log("the client dies");
    auto steps = StartSteps(1 + Chance(3), absl::Minutes(1));
    Advance(absl::Milliseconds(500));
    const auto each_task = [this](const auto& does) {
      for (const Task& task : Tasks()) does(NameOf(task));
    };
    each_task([this](const std::string& task) {
      cluster_.network().Partition(kClient, task);
      cluster_.network().Cut(kClient, task);
    });
    ExpectNoSessions(kLease + kPrompt);
    ExpectNoSteps();
    busy_.ReleaseAll();
    (void)EndInTime(steps, kRecovery);
    ForgetSession();
    each_task([this](const std::string& task) {
      cluster_.network().Heal(kClient, task);
    });
    Connect();
  }

  void KillMaster() {
    auto steps = StartSteps(1 + Chance(3), absl::Minutes(1));
    Advance(absl::Milliseconds(500));
    Kill({"worker", 0});
    ExpectNoSteps();
    ExpectNoSessions(kLease + kPrompt);
    ExpectNoticed({"worker", 0});
    Revive({"worker", 0}, steps);
  }

  // Crashes a server. Steps of other tasks that wait for this server must end:
  // at once if its connections are closed, or after the bus timeout if its
  // machine stopped without closing them.
  void KillServer() {
    const Task task = {"ps", 1};
    const bool is_silent = Chance(2) == 0;
    auto steps = StartSteps(1 + Chance(3), absl::Minutes(1));
    Advance(absl::Milliseconds(500));
    is_silent ? Freeze(task) : Kill(task);
    if (!is_silent) (void)EndInTime(steps, kPrompt);
    ExpectNoticed(task);
    if (is_silent) cluster_.Crash(task.first, task.second);
    (void)EndInTime(steps, kPrompt);
    Revive(task, steps);
  }
  void Freeze(const Task& task) {
    Log(absl::StrCat(NameOf(task), " stands still"));
    busy_.Release(task);
    cluster_.pools(task.first, task.second).Stop();
    cluster_.reader(task.first, task.second).Stop();
  }

  void Kill(const Task& task) {
    Log(absl::StrCat(NameOf(task), " dies"));
    busy_.Release(task);
    cluster_.Crash(task.first, task.second);
  }
  void ExpectNoticed(const Task& task) {
    const bool is_noticed = Reaches(kHeartbeatTimeout + kPrompt, [this, &task] {
      return absl::StrContains(Losses(), NameOf(task));
    });
    if (!is_noticed) Violate("the coordinator considers a dead task alive");
  }
  void Revive(const Task& task,
              const std::shared_ptr<std::vector<Step>>& steps) {
    busy_.ReleaseAll();
    cluster_.Start(task.first, task.second);
    (void)EndInTime(steps, kRecovery);
    ForgetSession();
    Connect();
  }

  // Returns the log lines that report a loss since the last session was opened.
  std::string Losses() {
    std::string losses;
    int seen = 0;
    for (const std::string& line : logger_.lines()) {
      if (!absl::StrContains(line, " is lost")) continue;
      if (++seen > expected_losses_) absl::StrAppend(&losses, line, "\n");
    }
    return losses;
  }
  int NumLosses() {
    const std::vector<std::string> lines = logger_.lines();
    return static_cast<int>(
        std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
          return absl::StrContains(line, " is lost");
        }));
  }
  void CheckNoTaskIsLost() {
    const std::string losses = Losses();
    if (!losses.empty())
      Violate(absl::StrCat("a task that is only busy was lost: ", losses));
    expected_losses_ = NumLosses();
  }

  // Ends this process, because a hung simulation cannot be destroyed.
  [[noreturn]] void Abort(const std::string& what) {
    for (const std::string& violation : result_.violations)
      std::fprintf(stderr, "%s\n", violation.c_str());
    for (const std::string& fault : result_.faults)
      std::fprintf(stderr, "  %s\n", fault.c_str());
    std::fprintf(stderr, "Seed %" PRIu64 ": %s hangs\n", seed_, what.c_str());
    std::abort();
  }

  static std::string NameOf(const Task& task) {
    return TaskName(task.first, task.second);
  }
  std::string Stamp() {
    return absl::FormatDuration(Now() - absl::UnixEpoch());
  }
  void Log(const std::string& what) {
    result_.faults.push_back(absl::StrCat(Stamp(), ": ", what));
  }
  void Violate(const std::string& what) {
    result_.violations.push_back(absl::StrCat(Stamp(), ": ", what));
  }
  uint64_t Chance(uint64_t bound) { return random_->Next() % bound; }
  absl::Time Now() { return cluster_.scheduler().clock().Now(); }
  void Advance(absl::Duration time) { cluster_.scheduler().AdvanceBy(time); }

  const uint64_t seed_;
  const std::unique_ptr<Random> random_;
  BusyResult result_;
  RecordingLogger logger_;
  int expected_losses_ = 0;
  const BusyProgram program_;
  TestCluster cluster_;
  BusyPools busy_;
  std::unique_ptr<Process> client_;
  std::unique_ptr<Session> session_;
};

TEST(BusySimulationTest, EverySeedKeepsControlWorkGoing) {
  int steps = 0;
  const auto ran = RunEachSeed(kSeeds, [&](uint64_t seed) {
    BusyResult result = BusySimulation(seed).Run();
    steps += result.num_steps;
    return result;
  });
  if (ran.has_value() && *ran >= kSeeds)
    EXPECT_GT(steps, static_cast<int>(10 * *ran));
}

}  // namespace
}  // namespace weft
