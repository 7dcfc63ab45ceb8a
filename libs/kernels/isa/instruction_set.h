// InstructionSet: which of the sets that kernels are compiled for this
// processor has. The names are those of weft_kernels_per_instruction_set; all
// are compiled unless --define=kernels_for names one.
#ifndef WEFT_LIBS_KERNELS_ISA_INSTRUCTION_SET_H_
#define WEFT_LIBS_KERNELS_ISA_INSTRUCTION_SET_H_

#include <vector>

namespace weft {

enum class InstructionSet {
  kV1,  // x86-64: SSE2
  kV3,  // x86-64-v3: AVX2, FMA
  kV4,  // x86-64-v4: AVX-512
};

// The best of those compiled that processor and operating system support.
// Thread-safe; asks the processor once.
InstructionSet BestInstructionSet();

// Whether it multiplies bfloat16 numbers itself (AVX512_BF16), too.
bool HasBfloat16Products();

// All of those that are supported, best last; for tests that compare them.
std::vector<InstructionSet> SupportedInstructionSets();

// Of what is compiled for each set, that for `set`. Name Function, a pointer to
// a function, where the functions are overloaded.
template <typename Function>
Function ForInstructionSet(InstructionSet set, Function v1, Function v3,
                           Function v4) {
  switch (set) {
    case InstructionSet::kV4:
      return v4;
    case InstructionSet::kV3:
      return v3;
    case InstructionSet::kV1:
      break;
  }
  return v1;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_INSTRUCTION_SET_H_
