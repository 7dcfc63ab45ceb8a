// WritersDisk is the disk of the checkpoint writer in a simulated cluster. It
// has faults: operations fail, the disk is full for a while, and a power
// failure loses unsynced data.
//
// Threads: must be used on the thread that advances time.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_WRITERS_DISK_H_
#define WEFT_INTEGRATION_TESTS_TESTING_WRITERS_DISK_H_

#include <memory>
#include <string>
#include <vector>

#include "integration_tests/testing/cluster_faults.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/memory_file_system.h"

namespace weft {

// name of the writer's job
inline constexpr char kCheckpointWriter[] = "checkpoint_writer";

class WritersDisk {
 public:
  // Returns the files on the disk, which outlive processes.
  MemoryFileSystem& files() { return files_; }

  // Returns the view of the disk for a new process. The view fails all
  // operations once the process is killed, because its hung threads may resume
  // at the very end.
  FileSystem* ForNewProcess();

  // Adds faults: the writer crashes, with or without a power failure, and the
  // disk fails. The disk and `faults` must outlive the effects of InjectFaults.
  // Sets the crash callback of `faults`, which must not be set elsewhere.
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
