// InstructionSet: which of the sets that kernels are compiled for this
// processor has. The names are those of weft_kernels_per_instruction_set.
#ifndef WEFT_LIBS_KERNELS_INSTRUCTION_SET_H_
#define WEFT_LIBS_KERNELS_INSTRUCTION_SET_H_

#include <vector>

namespace weft {

enum class InstructionSet {
  kV1,  // x86-64: SSE2
  kV3,  // x86-64-v3: AVX2, FMA
  kV4,  // x86-64-v4: AVX-512
};

// The best that processor and operating system support. Thread-safe; asks the
// processor once.
InstructionSet BestInstructionSet();

// All that are supported, best last; for tests that compare them.
std::vector<InstructionSet> SupportedInstructionSets();

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_INSTRUCTION_SET_H_
