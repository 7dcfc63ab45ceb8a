#include "integration_tests/testing/cluster_faults.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/lock_observer.h"

namespace weft {
namespace {

// After which the bus's heartbeats report a loss.
constexpr absl::Duration kSilenceUntilLoss = absl::Seconds(5);
constexpr int kMinFaults = 3;
constexpr int kMaxFaults = 7;
constexpr int kLateMilliseconds = 3000;
// As long as a server gives its steps by default, and longer than any of ours.
constexpr absl::Duration kFullDrain = absl::Seconds(10);
// How long a client that has died is waited for.
constexpr int kBurialSeconds = 60;

}  // namespace

ClusterFaults::ClusterFaults(TestCluster& cluster, uint64_t seed)
    : cluster_(cluster), random_(NewSeededRandom(seed)) {
  for (const auto& [job, tasks] : cluster.spec().jobs()) {
    for (const auto& [index, address] : tasks) tasks_.emplace_back(job, index);
  }
  late_messages_ = std::vector<uint64_t>{0, 100, 500, 1500}[Chance(4)];
  cut_messages_ = std::vector<uint64_t>{0, 5, 30}[Chance(3)];
  // Points, of which a step has some hundreds.
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

void ClusterFaults::TellLoss(const std::string& wire) {
  for (Trainer* trainer : trainers_) {
    const bool is_its_worker = wire == trainer->worker();
    if (wire == trainer->name() || is_its_worker) trainer->OnConnectionLost();
  }
}

bus::Verdict ClusterFaults::OnMessage(const bus::MessageInfo& message) {
  const Uninterrupted whole;
  if (!is_raging_) return {};
  bus::Verdict verdict;
  if (Chance(10000) < late_messages_) verdict.delay = UpTo(kLateMilliseconds);
  if (Chance(10000) < cut_messages_) {
    verdict.fate = Chance(2) == 0 ? bus::Fate::kCutHere : bus::Fate::kCutAfter;
    for (Trainer* trainer : trainers_) {
      if (message.from == trainer->name() || message.to == trainer->name()) {
        trainer->OnConnectionLost();
      }
    }
  }
  return verdict;
}

std::vector<std::string> ClusterFaults::Names() const {
  std::vector<std::string> names;
  for (const auto& [job, index] : tasks_) names.push_back(TaskName(job, index));
  for (const Trainer* trainer : trainers_) names.push_back(trainer->name());
  return names;
}

void ClusterFaults::Rage() {
  is_raging_ = true;
  cluster_.scheduler().set_yields(yields_);
  Advance(UpTo(6000));
  const int num_faults =
      kMinFaults + static_cast<int>(Chance(kMaxFaults - kMinFaults + 1));
  for (int i = 0; i < num_faults; ++i) {
    DoSomething();
    Advance(UpTo(6000));
  }
  is_raging_ = false;
  yields_.percent_stalled = 0;
  yields_.focus_one_in = 0;
  cluster_.scheduler().set_yields(yields_);
  // Whatever silence is left.
  for (const std::string& a : Names()) {
    for (const std::string& b : Names()) cluster_.network().Heal(a, b);
  }
  Log("calm");
}

void ClusterFaults::DoSomething() {
  const Task& task = tasks_[Chance(tasks_.size())];
  switch (Chance(11)) {
    case 0:
    case 1:
    case 2:
      return CrashTask(task);
    case 3:
      return StopTask(task);
    case 4:
      return KillClient(*trainers_[Chance(trainers_.size())]);
    case 5:
    case 6:
      return Silence();
    case 7:
      return HoldTask(task);
    case 8:
      return ResetMaster();
    default:
      return CutConnections();
  }
}

void ClusterFaults::CrashTask(const Task& task) {
  const std::string name = TaskName(task.first, task.second);
  Log(absl::StrCat("crash of ", name));
  ++lives_[name];
  TellLoss(name);
  cluster_.Crash(task.first, task.second);
  StartAgain(task);
}

void ClusterFaults::StopTask(const Task& task) {
  const std::string name = TaskName(task.first, task.second);
  Log(absl::StrCat("stop of ", name));
  ++lives_[name];
  TellLoss(name);
  cluster_.Stop(task.first, task.second, Drain());
  TellLoss(name);
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
  for (Trainer* trainer : trainers_) trainer->OnStuck(true);
  if (which != 1) pools.Stop();
  if (which != 0) reader.Stop();
  Advance(UpTo(9000));
  pools.GoOn();
  reader.GoOn();
  for (Trainer* trainer : trainers_) trainer->OnStuck(false);
  Log("go on");
}

// Clears what nobody has, and ends all sessions of a master, among them those
// that begin meanwhile.
void ClusterFaults::ResetMaster() {
  const Trainer& trainer = *trainers_[Chance(trainers_.size())];
  Log(absl::StrCat("reset of ", trainer.worker()));
  Process* const process =
      resetting_.emplace_back(cluster_.NewProcess("resetter")).get();
  cluster_.scheduler().Schedule(
      Pool::kBlocking, [target = trainer.target(), process] {
        (void)Session::Reset(target, {"stranger"},
                             {.operation_timeout = absl::Seconds(20),
                              .connect_timeout = absl::Seconds(5),
                              .process = process});
      });
}

void ClusterFaults::StartAgain(const Task& task) {
  if (Chance(2) == 0) Advance(UpTo(15000));
  const std::string name = TaskName(task.first, task.second);
  Log(absl::StrCat("start of ", name));
  ++lives_[name];
  cluster_.Start(task.first, task.second);
}

void ClusterFaults::KillClient(Trainer& trainer) {
  Log(absl::StrCat("death of ", trainer.name()));
  trainer.OnConnectionLost();
  trainer.Die();
  for (const std::string& other : Names()) {
    if (other == trainer.name()) continue;
    cluster_.network().Partition(trainer.name(), other);
    cluster_.network().Cut(trainer.name(), other);
  }
  for (int i = 0; i < kBurialSeconds && !trainer.reborn(); ++i) {
    Advance(absl::Seconds(1));
  }
  for (const std::string& other : Names()) {
    cluster_.network().Heal(trainer.name(), other);
  }
}

void ClusterFaults::Cut(const std::string& a, const std::string& b) {
  Log(absl::StrCat("cut between ", a, " and ", b));
  for (Trainer* trainer : trainers_) {
    if (a == trainer->name() || b == trainer->name()) {
      trainer->OnConnectionLost();
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
  Log(absl::StrCat("silence ", one_way ? "from " : "between ", a,
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
