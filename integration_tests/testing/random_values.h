// Edge-case values for generated graphs: zeros, limits, NaN, empty shapes;
// mixed with many ordinary ones, because otherwise no graph would run.
//
// For .cc files that hold protobuf messages. Threads: stateless functions.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_RANDOM_VALUES_H_
#define WEFT_INTEGRATION_TESTS_TESTING_RANDOM_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "integration_tests/testing/choices.h"
#include "libs/tensor/data_type.h"

namespace weft {

namespace tf {
class TensorProto;
class TensorShapeProto;
}  // namespace tf

int64_t RandomInteger(Choices& choices);
double RandomNumber(Choices& choices);
std::string RandomText(Choices& choices);
// Returns sizes of small tensors.
std::vector<int64_t> RandomSizes(Choices& choices);
// May leave sizes or the rank unknown, or set excessive sizes.
void RandomShape(Choices& choices, tf::TensorShapeProto* shape);

// Fills a tensor of that type and these sizes, with at most a few elements.
void RandomTensor(Choices& choices, DataType dtype,
                  const std::vector<int64_t>& sizes, tf::TensorProto* tensor);
// Changes one element of a tensor made by RandomTensor.
void ChangeElement(Choices& choices, tf::TensorProto* tensor);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_RANDOM_VALUES_H_
