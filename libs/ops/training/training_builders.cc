#include "libs/ops/training/training_ops.h"

namespace weft::ops {

Output ApplyGradientDescent(const Scope& scope, const Input& var,
                            const Input& alpha, const Input& delta,
                            const ApplyAttrs& attrs) {
  return scope.AddOutput("ApplyGradientDescent", {var, alpha, delta},
                         {{"use_locking", attrs.use_locking}});
}

Operation ResourceApplyGradientDescent(const Scope& scope, const Input& var,
                                       const Input& alpha, const Input& delta,
                                       const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceApplyGradientDescent", {var, alpha, delta},
                       {{"use_locking", attrs.use_locking}});
}

Output ApplyMomentum(const Scope& scope, const Input& var, const Input& accum,
                     const Input& lr, const Input& grad, const Input& momentum,
                     const ApplyAttrs& attrs) {
  return scope.AddOutput("ApplyMomentum", {var, accum, lr, grad, momentum},
                         {{"use_locking", attrs.use_locking},
                          {"use_nesterov", attrs.use_nesterov}});
}

Operation ResourceApplyMomentum(const Scope& scope, const Input& var,
                                const Input& accum, const Input& lr,
                                const Input& grad, const Input& momentum,
                                const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceApplyMomentum",
                       {var, accum, lr, grad, momentum},
                       {{"use_locking", attrs.use_locking},
                        {"use_nesterov", attrs.use_nesterov}});
}

Output SparseApplyMomentum(const Scope& scope, const Input& var,
                           const Input& accum, const Input& lr,
                           const Input& grad, const Input& indices,
                           const Input& momentum, const ApplyAttrs& attrs) {
  return scope.AddOutput("SparseApplyMomentum",
                         {var, accum, lr, grad, indices, momentum},
                         {{"use_locking", attrs.use_locking},
                          {"use_nesterov", attrs.use_nesterov}});
}

Operation ResourceSparseApplyMomentum(const Scope& scope, const Input& var,
                                      const Input& accum, const Input& lr,
                                      const Input& grad, const Input& indices,
                                      const Input& momentum,
                                      const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceSparseApplyMomentum",
                       {var, accum, lr, grad, indices, momentum},
                       {{"use_locking", attrs.use_locking},
                        {"use_nesterov", attrs.use_nesterov}});
}

Output ApplyAdagrad(const Scope& scope, const Input& var, const Input& accum,
                    const Input& lr, const Input& grad,
                    const ApplyAttrs& attrs) {
  return scope.AddOutput("ApplyAdagrad", {var, accum, lr, grad},
                         {{"use_locking", attrs.use_locking},
                          {"update_slots", attrs.update_slots}});
}

Operation ResourceApplyAdagrad(const Scope& scope, const Input& var,
                               const Input& accum, const Input& lr,
                               const Input& grad, const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceApplyAdagrad", {var, accum, lr, grad},
                       {{"use_locking", attrs.use_locking},
                        {"update_slots", attrs.update_slots}});
}

Output SparseApplyAdagrad(const Scope& scope, const Input& var,
                          const Input& accum, const Input& lr,
                          const Input& grad, const Input& indices,
                          const ApplyAttrs& attrs) {
  return scope.AddOutput("SparseApplyAdagrad", {var, accum, lr, grad, indices},
                         {{"use_locking", attrs.use_locking},
                          {"update_slots", attrs.update_slots}});
}

Operation ResourceSparseApplyAdagrad(const Scope& scope, const Input& var,
                                     const Input& accum, const Input& lr,
                                     const Input& grad, const Input& indices,
                                     const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceSparseApplyAdagrad",
                       {var, accum, lr, grad, indices},
                       {{"use_locking", attrs.use_locking},
                        {"update_slots", attrs.update_slots}});
}

Output ApplyAdagradV2(const Scope& scope, const Input& var, const Input& accum,
                      const Input& lr, const Input& epsilon, const Input& grad,
                      const ApplyAttrs& attrs) {
  return scope.AddOutput("ApplyAdagradV2", {var, accum, lr, epsilon, grad},
                         {{"use_locking", attrs.use_locking},
                          {"update_slots", attrs.update_slots}});
}

Operation ResourceApplyAdagradV2(const Scope& scope, const Input& var,
                                 const Input& accum, const Input& lr,
                                 const Input& epsilon, const Input& grad,
                                 const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceApplyAdagradV2",
                       {var, accum, lr, epsilon, grad},
                       {{"use_locking", attrs.use_locking},
                        {"update_slots", attrs.update_slots}});
}

Output SparseApplyAdagradV2(const Scope& scope, const Input& var,
                            const Input& accum, const Input& lr,
                            const Input& epsilon, const Input& grad,
                            const Input& indices, const ApplyAttrs& attrs) {
  return scope.AddOutput("SparseApplyAdagradV2",
                         {var, accum, lr, epsilon, grad, indices},
                         {{"use_locking", attrs.use_locking},
                          {"update_slots", attrs.update_slots}});
}

Operation ResourceSparseApplyAdagradV2(const Scope& scope, const Input& var,
                                       const Input& accum, const Input& lr,
                                       const Input& epsilon, const Input& grad,
                                       const Input& indices,
                                       const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceSparseApplyAdagradV2",
                       {var, accum, lr, epsilon, grad, indices},
                       {{"use_locking", attrs.use_locking},
                        {"update_slots", attrs.update_slots}});
}

Output ApplyAdam(const Scope& scope, const Input& var, const Input& m,
                 const Input& v, const Input& beta1_power,
                 const Input& beta2_power, const Input& lr, const Input& beta1,
                 const Input& beta2, const Input& epsilon, const Input& grad,
                 const ApplyAttrs& attrs) {
  return scope.AddOutput(
      "ApplyAdam",
      {var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad},
      {{"use_locking", attrs.use_locking},
       {"use_nesterov", attrs.use_nesterov}});
}

Operation ResourceApplyAdam(const Scope& scope, const Input& var,
                            const Input& m, const Input& v,
                            const Input& beta1_power, const Input& beta2_power,
                            const Input& lr, const Input& beta1,
                            const Input& beta2, const Input& epsilon,
                            const Input& grad, const ApplyAttrs& attrs) {
  return scope.AddNode(
      "ResourceApplyAdam",
      {var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad},
      {{"use_locking", attrs.use_locking},
       {"use_nesterov", attrs.use_nesterov}});
}

Output ApplyAdaMax(const Scope& scope, const Input& var, const Input& m,
                   const Input& v, const Input& beta1_power, const Input& lr,
                   const Input& beta1, const Input& beta2, const Input& epsilon,
                   const Input& grad, const ApplyAttrs& attrs) {
  return scope.AddOutput(
      "ApplyAdaMax", {var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad},
      {{"use_locking", attrs.use_locking}});
}

Operation ResourceApplyAdaMax(const Scope& scope, const Input& var,
                              const Input& m, const Input& v,
                              const Input& beta1_power, const Input& lr,
                              const Input& beta1, const Input& beta2,
                              const Input& epsilon, const Input& grad,
                              const ApplyAttrs& attrs) {
  return scope.AddNode(
      "ResourceApplyAdaMax",
      {var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad},
      {{"use_locking", attrs.use_locking}});
}

Output ApplyAdadelta(const Scope& scope, const Input& var, const Input& accum,
                     const Input& accum_update, const Input& lr,
                     const Input& rho, const Input& epsilon, const Input& grad,
                     const ApplyAttrs& attrs) {
  return scope.AddOutput("ApplyAdadelta",
                         {var, accum, accum_update, lr, rho, epsilon, grad},
                         {{"use_locking", attrs.use_locking}});
}

Operation ResourceApplyAdadelta(const Scope& scope, const Input& var,
                                const Input& accum, const Input& accum_update,
                                const Input& lr, const Input& rho,
                                const Input& epsilon, const Input& grad,
                                const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceApplyAdadelta",
                       {var, accum, accum_update, lr, rho, epsilon, grad},
                       {{"use_locking", attrs.use_locking}});
}

Output SparseApplyAdadelta(const Scope& scope, const Input& var,
                           const Input& accum, const Input& accum_update,
                           const Input& lr, const Input& rho,
                           const Input& epsilon, const Input& grad,
                           const Input& indices, const ApplyAttrs& attrs) {
  return scope.AddOutput(
      "SparseApplyAdadelta",
      {var, accum, accum_update, lr, rho, epsilon, grad, indices},
      {{"use_locking", attrs.use_locking}});
}

Operation ResourceSparseApplyAdadelta(const Scope& scope, const Input& var,
                                      const Input& accum,
                                      const Input& accum_update,
                                      const Input& lr, const Input& rho,
                                      const Input& epsilon, const Input& grad,
                                      const Input& indices,
                                      const ApplyAttrs& attrs) {
  return scope.AddNode(
      "ResourceSparseApplyAdadelta",
      {var, accum, accum_update, lr, rho, epsilon, grad, indices},
      {{"use_locking", attrs.use_locking}});
}

Output ApplyAdagradDA(const Scope& scope, const Input& var,
                      const Input& gradient_accumulator,
                      const Input& gradient_squared_accumulator,
                      const Input& grad, const Input& lr, const Input& l1,
                      const Input& l2, const Input& global_step,
                      const ApplyAttrs& attrs) {
  return scope.AddOutput(
      "ApplyAdagradDA",
      {var, gradient_accumulator, gradient_squared_accumulator, grad, lr, l1,
       l2, global_step},
      {{"use_locking", attrs.use_locking}});
}

Operation ResourceApplyAdagradDA(const Scope& scope, const Input& var,
                                 const Input& gradient_accumulator,
                                 const Input& gradient_squared_accumulator,
                                 const Input& grad, const Input& lr,
                                 const Input& l1, const Input& l2,
                                 const Input& global_step,
                                 const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceApplyAdagradDA",
                       {var, gradient_accumulator, gradient_squared_accumulator,
                        grad, lr, l1, l2, global_step},
                       {{"use_locking", attrs.use_locking}});
}

Output SparseApplyAdagradDA(const Scope& scope, const Input& var,
                            const Input& gradient_accumulator,
                            const Input& gradient_squared_accumulator,
                            const Input& grad, const Input& indices,
                            const Input& lr, const Input& l1, const Input& l2,
                            const Input& global_step, const ApplyAttrs& attrs) {
  return scope.AddOutput(
      "SparseApplyAdagradDA",
      {var, gradient_accumulator, gradient_squared_accumulator, grad, indices,
       lr, l1, l2, global_step},
      {{"use_locking", attrs.use_locking}});
}

Operation ResourceSparseApplyAdagradDA(
    const Scope& scope, const Input& var, const Input& gradient_accumulator,
    const Input& gradient_squared_accumulator, const Input& grad,
    const Input& indices, const Input& lr, const Input& l1, const Input& l2,
    const Input& global_step, const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceSparseApplyAdagradDA",
                       {var, gradient_accumulator, gradient_squared_accumulator,
                        grad, indices, lr, l1, l2, global_step},
                       {{"use_locking", attrs.use_locking}});
}

Output ApplyRMSProp(const Scope& scope, const Input& var, const Input& ms,
                    const Input& mom, const Input& lr, const Input& rho,
                    const Input& momentum, const Input& epsilon,
                    const Input& grad, const ApplyAttrs& attrs) {
  return scope.AddOutput("ApplyRMSProp",
                         {var, ms, mom, lr, rho, momentum, epsilon, grad},
                         {{"use_locking", attrs.use_locking}});
}

Operation ResourceApplyRMSProp(const Scope& scope, const Input& var,
                               const Input& ms, const Input& mom,
                               const Input& lr, const Input& rho,
                               const Input& momentum, const Input& epsilon,
                               const Input& grad, const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceApplyRMSProp",
                       {var, ms, mom, lr, rho, momentum, epsilon, grad},
                       {{"use_locking", attrs.use_locking}});
}

Output SparseApplyRMSProp(const Scope& scope, const Input& var, const Input& ms,
                          const Input& mom, const Input& lr, const Input& rho,
                          const Input& momentum, const Input& epsilon,
                          const Input& grad, const Input& indices,
                          const ApplyAttrs& attrs) {
  return scope.AddOutput(
      "SparseApplyRMSProp",
      {var, ms, mom, lr, rho, momentum, epsilon, grad, indices},
      {{"use_locking", attrs.use_locking}});
}

Operation ResourceSparseApplyRMSProp(const Scope& scope, const Input& var,
                                     const Input& ms, const Input& mom,
                                     const Input& lr, const Input& rho,
                                     const Input& momentum,
                                     const Input& epsilon, const Input& grad,
                                     const Input& indices,
                                     const ApplyAttrs& attrs) {
  return scope.AddNode(
      "ResourceSparseApplyRMSProp",
      {var, ms, mom, lr, rho, momentum, epsilon, grad, indices},
      {{"use_locking", attrs.use_locking}});
}

Output ApplyCenteredRMSProp(const Scope& scope, const Input& var,
                            const Input& mg, const Input& ms, const Input& mom,
                            const Input& lr, const Input& rho,
                            const Input& momentum, const Input& epsilon,
                            const Input& grad, const ApplyAttrs& attrs) {
  return scope.AddOutput("ApplyCenteredRMSProp",
                         {var, mg, ms, mom, lr, rho, momentum, epsilon, grad},
                         {{"use_locking", attrs.use_locking}});
}

Operation ResourceApplyCenteredRMSProp(const Scope& scope, const Input& var,
                                       const Input& mg, const Input& ms,
                                       const Input& mom, const Input& lr,
                                       const Input& rho, const Input& momentum,
                                       const Input& epsilon, const Input& grad,
                                       const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceApplyCenteredRMSProp",
                       {var, mg, ms, mom, lr, rho, momentum, epsilon, grad},
                       {{"use_locking", attrs.use_locking}});
}

Output SparseApplyCenteredRMSProp(const Scope& scope, const Input& var,
                                  const Input& mg, const Input& ms,
                                  const Input& mom, const Input& lr,
                                  const Input& rho, const Input& momentum,
                                  const Input& epsilon, const Input& grad,
                                  const Input& indices,
                                  const ApplyAttrs& attrs) {
  return scope.AddOutput(
      "SparseApplyCenteredRMSProp",
      {var, mg, ms, mom, lr, rho, momentum, epsilon, grad, indices},
      {{"use_locking", attrs.use_locking}});
}

Operation ResourceSparseApplyCenteredRMSProp(
    const Scope& scope, const Input& var, const Input& mg, const Input& ms,
    const Input& mom, const Input& lr, const Input& rho, const Input& momentum,
    const Input& epsilon, const Input& grad, const Input& indices,
    const ApplyAttrs& attrs) {
  return scope.AddNode(
      "ResourceSparseApplyCenteredRMSProp",
      {var, mg, ms, mom, lr, rho, momentum, epsilon, grad, indices},
      {{"use_locking", attrs.use_locking}});
}

Output ApplyFtrl(const Scope& scope, const Input& var, const Input& accum,
                 const Input& linear, const Input& grad, const Input& lr,
                 const Input& l1, const Input& l2, const Input& lr_power,
                 const ApplyAttrs& attrs) {
  return scope.AddOutput(
      "ApplyFtrl", {var, accum, linear, grad, lr, l1, l2, lr_power},
      {{"use_locking", attrs.use_locking},
       {"multiply_linear_by_lr", attrs.multiply_linear_by_lr}});
}

Operation ResourceApplyFtrl(const Scope& scope, const Input& var,
                            const Input& accum, const Input& linear,
                            const Input& grad, const Input& lr, const Input& l1,
                            const Input& l2, const Input& lr_power,
                            const ApplyAttrs& attrs) {
  return scope.AddNode(
      "ResourceApplyFtrl", {var, accum, linear, grad, lr, l1, l2, lr_power},
      {{"use_locking", attrs.use_locking},
       {"multiply_linear_by_lr", attrs.multiply_linear_by_lr}});
}

Output SparseApplyFtrl(const Scope& scope, const Input& var, const Input& accum,
                       const Input& linear, const Input& grad,
                       const Input& indices, const Input& lr, const Input& l1,
                       const Input& l2, const Input& lr_power,
                       const ApplyAttrs& attrs) {
  return scope.AddOutput(
      "SparseApplyFtrl",
      {var, accum, linear, grad, indices, lr, l1, l2, lr_power},
      {{"use_locking", attrs.use_locking},
       {"multiply_linear_by_lr", attrs.multiply_linear_by_lr}});
}

Operation ResourceSparseApplyFtrl(const Scope& scope, const Input& var,
                                  const Input& accum, const Input& linear,
                                  const Input& grad, const Input& indices,
                                  const Input& lr, const Input& l1,
                                  const Input& l2, const Input& lr_power,
                                  const ApplyAttrs& attrs) {
  return scope.AddNode(
      "ResourceSparseApplyFtrl",
      {var, accum, linear, grad, indices, lr, l1, l2, lr_power},
      {{"use_locking", attrs.use_locking},
       {"multiply_linear_by_lr", attrs.multiply_linear_by_lr}});
}

Output ApplyFtrlV2(const Scope& scope, const Input& var, const Input& accum,
                   const Input& linear, const Input& grad, const Input& lr,
                   const Input& l1, const Input& l2, const Input& l2_shrinkage,
                   const Input& lr_power, const ApplyAttrs& attrs) {
  return scope.AddOutput(
      "ApplyFtrlV2",
      {var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power},
      {{"use_locking", attrs.use_locking},
       {"multiply_linear_by_lr", attrs.multiply_linear_by_lr}});
}

Operation ResourceApplyFtrlV2(const Scope& scope, const Input& var,
                              const Input& accum, const Input& linear,
                              const Input& grad, const Input& lr,
                              const Input& l1, const Input& l2,
                              const Input& l2_shrinkage, const Input& lr_power,
                              const ApplyAttrs& attrs) {
  return scope.AddNode(
      "ResourceApplyFtrlV2",
      {var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power},
      {{"use_locking", attrs.use_locking},
       {"multiply_linear_by_lr", attrs.multiply_linear_by_lr}});
}

Output SparseApplyFtrlV2(const Scope& scope, const Input& var,
                         const Input& accum, const Input& linear,
                         const Input& grad, const Input& indices,
                         const Input& lr, const Input& l1, const Input& l2,
                         const Input& l2_shrinkage, const Input& lr_power,
                         const ApplyAttrs& attrs) {
  return scope.AddOutput(
      "SparseApplyFtrlV2",
      {var, accum, linear, grad, indices, lr, l1, l2, l2_shrinkage, lr_power},
      {{"use_locking", attrs.use_locking},
       {"multiply_linear_by_lr", attrs.multiply_linear_by_lr}});
}

Operation ResourceSparseApplyFtrlV2(const Scope& scope, const Input& var,
                                    const Input& accum, const Input& linear,
                                    const Input& grad, const Input& indices,
                                    const Input& lr, const Input& l1,
                                    const Input& l2, const Input& l2_shrinkage,
                                    const Input& lr_power,
                                    const ApplyAttrs& attrs) {
  return scope.AddNode(
      "ResourceSparseApplyFtrlV2",
      {var, accum, linear, grad, indices, lr, l1, l2, l2_shrinkage, lr_power},
      {{"use_locking", attrs.use_locking},
       {"multiply_linear_by_lr", attrs.multiply_linear_by_lr}});
}

Output ApplyProximalGradientDescent(const Scope& scope, const Input& var,
                                    const Input& alpha, const Input& l1,
                                    const Input& l2, const Input& delta,
                                    const ApplyAttrs& attrs) {
  return scope.AddOutput("ApplyProximalGradientDescent",
                         {var, alpha, l1, l2, delta},
                         {{"use_locking", attrs.use_locking}});
}

Operation ResourceApplyProximalGradientDescent(
    const Scope& scope, const Input& var, const Input& alpha, const Input& l1,
    const Input& l2, const Input& delta, const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceApplyProximalGradientDescent",
                       {var, alpha, l1, l2, delta},
                       {{"use_locking", attrs.use_locking}});
}

Output SparseApplyProximalGradientDescent(const Scope& scope, const Input& var,
                                          const Input& alpha, const Input& l1,
                                          const Input& l2, const Input& grad,
                                          const Input& indices,
                                          const ApplyAttrs& attrs) {
  return scope.AddOutput("SparseApplyProximalGradientDescent",
                         {var, alpha, l1, l2, grad, indices},
                         {{"use_locking", attrs.use_locking}});
}

Operation ResourceSparseApplyProximalGradientDescent(
    const Scope& scope, const Input& var, const Input& alpha, const Input& l1,
    const Input& l2, const Input& grad, const Input& indices,
    const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceSparseApplyProximalGradientDescent",
                       {var, alpha, l1, l2, grad, indices},
                       {{"use_locking", attrs.use_locking}});
}

Output ApplyProximalAdagrad(const Scope& scope, const Input& var,
                            const Input& accum, const Input& lr,
                            const Input& l1, const Input& l2, const Input& grad,
                            const ApplyAttrs& attrs) {
  return scope.AddOutput("ApplyProximalAdagrad", {var, accum, lr, l1, l2, grad},
                         {{"use_locking", attrs.use_locking}});
}

Operation ResourceApplyProximalAdagrad(const Scope& scope, const Input& var,
                                       const Input& accum, const Input& lr,
                                       const Input& l1, const Input& l2,
                                       const Input& grad,
                                       const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceApplyProximalAdagrad",
                       {var, accum, lr, l1, l2, grad},
                       {{"use_locking", attrs.use_locking}});
}

Output SparseApplyProximalAdagrad(const Scope& scope, const Input& var,
                                  const Input& accum, const Input& lr,
                                  const Input& l1, const Input& l2,
                                  const Input& grad, const Input& indices,
                                  const ApplyAttrs& attrs) {
  return scope.AddOutput("SparseApplyProximalAdagrad",
                         {var, accum, lr, l1, l2, grad, indices},
                         {{"use_locking", attrs.use_locking}});
}

Operation ResourceSparseApplyProximalAdagrad(
    const Scope& scope, const Input& var, const Input& accum, const Input& lr,
    const Input& l1, const Input& l2, const Input& grad, const Input& indices,
    const ApplyAttrs& attrs) {
  return scope.AddNode("ResourceSparseApplyProximalAdagrad",
                       {var, accum, lr, l1, l2, grad, indices},
                       {{"use_locking", attrs.use_locking}});
}

}  // namespace weft::ops
