// The program of a checkpoint writer, which is a task without devices that
// stores files for its cluster below --root.
//
//   bazel run //services/checkpoint_writer -- --task_index=0
//       --cluster='{"checkpoint_writer": ["localhost:2222"], "worker":
//       ["localhost:2223"]}'
#include "libs/server/task_main.h"

int main(int argc, char** argv) {
  return weft::TaskMain(argc, argv, "checkpoint_writer");
}
