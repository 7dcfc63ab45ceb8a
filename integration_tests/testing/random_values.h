// Edge-case values for generated graphs: zeros, limits, NaN and empty shapes.
// They are mixed with many ordinary values, because otherwise no graph would
// run.
//
// Only for .cc files that include protobuf messages. Threads: the functions
// have no state.
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
// Returns the sizes of a small tensor's dimensions.
std::vector<int64_t> RandomSizes(Choices& choices);
// Sets a random shape. Sizes or the rank may be unknown, and sizes may be
// excessive.
void RandomShape(Choices& choices, tf::TensorShapeProto* shape);

// Fills a tensor of type `dtype` and shape `sizes`. The tensor has at most a
// few elements.
void RandomTensor(Choices& choices, DataType dtype,
                  const std::vector<int64_t>& sizes, tf::TensorProto* tensor);
// Changes one element of a tensor that RandomTensor has filled.
void ChangeElement(Choices& choices, tf::TensorProto* tensor);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_RANDOM_VALUES_H_
