// ExpectOutputs compares an op's outputs bitwise, for tests of kernels.
#ifndef WEFT_LIBS_KERNELS_TESTING_EXPECT_OUTPUTS_H_
#define WEFT_LIBS_KERNELS_TESTING_EXPECT_OUTPUTS_H_

#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/tensor/tensor.h"

namespace weft {

inline void ExpectOutputs(KernelTestHarness& harness, const char* op,
                          std::vector<KernelInput> inputs, AttrMap attrs,
                          const std::vector<Tensor>& expected) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> got,
                       harness.Run(op, std::move(inputs), std::move(attrs)));
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(SameBits(got[i], expected[i]))
        << op << " output " << i << ": " << got[i].ToString();
  }
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TESTING_EXPECT_OUTPUTS_H_
