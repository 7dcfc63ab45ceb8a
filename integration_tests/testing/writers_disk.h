// WritersDisk is the disk of a simulated cluster's checkpoint writer, with
// faults: operations fail, the disk is full for a while, and unsynced data is
// lost by power failures.
//
// Threads: the thread that advances time.
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
  // The files, independent of processes.
  MemoryFileSystem& files() { return files_; }

  // Returns the view of a process, which is cut off when the process is killed,
  // because its hung threads may resume at the very end.
  FileSystem* ForNewProcess();

  // Adds faults: the writer crashes, with or without a power failure, and the
  // disk fails. Both must outlive the effects of InjectFaults; on_crash of
  // `faults` must not be set elsewhere.
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
