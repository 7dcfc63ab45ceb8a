// Builders of the ops that apply an optimizer's rule, with TensorFlow's names.
// The optimizers of libs/train are the usual way to create them, and document
// the rules. `var` and its slots are references (ApplyX, which returns `var`)
// or resource handles (ResourceApplyX).
//
// `var`, its slots and a dense gradient have the same shape. SparseApplyX takes
// a row of the gradient for each of `indices` and applies them in order, so
// indices may repeat. All other inputs are scalars; beta1_power is beta1 in the
// first step. Mismatched inputs fail the step with INVALID_ARGUMENT, and change
// nothing.
//
// Errors stick to the scope (see libs/ops/scope.h); outputs are then null.
#ifndef WEFT_LIBS_OPS_TRAINING_TRAINING_OPS_H_
#define WEFT_LIBS_OPS_TRAINING_TRAINING_OPS_H_

#include "libs/ops/scope.h"

namespace weft::ops {

// Attributes of the ops; each op uses the attributes that it has.
struct ApplyAttrs {
  // Has no effect: an update always holds the locks of var and its slots.
  bool use_locking = false;
  // Momentum; for Adam, beta1 * m + (1 - beta1) * grad replaces m.
  bool use_nesterov = false;
  // Adagrad, AdagradV2: whether accum is updated.
  bool update_slots = true;
  // Ftrl, FtrlV2: the slot linear is stored multiplied by lr.
  bool multiply_linear_by_lr = false;
};

Output ApplyGradientDescent(const Scope& scope, const Input& var,
                            const Input& alpha, const Input& delta,
                            const ApplyAttrs& attrs = {});
Operation ResourceApplyGradientDescent(const Scope& scope, const Input& var,
                                       const Input& alpha, const Input& delta,
                                       const ApplyAttrs& attrs = {});

Output ApplyMomentum(const Scope& scope, const Input& var, const Input& accum,
                     const Input& lr, const Input& grad, const Input& momentum,
                     const ApplyAttrs& attrs = {});
Operation ResourceApplyMomentum(const Scope& scope, const Input& var,
                                const Input& accum, const Input& lr,
                                const Input& grad, const Input& momentum,
                                const ApplyAttrs& attrs = {});
Output SparseApplyMomentum(const Scope& scope, const Input& var,
                           const Input& accum, const Input& lr,
                           const Input& grad, const Input& indices,
                           const Input& momentum, const ApplyAttrs& attrs = {});
Operation ResourceSparseApplyMomentum(const Scope& scope, const Input& var,
                                      const Input& accum, const Input& lr,
                                      const Input& grad, const Input& indices,
                                      const Input& momentum,
                                      const ApplyAttrs& attrs = {});

Output ApplyAdagrad(const Scope& scope, const Input& var, const Input& accum,
                    const Input& lr, const Input& grad,
                    const ApplyAttrs& attrs = {});
Operation ResourceApplyAdagrad(const Scope& scope, const Input& var,
                               const Input& accum, const Input& lr,
                               const Input& grad, const ApplyAttrs& attrs = {});
Output SparseApplyAdagrad(const Scope& scope, const Input& var,
                          const Input& accum, const Input& lr,
                          const Input& grad, const Input& indices,
                          const ApplyAttrs& attrs = {});
Operation ResourceSparseApplyAdagrad(const Scope& scope, const Input& var,
                                     const Input& accum, const Input& lr,
                                     const Input& grad, const Input& indices,
                                     const ApplyAttrs& attrs = {});

// Like Adagrad, with epsilon added to the root:
//   accum += grad ^ 2
//   var -= lr * grad / (sqrt(accum) + epsilon)
Output ApplyAdagradV2(const Scope& scope, const Input& var, const Input& accum,
                      const Input& lr, const Input& epsilon, const Input& grad,
                      const ApplyAttrs& attrs = {});
Operation ResourceApplyAdagradV2(const Scope& scope, const Input& var,
                                 const Input& accum, const Input& lr,
                                 const Input& epsilon, const Input& grad,
                                 const ApplyAttrs& attrs = {});
Output SparseApplyAdagradV2(const Scope& scope, const Input& var,
                            const Input& accum, const Input& lr,
                            const Input& epsilon, const Input& grad,
                            const Input& indices, const ApplyAttrs& attrs = {});
Operation ResourceSparseApplyAdagradV2(const Scope& scope, const Input& var,
                                       const Input& accum, const Input& lr,
                                       const Input& epsilon, const Input& grad,
                                       const Input& indices,
                                       const ApplyAttrs& attrs = {});

Output ApplyAdam(const Scope& scope, const Input& var, const Input& m,
                 const Input& v, const Input& beta1_power,
                 const Input& beta2_power, const Input& lr, const Input& beta1,
                 const Input& beta2, const Input& epsilon, const Input& grad,
                 const ApplyAttrs& attrs = {});
Operation ResourceApplyAdam(const Scope& scope, const Input& var,
                            const Input& m, const Input& v,
                            const Input& beta1_power, const Input& beta2_power,
                            const Input& lr, const Input& beta1,
                            const Input& beta2, const Input& epsilon,
                            const Input& grad, const ApplyAttrs& attrs = {});

Output ApplyAdaMax(const Scope& scope, const Input& var, const Input& m,
                   const Input& v, const Input& beta1_power, const Input& lr,
                   const Input& beta1, const Input& beta2, const Input& epsilon,
                   const Input& grad, const ApplyAttrs& attrs = {});
Operation ResourceApplyAdaMax(const Scope& scope, const Input& var,
                              const Input& m, const Input& v,
                              const Input& beta1_power, const Input& lr,
                              const Input& beta1, const Input& beta2,
                              const Input& epsilon, const Input& grad,
                              const ApplyAttrs& attrs = {});

Output ApplyAdadelta(const Scope& scope, const Input& var, const Input& accum,
                     const Input& accum_update, const Input& lr,
                     const Input& rho, const Input& epsilon, const Input& grad,
                     const ApplyAttrs& attrs = {});
Operation ResourceApplyAdadelta(const Scope& scope, const Input& var,
                                const Input& accum, const Input& accum_update,
                                const Input& lr, const Input& rho,
                                const Input& epsilon, const Input& grad,
                                const ApplyAttrs& attrs = {});
Output SparseApplyAdadelta(const Scope& scope, const Input& var,
                           const Input& accum, const Input& accum_update,
                           const Input& lr, const Input& rho,
                           const Input& epsilon, const Input& grad,
                           const Input& indices, const ApplyAttrs& attrs = {});
Operation ResourceSparseApplyAdadelta(const Scope& scope, const Input& var,
                                      const Input& accum,
                                      const Input& accum_update,
                                      const Input& lr, const Input& rho,
                                      const Input& epsilon, const Input& grad,
                                      const Input& indices,
                                      const ApplyAttrs& attrs = {});

Output ApplyAdagradDA(const Scope& scope, const Input& var,
                      const Input& gradient_accumulator,
                      const Input& gradient_squared_accumulator,
                      const Input& grad, const Input& lr, const Input& l1,
                      const Input& l2, const Input& global_step,
                      const ApplyAttrs& attrs = {});
Operation ResourceApplyAdagradDA(const Scope& scope, const Input& var,
                                 const Input& gradient_accumulator,
                                 const Input& gradient_squared_accumulator,
                                 const Input& grad, const Input& lr,
                                 const Input& l1, const Input& l2,
                                 const Input& global_step,
                                 const ApplyAttrs& attrs = {});
Output SparseApplyAdagradDA(const Scope& scope, const Input& var,
                            const Input& gradient_accumulator,
                            const Input& gradient_squared_accumulator,
                            const Input& grad, const Input& indices,
                            const Input& lr, const Input& l1, const Input& l2,
                            const Input& global_step,
                            const ApplyAttrs& attrs = {});
Operation ResourceSparseApplyAdagradDA(
    const Scope& scope, const Input& var, const Input& gradient_accumulator,
    const Input& gradient_squared_accumulator, const Input& grad,
    const Input& indices, const Input& lr, const Input& l1, const Input& l2,
    const Input& global_step, const ApplyAttrs& attrs = {});

Output ApplyRMSProp(const Scope& scope, const Input& var, const Input& ms,
                    const Input& mom, const Input& lr, const Input& rho,
                    const Input& momentum, const Input& epsilon,
                    const Input& grad, const ApplyAttrs& attrs = {});
Operation ResourceApplyRMSProp(const Scope& scope, const Input& var,
                               const Input& ms, const Input& mom,
                               const Input& lr, const Input& rho,
                               const Input& momentum, const Input& epsilon,
                               const Input& grad, const ApplyAttrs& attrs = {});
Output SparseApplyRMSProp(const Scope& scope, const Input& var, const Input& ms,
                          const Input& mom, const Input& lr, const Input& rho,
                          const Input& momentum, const Input& epsilon,
                          const Input& grad, const Input& indices,
                          const ApplyAttrs& attrs = {});
Operation ResourceSparseApplyRMSProp(const Scope& scope, const Input& var,
                                     const Input& ms, const Input& mom,
                                     const Input& lr, const Input& rho,
                                     const Input& momentum,
                                     const Input& epsilon, const Input& grad,
                                     const Input& indices,
                                     const ApplyAttrs& attrs = {});

Output ApplyCenteredRMSProp(const Scope& scope, const Input& var,
                            const Input& mg, const Input& ms, const Input& mom,
                            const Input& lr, const Input& rho,
                            const Input& momentum, const Input& epsilon,
                            const Input& grad, const ApplyAttrs& attrs = {});
Operation ResourceApplyCenteredRMSProp(const Scope& scope, const Input& var,
                                       const Input& mg, const Input& ms,
                                       const Input& mom, const Input& lr,
                                       const Input& rho, const Input& momentum,
                                       const Input& epsilon, const Input& grad,
                                       const ApplyAttrs& attrs = {});
Output SparseApplyCenteredRMSProp(const Scope& scope, const Input& var,
                                  const Input& mg, const Input& ms,
                                  const Input& mom, const Input& lr,
                                  const Input& rho, const Input& momentum,
                                  const Input& epsilon, const Input& grad,
                                  const Input& indices,
                                  const ApplyAttrs& attrs = {});
Operation ResourceSparseApplyCenteredRMSProp(
    const Scope& scope, const Input& var, const Input& mg, const Input& ms,
    const Input& mom, const Input& lr, const Input& rho, const Input& momentum,
    const Input& epsilon, const Input& grad, const Input& indices,
    const ApplyAttrs& attrs = {});

Output ApplyFtrl(const Scope& scope, const Input& var, const Input& accum,
                 const Input& linear, const Input& grad, const Input& lr,
                 const Input& l1, const Input& l2, const Input& lr_power,
                 const ApplyAttrs& attrs = {});
Operation ResourceApplyFtrl(const Scope& scope, const Input& var,
                            const Input& accum, const Input& linear,
                            const Input& grad, const Input& lr, const Input& l1,
                            const Input& l2, const Input& lr_power,
                            const ApplyAttrs& attrs = {});
Output SparseApplyFtrl(const Scope& scope, const Input& var, const Input& accum,
                       const Input& linear, const Input& grad,
                       const Input& indices, const Input& lr, const Input& l1,
                       const Input& l2, const Input& lr_power,
                       const ApplyAttrs& attrs = {});
Operation ResourceSparseApplyFtrl(const Scope& scope, const Input& var,
                                  const Input& accum, const Input& linear,
                                  const Input& grad, const Input& indices,
                                  const Input& lr, const Input& l1,
                                  const Input& l2, const Input& lr_power,
                                  const ApplyAttrs& attrs = {});

Output ApplyFtrlV2(const Scope& scope, const Input& var, const Input& accum,
                   const Input& linear, const Input& grad, const Input& lr,
                   const Input& l1, const Input& l2, const Input& l2_shrinkage,
                   const Input& lr_power, const ApplyAttrs& attrs = {});
Operation ResourceApplyFtrlV2(const Scope& scope, const Input& var,
                              const Input& accum, const Input& linear,
                              const Input& grad, const Input& lr,
                              const Input& l1, const Input& l2,
                              const Input& l2_shrinkage, const Input& lr_power,
                              const ApplyAttrs& attrs = {});
Output SparseApplyFtrlV2(const Scope& scope, const Input& var,
                         const Input& accum, const Input& linear,
                         const Input& grad, const Input& indices,
                         const Input& lr, const Input& l1, const Input& l2,
                         const Input& l2_shrinkage, const Input& lr_power,
                         const ApplyAttrs& attrs = {});
Operation ResourceSparseApplyFtrlV2(const Scope& scope, const Input& var,
                                    const Input& accum, const Input& linear,
                                    const Input& grad, const Input& indices,
                                    const Input& lr, const Input& l1,
                                    const Input& l2, const Input& l2_shrinkage,
                                    const Input& lr_power,
                                    const ApplyAttrs& attrs = {});

Output ApplyProximalGradientDescent(const Scope& scope, const Input& var,
                                    const Input& alpha, const Input& l1,
                                    const Input& l2, const Input& delta,
                                    const ApplyAttrs& attrs = {});
Operation ResourceApplyProximalGradientDescent(
    const Scope& scope, const Input& var, const Input& alpha, const Input& l1,
    const Input& l2, const Input& delta, const ApplyAttrs& attrs = {});
Output SparseApplyProximalGradientDescent(const Scope& scope, const Input& var,
                                          const Input& alpha, const Input& l1,
                                          const Input& l2, const Input& grad,
                                          const Input& indices,
                                          const ApplyAttrs& attrs = {});
Operation ResourceSparseApplyProximalGradientDescent(
    const Scope& scope, const Input& var, const Input& alpha, const Input& l1,
    const Input& l2, const Input& grad, const Input& indices,
    const ApplyAttrs& attrs = {});

Output ApplyProximalAdagrad(const Scope& scope, const Input& var,
                            const Input& accum, const Input& lr,
                            const Input& l1, const Input& l2, const Input& grad,
                            const ApplyAttrs& attrs = {});
Operation ResourceApplyProximalAdagrad(const Scope& scope, const Input& var,
                                       const Input& accum, const Input& lr,
                                       const Input& l1, const Input& l2,
                                       const Input& grad,
                                       const ApplyAttrs& attrs = {});
Output SparseApplyProximalAdagrad(const Scope& scope, const Input& var,
                                  const Input& accum, const Input& lr,
                                  const Input& l1, const Input& l2,
                                  const Input& grad, const Input& indices,
                                  const ApplyAttrs& attrs = {});
Operation ResourceSparseApplyProximalAdagrad(
    const Scope& scope, const Input& var, const Input& accum, const Input& lr,
    const Input& l1, const Input& l2, const Input& grad, const Input& indices,
    const ApplyAttrs& attrs = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_TRAINING_TRAINING_OPS_H_
