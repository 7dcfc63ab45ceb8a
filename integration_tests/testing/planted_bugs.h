// PlantedBugs: bugs of the kind that were found while Weft was built, to be
// planted in all tasks of a simulated cluster, so that a test can show that
// its seeds find them. No code of a task knows of them: what a task would do
// wrong is done to its messages, or to what it is made of.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_PLANTED_BUGS_H_
#define WEFT_INTEGRATION_TESTS_TESTING_PLANTED_BUGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "integration_tests/testing/test_cluster.h"

namespace weft {

struct PlantedBug {
  std::string name;  // "AbortIsLost": for the names of tests
  std::function<void(TestCluster::Options& cluster)> plant;
  // The one that found it last. A change of the code draws other schedules.
  uint64_t first_seed = 1;
};

std::vector<PlantedBug> PlantedBugs();

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_PLANTED_BUGS_H_
