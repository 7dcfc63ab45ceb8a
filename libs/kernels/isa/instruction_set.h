// InstructionSet is an instruction set that kernels are compiled for. The names
// are those of weft_kernels_per_instruction_set; all are compiled unless
// --define=kernels_for names one.
#ifndef WEFT_LIBS_KERNELS_ISA_INSTRUCTION_SET_H_
#define WEFT_LIBS_KERNELS_ISA_INSTRUCTION_SET_H_

#include <vector>

namespace weft {

enum class InstructionSet {
  kV1,  // x86-64: SSE2
  kV3,  // x86-64-v3: AVX2, FMA
  kV4,  // x86-64-v4: AVX-512
};

// The best compiled instruction set that the CPU and the operating system
// support. Thread-safe; detected once.
InstructionSet BestInstructionSet();

// Returns whether the CPU also has bfloat16 products (AVX512_BF16).
bool HasBfloat16Products();

// All supported instruction sets, best last; for tests that compare them.
std::vector<InstructionSet> SupportedInstructionSets();

// Selects the function for `set` from those compiled for each set. For
// overloaded functions, specify Function, a pointer to a function.
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
