// The program of the coordinator, which monitors the tasks of a cluster and
// decides on which devices nodes are placed.
//
//   bazel run //services/coordinator -- --task_index=0
//       --cluster='{"coordinator": ["localhost:2222"], "worker":
//       ["localhost:2223"]}'
#include "libs/server/task_main.h"

int main(int argc, char** argv) {
  return weft::TaskMain(argc, argv, "coordinator");
}
