#include "integration_tests/testing/disk_simulation.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/checkpoint/checkpoint_state.h"

namespace weft {
namespace {

constexpr absl::Duration kLease = absl::Seconds(10);
constexpr absl::Duration kLookEvery = absl::Milliseconds(300);
// Time that programs get to end if they have not recovered from faults.
constexpr absl::Duration kGivingUp = absl::Minutes(30);

}  // namespace

DiskSimulation::DiskSimulation(const DiskSimulationOptions& options)
    : options_(options),
      cluster_(ClusterOptions()),
      faults_(cluster_, options.seed * 7919 + 1) {
  disk_.AddFaults(faults_);
}

TestCluster::Options DiskSimulation::ClusterOptions() {
  TestCluster::Options cluster = {
      .kind = ClusterKind::kSimulated,
      .jobs = {{"coordinator", 1},
               {"ps", options_.num_servers},
               {"worker", options_.num_clients},
               {kCheckpointWriter, 1}},
      .seed = options_.seed,
      .pools = SmallPools(options_.seed),
      .lease = kLease,
      .placement_timeout = absl::Seconds(15),
      .heartbeat_interval = absl::Seconds(1),
      .heartbeat_timeout = absl::Seconds(5),
      .log_waits_after = ServerOptions().log_waits_after};
  cluster.file_system = [this](const std::string& name) -> FileSystem* {
    if (name == TaskName(kCheckpointWriter, 0)) return disk_.ForNewProcess();
    return &others_disk_;
  };
  if (options_.has_small_chunks) {
    cluster.transport.inline_bytes = 400;
    cluster.transport.medium_bytes = 0;
    cluster.transport.chunk_bytes = 300;
    cluster.transport.credit_bytes = 600;
  }
  return cluster;
}

void DiskSimulation::Disturb(int num_rounds, int between_milliseconds) {
  is_watched_ = true;
  cluster_.scheduler().Schedule(Pool::kBlocking, [this] { WatchDisk(); });
  for (int i = 0; i < num_rounds; ++i) {
    Advance(faults_.UpTo(between_milliseconds));
    faults_.InjectFaults();
  }
}

void DiskSimulation::WatchDisk() {
  const auto pause = [&] {
    cluster_.scheduler().NewEvent()->WaitUntil(Now() + kLookEvery);
  };
  for (; !is_over_; pause()) Look();
  is_watched_ = false;
}

std::string DiskSimulation::Newest() {
  const auto state =
      checkpoint::ReadCheckpointState(disk_.files(), options_.folder);
  if (state.ok()) return state->model_checkpoint_path;
  if (!absl::IsNotFound(state.status())) {
    Violate(absl::StrCat("no state: ", state.status().ToString()));
  }
  return "";
}

void DiskSimulation::End() {
  const absl::Time deadline = Now() + kGivingUp;
  while (!HaveAllEnded()) {
    if (Now() > deadline) Abort();
    ResumeUntilEnd();
    Advance(absl::Seconds(1));
  }
  Advance(3 * kLease);
  is_over_ = true;
  while (is_watched_) Advance(absl::Seconds(1));
  CheckForgotten("ps", options_.num_servers);
  CheckForgotten("worker", options_.num_clients);
}

void DiskSimulation::Abort() {
  std::fprintf(stderr, "Seed %" PRIu64 " hangs\n", options_.seed);
  for (const std::string& fault : faults_.log()) {
    std::fprintf(stderr, "  %s\n", fault.c_str());
  }
  std::abort();
}

void DiskSimulation::CheckForgotten(const std::string& job, int num_tasks) {
  for (int i = 0; i < num_tasks; ++i) {
    const std::string left = DescribeLeaks(cluster_, job, i);
    if (!left.empty()) Violate(left);
  }
}

}  // namespace weft
