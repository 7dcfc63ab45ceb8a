// Test data: a kernel for several instruction sets.
#ifndef WEFT_TOOLS_INSTRUCTION_SETS_TESTDATA_KERNEL_H_
#define WEFT_TOOLS_INSTRUCTION_SETS_TESTDATA_KERNEL_H_

namespace weft {
namespace WEFT_ISA {
void Scale(float factor, float* values, int count);
}  // namespace WEFT_ISA
}  // namespace weft

#endif  // WEFT_TOOLS_INSTRUCTION_SETS_TESTDATA_KERNEL_H_
