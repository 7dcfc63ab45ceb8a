#include "integration_tests/testing/writers_disk.h"

#include <cstdint>

namespace weft {
namespace {

// The index of the failing operation is below this number. A save has some
// dozens of operations.
constexpr uint64_t kFailAmong = 60;
// maximum of the bytes that remain on a full disk
constexpr uint64_t kMaxRoom = 2000;
constexpr int kFullMilliseconds = 4000;

}  // namespace

FileSystem* WritersDisk::ForNewProcess() {
  return seen_.emplace_back(std::make_unique<FailingFileSystem>(files_)).get();
}

void WritersDisk::AddFaults(ClusterFaults& faults) {
  faults.AddFault([&faults] { faults.CrashTask({kCheckpointWriter, 0}); });
  faults.AddFault([this, &faults] { FailOnce(faults); });
  faults.AddFault([this, &faults] { Fill(faults); });
  faults.set_on_crash(
      [this, &faults](const std::string& task) { OnCrash(faults, task); });
}

void WritersDisk::FailOnce(ClusterFaults& faults) {
  faults.Log("one operation on the writer's disk will fail");
  current().FailOperation(
      static_cast<int64_t>(faults.Chance(kFailAmong)),
      absl::ResourceExhaustedError("No space left on device"));
}

void WritersDisk::Fill(ClusterFaults& faults) {
  faults.Log("the writer's disk is full");
  current().LimitSpace(faults.Chance(kMaxRoom));
  faults.Advance(faults.UpTo(kFullMilliseconds));
  faults.Log("the writer's disk has space again");
  current().Heal();
}

void WritersDisk::OnCrash(ClusterFaults& faults, const std::string& task) {
  if (task != TaskName(kCheckpointWriter, 0)) return;
  current().FailAllFrom(0, absl::UnavailableError("The process was killed"));
  if (faults.Chance(2) == 0) return;
  faults.Log("the writer's machine loses power");
  files_.LosePower(faults.random());
}

}  // namespace weft
