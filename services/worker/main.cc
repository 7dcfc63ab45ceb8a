// The program of a worker: a task that computes, and that sessions connect to.
//
//   bazel run //services/worker -- --task_index=0
//       --cluster='{"ps": ["localhost:2222"], "worker": ["localhost:2223"]}'
#include "libs/server/task_main.h"

int main(int argc, char** argv) { return weft::TaskMain(argc, argv, "worker"); }
