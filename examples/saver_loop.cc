// Saves during training. Every --save_every steps, three parameter servers
// write the parts of a checkpoint in parallel. If the program is started again,
// it continues from the newest checkpoint.
//
//   saver_loop --dir=/tmp/model    # runs a cluster in this process
//   saver_loop --dir=/tmp/model --target=zmq://localhost:2223
//   saver_loop --dir=s3://bucket/model --target=zmq://localhost:2223
//
// The target is a task of a cluster with three tasks of job ps. All tasks must
// have access to the same directory: on one machine, at a checkpoint writer
// ("zmq://") or in an object store (docs/operations/object_stores.md).
#include <cstdio>
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "examples/in_process_cluster.h"
#include "examples/saved_training.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"

ABSL_FLAG(std::string, dir, "", "Where the checkpoints go");
ABSL_FLAG(std::string, target, "",
          "A task of a cluster, zmq://HOST:PORT; empty: one in this process");
ABSL_FLAG(int64_t, steps, 5000, "The global step at which to end");
ABSL_FLAG(int64_t, save_every, 1000, "Steps from one checkpoint to the next");

namespace weft::examples {
namespace {

absl::Status Main() {
  const std::string dir = absl::GetFlag(FLAGS_dir);
  if (dir.empty()) return absl::InvalidArgumentError("--dir must be given");
  if (absl::GetFlag(FLAGS_save_every) < 1) {
    return absl::InvalidArgumentError("--save_every must be at least 1");
  }
  std::string target = absl::GetFlag(FLAGS_target);
  std::unique_ptr<InProcessCluster> cluster;
  if (target.empty()) {
    ASSIGN_OR_RETURN(cluster,
                     InProcessCluster::Start({{"ps", 3}, {"worker", 1}}));
    target = cluster->target();
  }
  return SavedTraining({.folder = dir,
                        .steps = absl::GetFlag(FLAGS_steps),
                        .save_every = absl::GetFlag(FLAGS_save_every)})
      .Train(target);
}

}  // namespace
}  // namespace weft::examples

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "Saves a model every so many steps.");
  const absl::Status status = weft::examples::Main();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
