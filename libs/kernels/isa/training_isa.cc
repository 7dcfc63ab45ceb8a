// A plain loop for each step, which the compiler vectorizes. No std:: template
// may be used: see weft_kernels_per_instruction_set.
#include "libs/kernels/isa/training_isa.h"

namespace weft::WEFT_ISA {
namespace {

template <typename T, typename Step>
[[gnu::always_inline]] inline void Apply(const Step& step, T* v, T g) {
  if constexpr (Step::kVariables == 1) step(v[0], g);
  if constexpr (Step::kVariables == 2) step(v[0], v[1], g);
  if constexpr (Step::kVariables == 3) step(v[0], v[1], v[2], g);
  if constexpr (Step::kVariables == 4) step(v[0], v[1], v[2], v[3], g);
}

// Copies the step and the pointers, because the compiler cannot know that
// writing to a variable does not change them, and that variables do not
// overlap.
template <typename T, typename Step>
void Loop(const Step& shared_step, T* const* variables, const T* gradient,
          int64_t n) {
  constexpr int kVariables = Step::kVariables;
  const Step step = shared_step;
  T* v[kVariables];
  for (int k = 0; k < kVariables; ++k) v[k] = variables[k];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    T element[kVariables];
    for (int k = 0; k < kVariables; ++k) element[k] = v[k][i];
    Apply(step, element, gradient[i]);
    for (int k = 0; k < kVariables; ++k) v[k][i] = element[k];
  }
}

template <typename T>
void Fill(TrainingLoops<T>* loops) {
  loops->gradient_descent = &Loop;
  loops->momentum = &Loop;
  loops->adagrad = &Loop;
  loops->adagrad_v2 = &Loop;
  loops->adam = &Loop;
  loops->ada_max = &Loop;
  loops->adadelta = &Loop;
  loops->rms_prop = &Loop;
  loops->centered_rms_prop = &Loop;
  loops->ftrl_square_root = &Loop;
  loops->ftrl_power = &Loop;
  loops->proximal_gradient_descent = &Loop;
  loops->proximal_adagrad = &Loop;
  loops->adagrad_da = &Loop;
}

}  // namespace

void FillTrainingLoops(TrainingLoops<float>* loops) { Fill(loops); }
void FillTrainingLoops(TrainingLoops<double>* loops) { Fill(loops); }

}  // namespace weft::WEFT_ISA
