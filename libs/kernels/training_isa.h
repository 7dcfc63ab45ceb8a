// The rules of the common optimizers over float and double, each in one pass
// over memory, compiled for each instruction set (weft::v1, v3, v4).
//
// Threads: pure functions on ranges of elements.
#ifndef WEFT_LIBS_KERNELS_TRAINING_ISA_H_
#define WEFT_LIBS_KERNELS_TRAINING_ISA_H_

#include <cstdint>

namespace weft {

template <typename T>
struct TrainingLoops {
  // var -= alpha * gradient
  void (*gradient_descent)(T* var, const T* gradient, T alpha, int64_t n);
  void (*momentum)(T* var, T* accum, const T* gradient, T lr, T momentum,
                   bool use_nesterov, int64_t n);
  void (*adagrad)(T* var, T* accum, const T* gradient, T lr, bool update_slots,
                  int64_t n);
  // `alpha` is the learning rate with Adam's correction of the bias.
  void (*adam)(T* var, T* m, T* v, const T* gradient, T alpha, T beta1, T beta2,
               T epsilon, bool use_nesterov, int64_t n);
};

namespace v1 {
void FillTrainingLoops(TrainingLoops<float>* loops);
void FillTrainingLoops(TrainingLoops<double>* loops);
}  // namespace v1
namespace v3 {
void FillTrainingLoops(TrainingLoops<float>* loops);
void FillTrainingLoops(TrainingLoops<double>* loops);
}  // namespace v3
namespace v4 {
void FillTrainingLoops(TrainingLoops<float>* loops);
void FillTrainingLoops(TrainingLoops<double>* loops);
}  // namespace v4

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TRAINING_ISA_H_
