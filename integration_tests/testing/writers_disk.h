// WritersDisk: the disk of a simulated cluster's checkpoint writer: operations
// on it fail, it is full for a while, and what was not synced is lost with the
// power of its machine.
//
// Threads: of the one that advances time.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_WRITERS_DISK_H_
#define WEFT_INTEGRATION_TESTS_TESTING_WRITERS_DISK_H_

#include <memory>
#include <string>
#include <vector>

#include "integration_tests/testing/cluster_faults.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/memory_file_system.h"

namespace weft {

inline constexpr char kCheckpointWriter[] = "checkpoint_writer";  // the job

class WritersDisk {
 public:
  // What is there, whoever lives.
  MemoryFileSystem& files() { return files_; }

  // As a process sees it, which is cut off from it when it is killed: whatever
  // stands still there may go on at the very end.
  FileSystem* ForNewProcess();

  // The writer crashes, with or without the power of its machine, and the disk
  // fails. Both outlive what Rage does; nobody else sets `faults`' on_crash.
  void AddFaults(ClusterFaults& faults);

 private:
  void FailOnce(ClusterFaults& faults);
  void Fill(ClusterFaults& faults);
  void OnCrash(ClusterFaults& faults, const std::string& task);
  FailingFileSystem& current() { return *seen_.back(); }

  MemoryFileSystem files_{{.tracks_syncs = true}};
  std::vector<std::unique_ptr<FailingFileSystem>> seen_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_WRITERS_DISK_H_
