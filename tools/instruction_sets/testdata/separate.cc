// Test data: all that it defines lies in its own namespace, Eigen included.
#include <Eigen/Core>

#include "tools/instruction_sets/testdata/kernel.h"

namespace weft {
namespace WEFT_ISA {

void Scale(float factor, float* values, int count) {
  Eigen::Map<Eigen::MatrixXf> all(values, count, 1);
  all = all * (Eigen::MatrixXf::Identity(1, 1) * factor);
}

}  // namespace WEFT_ISA
}  // namespace weft
