// Values that programs trip over, for generated graphs: zeros, limits, NaN,
// empty shapes; among many harmless ones, or nothing would run.
//
// For .cc files that hold protobuf messages. Threads: functions without state.
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
// Sizes of small tensors.
std::vector<int64_t> RandomSizes(Choices& choices);
// May leave sizes or the rank open, or ask for far too much.
void RandomShape(Choices& choices, tf::TensorShapeProto* shape);

// A tensor of that type and of these sizes; of no more than a few elements.
void RandomTensor(Choices& choices, DataType dtype,
                  const std::vector<int64_t>& sizes, tf::TensorProto* tensor);
// Another value for one element, of a tensor as the above makes them.
void ChangeElement(Choices& choices, tf::TensorProto* tensor);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_RANDOM_VALUES_H_
