// The program of a parameter server, which is a task that stores variables.
//
//   bazel run //services/ps -- --task_index=0
//       --cluster='{"ps": ["localhost:2222"], "worker": ["localhost:2223"]}'
#include "libs/server/task_main.h"

int main(int argc, char** argv) { return weft::TaskMain(argc, argv, "ps"); }
