// Gemm multiplies two row-major matrices with the fastest available
// implementation: loops or Eigen compiled for the instruction set, or a BLAS
// found at run time.
#ifndef WEFT_LIBS_KERNELS_MATH_GEMM_H_
#define WEFT_LIBS_KERNELS_MATH_GEMM_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/matmul_isa.h"

namespace weft {

// The implementation of MatMul: the BLAS named by the environment variable
// WEFT_BLAS ("libopenblas.so.0"), if it can be opened, else the functions of
// the best instruction set. Chosen once, in the first call. Thread-safe.
const MatMulFunctions& BestMatMul();

// Functions for one instruction set. REQUIRES: the CPU supports it.
MatMulFunctions MatMulFor(InstructionSet set);

// Functions of a BLAS with the C interface (cblas_sgemm). It is set to one
// thread, because Weft splits the work itself, and stays open for the life of
// the process. Returns NOT_FOUND if it cannot be opened or lacks a function. A
// process opens at most one BLAS: a later call returns the first.
absl::StatusOr<MatMulFunctions> OpenBlas(const std::string& library);

// A part of a product. The sizes are still those of the whole; the caller sets
// them, and the position of the first row and column.
MatMulArgs PartOfProduct(const MatMulArgs& whole);

// Computes c = op(a) op(b), split over threads if it is large. Null `functions`
// means BestMatMul().
void Gemm(Scheduler& scheduler, const MatMulArgs& args, const float* a,
          const float* b, float* c, const MatMulFunctions* functions = nullptr);
void Gemm(Scheduler& scheduler, const MatMulArgs& args, const double* a,
          const double* b, double* c,
          const MatMulFunctions* functions = nullptr);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_GEMM_H_
