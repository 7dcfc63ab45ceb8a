#include "libs/kernels/isa/instruction_set.h"

#include <cpuid.h>

#include "libs/kernels/isa/per_instruction_set.h"

namespace weft {
namespace {

// clang 14 has no name for it.
bool HasF16C() {
  unsigned int a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

// Tests single features, because clang 14 does not support "x86-64-v4" here.
bool HasV3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         HasF16C();
}

bool HasV4() {
  return HasV3() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

}  // namespace

std::vector<InstructionSet> SupportedInstructionSets() {
  __builtin_cpu_init();
  std::vector<InstructionSet> sets = {InstructionSet::kV1};
  if (kIsCompiledForV3 && HasV3()) sets.push_back(InstructionSet::kV3);
  if (kIsCompiledForV4 && HasV4()) sets.push_back(InstructionSet::kV4);
  return sets;
}

bool HasBfloat16Products() {
  static const bool has = [] {
    __builtin_cpu_init();
    return HasV4() && __builtin_cpu_supports("avx512bf16") != 0;
  }();
  return has;
}

InstructionSet BestInstructionSet() {
  static const InstructionSet best = SupportedInstructionSets().back();
  return best;
}

}  // namespace weft
