// The program of the coordinator: who is alive, and where nodes go.
//
//   bazel run //services/coordinator -- --task_index=0
//       --cluster='{"coordinator": ["localhost:2222"], "worker":
//       ["localhost:2223"]}'
#include "libs/server/task_main.h"

int main(int argc, char** argv) {
  return weft::TaskMain(argc, argv, "coordinator");
}
