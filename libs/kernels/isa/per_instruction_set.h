// Declares functions that weft_kernels_per_instruction_set compiles once for
// each set, in the namespaces v1, v3 and v4:
//
//   WEFT_PER_INSTRUCTION_SET(ConvLoops Conv();)
//
// With --define=kernels_for=SET, only v1 and SET are compiled. The other names
// are then aliases of v1, and SupportedInstructionSets does not return them.
#ifndef WEFT_LIBS_KERNELS_ISA_PER_INSTRUCTION_SET_H_
#define WEFT_LIBS_KERNELS_ISA_PER_INSTRUCTION_SET_H_

#define WEFT_IN_NAMESPACE(set, ...) \
  namespace set {                   \
  __VA_ARGS__                       \
  }

namespace weft {

#if defined(WEFT_KERNELS_FOR_V1) || defined(WEFT_KERNELS_FOR_V4)
inline constexpr bool kIsCompiledForV3 = false;
#else
inline constexpr bool kIsCompiledForV3 = true;
#endif

#if defined(WEFT_KERNELS_FOR_V1) || defined(WEFT_KERNELS_FOR_V3)
inline constexpr bool kIsCompiledForV4 = false;
#else
inline constexpr bool kIsCompiledForV4 = true;
#endif

#if defined(WEFT_ISA)  // the code that is compiled for one set

#define WEFT_PER_INSTRUCTION_SET(...) WEFT_IN_NAMESPACE(WEFT_ISA, __VA_ARGS__)

#elif defined(WEFT_KERNELS_FOR_V1)

namespace v1 {}
namespace v3 = v1;
namespace v4 = v1;
#define WEFT_PER_INSTRUCTION_SET(...) WEFT_IN_NAMESPACE(v1, __VA_ARGS__)

#elif defined(WEFT_KERNELS_FOR_V3)

namespace v1 {}
namespace v4 = v1;
#define WEFT_PER_INSTRUCTION_SET(...) \
  WEFT_IN_NAMESPACE(v1, __VA_ARGS__)  \
  WEFT_IN_NAMESPACE(v3, __VA_ARGS__)

#elif defined(WEFT_KERNELS_FOR_V4)

namespace v1 {}
namespace v3 = v1;
#define WEFT_PER_INSTRUCTION_SET(...) \
  WEFT_IN_NAMESPACE(v1, __VA_ARGS__)  \
  WEFT_IN_NAMESPACE(v4, __VA_ARGS__)

#else

#define WEFT_PER_INSTRUCTION_SET(...) \
  WEFT_IN_NAMESPACE(v1, __VA_ARGS__)  \
  WEFT_IN_NAMESPACE(v3, __VA_ARGS__)  \
  WEFT_IN_NAMESPACE(v4, __VA_ARGS__)

#endif

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_PER_INSTRUCTION_SET_H_
