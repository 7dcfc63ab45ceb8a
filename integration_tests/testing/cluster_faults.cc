#include "integration_tests/testing/cluster_faults.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/lock_observer.h"

namespace weft {
namespace {

// After this time without messages, the heartbeats of the bus report a lost
// connection.
constexpr absl::Duration kSilenceUntilLoss = absl::Seconds(5);
constexpr int kMinFaults = 3;
constexpr int kMaxFaults = 7;
constexpr int kLateMilliseconds = 3000;
// The default drain time of a server, which exceeds the time of any step here.
constexpr absl::Duration kFullDrain = absl::Seconds(10);
// Maximum time to wait until a killed client has been replaced.
constexpr int kBurialSeconds = 60;

}  // namespace

ClusterFaults::ClusterFaults(TestCluster& cluster, uint64_t seed)
    : cluster_(cluster), random_(NewSeededRandom(seed)) {
  for (const auto& [job, tasks] : cluster.spec().jobs()) {
    for (const auto& [index, address] : tasks) tasks_.emplace_back(job, index);
  }
  late_messages_ = std::vector<uint64_t>{0, 100, 500, 1500}[Chance(4)];
  cut_messages_ = std::vector<uint64_t>{0, 5, 30}[Chance(3)];
  // A yield point is one opportunity to switch threads. A step passes some
  // hundreds of them.
  yields_.one_in = std::vector<uint64_t>{0, 1000, 100, 20}[Chance(4)];
  yields_.percent_stalled = std::vector<uint64_t>{0, 5, 25}[Chance(3)];
  yields_.focus_one_in = std::vector<uint64_t>{0, 100, 30, 10}[Chance(4)];
  cluster_.network().set_hook(
      [this](const bus::MessageInfo& message) { return OnMessage(message); });
}

ClusterFaults::~ClusterFaults() { cluster_.network().set_hook(nullptr); }

void ClusterFaults::Log(const std::string& what) {
  log_.push_back(
      absl::StrCat(absl::FormatDuration(cluster_.scheduler().clock().Now() -
                                        absl::UnixEpoch()),
                   ": ", what));
}

void ClusterFaults::NotifyLoss(const std::string& wire) {
  for (DisturbedClient* client : clients_) {
    const bool is_its_worker = wire == client->worker();
    if (wire == client->name() || is_its_worker) client->OnConnectionLost();
  }
}

bus::HookResult ClusterFaults::OnMessage(const bus::MessageInfo& message) {
  const Uninterrupted whole;
  if (!is_injecting_) return {};
  bus::HookResult hook_result;
  if (Chance(10000) < late_messages_)
    hook_result.delay = UpTo(kLateMilliseconds);
  if (Chance(10000) < cut_messages_) {
    hook_result.fate =
        Chance(2) == 0 ? bus::Fate::kCutHere : bus::Fate::kCutAfter;
    for (DisturbedClient* client : clients_) {
      if (message.from == client->name() || message.to == client->name()) {
        client->OnConnectionLost();
      }
    }
  }
  return hook_result;
}

std::vector<std::string> ClusterFaults::Names() const {
  std::vector<std::string> names;
  for (const auto& [job, index] : tasks_) names.push_back(TaskName(job, index));
  for (const DisturbedClient* client : clients_)
    names.push_back(client->name());
  return names;
}

void ClusterFaults::InjectFaults() {
  is_injecting_ = true;
  cluster_.scheduler().set_yields(yields_);
  Advance(UpTo(6000));
  const int num_faults =
      kMinFaults + static_cast<int>(Chance(kMaxFaults - kMinFaults + 1));
  for (int i = 0; i < num_faults; ++i) {
    InjectFault();
    Advance(UpTo(6000));
  }
  is_injecting_ = false;
  yields_.percent_stalled = 0;
  yields_.focus_one_in = 0;
  cluster_.scheduler().set_yields(yields_);
  // Restores all connections that are still silent.
  for (const std::string& a : Names()) {
    for (const std::string& b : Names()) cluster_.network().Heal(a, b);
  }
  Log("all faults have ended");
}

void ClusterFaults::InjectFault() {
  if (!own_faults_.empty() && Chance(2) == 0) {
    return own_faults_[Chance(own_faults_.size())]();
  }
  const Task& task = tasks_[Chance(tasks_.size())];
  switch (Chance(12)) {
    case 0:
    case 1:
    case 2:
      return CrashTask(task);
    case 3:
      return StopTask(task);
    case 4:
      return KillClient(*clients_[Chance(clients_.size())]);
    case 5:
    case 6:
      return Silence();
    case 7:
      return HoldTask(task);
    case 8:
      return ResetMaster();
    case 9:
      return ExhaustPools(task);
    default:
      return CutConnections();
  }
}

void ClusterFaults::CrashTask(const Task& task) {
  const std::string name = TaskName(task.first, task.second);
  Log(absl::StrCat("crash of task ", name));
  ++lives_[name];
  NotifyLoss(name);
  cluster_.Crash(task.first, task.second);
  if (on_crash_) on_crash_(name);
  StartAgain(task);
}

void ClusterFaults::StopTask(const Task& task) {
  const std::string name = TaskName(task.first, task.second);
  Log(absl::StrCat("clean stop of task ", name));
  ++lives_[name];
  NotifyLoss(name);
  cluster_.Stop(task.first, task.second, Drain());
  NotifyLoss(name);
  StartAgain(task);
}

absl::Duration ClusterFaults::Drain() {
  return Chance(2) == 0 ? kFullDrain : UpTo(2000);
}

void ClusterFaults::HoldTask(const Task& task) {
  SimulatedScheduler::Part& pools = cluster_.pools(task.first, task.second);
  SimulatedScheduler::Part& reader = cluster_.reader(task.first, task.second);
  const uint64_t which = Chance(3);
  Log(absl::StrCat(which == 0   ? "pools"
                   : which == 1 ? "the reader"
                                : "all",
                   " of ", TaskName(task.first, task.second), " stand still"));
  for (DisturbedClient* client : clients_) client->OnStuck(true);
  if (which != 1) pools.Stop();
  if (which != 0) reader.Stop();
  Advance(UpTo(9000));
  pools.Resume();
  reader.Resume();
  for (DisturbedClient* client : clients_) client->OnStuck(false);
  Log("the stopped threads continue");
}

// Occupies all threads of a task, as long kernels and waiting client functions
// do. The task must continue with work that needs no other thread: heartbeats,
// and the ends of steps and sessions.
void ClusterFaults::ExhaustPools(const Task& task) {
  Log(absl::StrCat("all threads of ", TaskName(task.first, task.second),
                   " are busy"));
  SimulatedScheduler::Part& pools = cluster_.pools(task.first, task.second);
  const SimulatedPools& sizes = cluster_.pool_sizes();
  const std::shared_ptr<Event> over = cluster_.scheduler().NewEvent();
  for (const auto& [pool, size] :
       {std::pair(Pool::kCompute, sizes.compute),
        std::pair(Pool::kBlocking, sizes.blocking)}) {
    for (int i = 0; i < size; ++i) {
      pools.Schedule(pool, [over] { over->Wait(); });
    }
  }
  for (DisturbedClient* client : clients_) client->OnStuck(true);
  Advance(UpTo(20000));
  over->Set();
  for (DisturbedClient* client : clients_) client->OnStuck(false);
  Log("the busy threads are free again");
}

// Resets a container that no session uses, and ends all sessions of a master,
// including those that begin meanwhile.
void ClusterFaults::ResetMaster() {
  const DisturbedClient& client = *clients_[Chance(clients_.size())];
  Log(absl::StrCat("reset of containers at ", client.worker()));
  Process* const process =
      resetting_.emplace_back(cluster_.NewProcess("resetter")).get();
  cluster_.scheduler().Schedule(
      Pool::kBlocking, [target = client.target(), process] {
        (void)Session::Reset(target, {"stranger"},
                             {.operation_timeout = absl::Seconds(20),
                              .connect_timeout = absl::Seconds(5),
                              .process = process});
      });
}

void ClusterFaults::StartAgain(const Task& task) {
  if (Chance(2) == 0) Advance(UpTo(15000));
  const std::string name = TaskName(task.first, task.second);
  Log(absl::StrCat("start of task ", name));
  ++lives_[name];
  cluster_.Start(task.first, task.second);
}

void ClusterFaults::KillClient(DisturbedClient& client) {
  Log(absl::StrCat("death of client ", client.name()));
  client.OnConnectionLost();
  client.Die();
  for (const std::string& other : Names()) {
    if (other == client.name()) continue;
    cluster_.network().Partition(client.name(), other);
    cluster_.network().Cut(client.name(), other);
  }
  for (int i = 0; i < kBurialSeconds && !client.reborn(); ++i) {
    Advance(absl::Seconds(1));
  }
  for (const std::string& other : Names()) {
    cluster_.network().Heal(client.name(), other);
  }
}

void ClusterFaults::Cut(const std::string& a, const std::string& b) {
  Log(absl::StrCat("cut connection between ", a, " and ", b));
  for (DisturbedClient* client : clients_) {
    if (a == client->name() || b == client->name()) {
      client->OnConnectionLost();
    }
  }
  cluster_.network().Cut(a, b);
}

void ClusterFaults::CutConnections() {
  const std::vector<std::string> names = Names();
  const std::string& a = names[Chance(names.size())];
  const std::string& b = names[Chance(names.size())];
  if (a != b) Cut(a, b);
}

void ClusterFaults::Silence() {
  const std::vector<std::string> names = Names();
  const std::string a = names[Chance(names.size())];
  const std::string b = names[Chance(names.size())];
  if (a == b) return;
  const bool one_way = Chance(2) == 0;
  Log(absl::StrCat("messages are lost ", one_way ? "from " : "between ", a,
                   one_way ? " to " : " and ", b));
  one_way ? cluster_.network().PartitionOneWay(a, b)
          : cluster_.network().Partition(a, b);
  const absl::Duration silence = UpTo(9000);
  Advance(std::min(silence, kSilenceUntilLoss));
  if (silence > kSilenceUntilLoss) {
    Cut(a, b);
    Advance(silence - kSilenceUntilLoss);
  }
  cluster_.network().Heal(a, b);
}

}  // namespace weft
