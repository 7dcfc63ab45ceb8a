// Mutants returns bugs for mutation testing. A bug is injected into all tasks
// of a simulated cluster, so that a test can show that its seeds detect the
// bug. The code of tasks is unchanged: a bug is simulated by changing the
// messages of tasks, or the objects from which tasks are built.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_MUTANTS_H_
#define WEFT_INTEGRATION_TESTS_TESTING_MUTANTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "integration_tests/testing/test_cluster.h"

namespace weft {

struct Mutant {
  std::string name;  // part of the test name, for example "AbortIsLost"
  std::function<void(TestCluster::Options& cluster)> plant;
  // A seed that detected the bug. After code changes another seed may be
  // needed.
  uint64_t first_seed = 1;
};

std::vector<Mutant> Mutants();

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_MUTANTS_H_
