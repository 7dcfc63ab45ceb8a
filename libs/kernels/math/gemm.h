// Gemm: the product of two row-major matrices, by the best means this machine
// has: loops or Eigen compiled for its instruction set, or a BLAS found at run
// time.
#ifndef WEFT_LIBS_KERNELS_MATH_GEMM_H_
#define WEFT_LIBS_KERNELS_MATH_GEMM_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/base/scheduler.h"
#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/matmul_isa.h"

namespace weft {

// What MatMul uses: the BLAS that the environment variable WEFT_BLAS names
// ("libopenblas.so.0"), if it can be opened, else the best instruction set's
// functions. Chosen once, at the first call. Thread-safe.
const MatMulFunctions& BestMatMul();

// Functions of one instruction set. REQUIRES: the processor has it.
MatMulFunctions MatMulFor(InstructionSet set);

// Functions of a BLAS with the C interface (cblas_sgemm). It is told to use
// one thread, because we split the work ourselves, and stays open for good.
// NOT_FOUND when it can't be opened or lacks a function. At most one BLAS is
// opened by a process: a later call returns the first.
absl::StatusOr<MatMulFunctions> OpenBlas(const std::string& library);

// A part of it, whose sizes are still those of the whole: the caller's to set,
// as it is to say where its first row and column lie.
MatMulArgs PartOfProduct(const MatMulArgs& whole);

// c = op(a) op(b), split over threads when it is large. `functions` null means
// BestMatMul().
void Gemm(Scheduler& scheduler, const MatMulArgs& args, const float* a,
          const float* b, float* c, const MatMulFunctions* functions = nullptr);
void Gemm(Scheduler& scheduler, const MatMulArgs& args, const double* a,
          const double* b, double* c,
          const MatMulFunctions* functions = nullptr);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_GEMM_H_
