// The program of a worker, which is a task that computes and to which sessions
// connect.
//
//   bazel run //services/worker -- --task_index=0
//       --cluster='{"ps": ["localhost:2222"], "worker": ["localhost:2223"]}'
#include "libs/server/task_main.h"

int main(int argc, char** argv) { return weft::TaskMain(argc, argv, "worker"); }
