#include "libs/ops/state/state_ops.h"

namespace weft::ops {

Output VariableV2(const Scope& scope, const PartialShape& shape, DataType dtype,
                  const VariableAttrs& attrs) {
  AttrMap map = {
      {"shape", shape}, {"dtype", dtype}, {"shared_name", attrs.shared_name}};
  // Left out if empty, so that the scope's container applies.
  if (!attrs.container.empty()) map["container"] = attrs.container;
  return scope.AddOutput("VariableV2", {}, std::move(map));
}

Output IsVariableInitialized(const Scope& scope, const Input& ref) {
  return scope.AddOutput("IsVariableInitialized", {ref});
}

Output Assign(const Scope& scope, const Input& ref, const Input& value,
              const AssignAttrs& attrs) {
  return scope.AddOutput("Assign", {ref, value},
                         {{"validate_shape", attrs.validate_shape},
                          {"use_locking", attrs.use_locking}});
}

Output AssignAdd(const Scope& scope, const Input& ref, const Input& value,
                 bool use_locking) {
  return scope.AddOutput("AssignAdd", {ref, value},
                         {{"use_locking", use_locking}});
}

Output AssignSub(const Scope& scope, const Input& ref, const Input& value,
                 bool use_locking) {
  return scope.AddOutput("AssignSub", {ref, value},
                         {{"use_locking", use_locking}});
}

Output RefIdentity(const Scope& scope, const Input& input) {
  return scope.AddOutput("RefIdentity", {input});
}

Output CountUpTo(const Scope& scope, const Input& ref, int64_t limit) {
  return scope.AddOutput("CountUpTo", {ref}, {{"limit", limit}});
}

Output ScatterAdd(const Scope& scope, const Input& ref, const Input& indices,
                  const Input& updates, bool use_locking) {
  return scope.AddOutput("ScatterAdd", {ref, indices, updates},
                         {{"use_locking", use_locking}});
}

Output ScatterSub(const Scope& scope, const Input& ref, const Input& indices,
                  const Input& updates, bool use_locking) {
  return scope.AddOutput("ScatterSub", {ref, indices, updates},
                         {{"use_locking", use_locking}});
}

Output ScatterMul(const Scope& scope, const Input& ref, const Input& indices,
                  const Input& updates, bool use_locking) {
  return scope.AddOutput("ScatterMul", {ref, indices, updates},
                         {{"use_locking", use_locking}});
}

Output ScatterDiv(const Scope& scope, const Input& ref, const Input& indices,
                  const Input& updates, bool use_locking) {
  return scope.AddOutput("ScatterDiv", {ref, indices, updates},
                         {{"use_locking", use_locking}});
}

Output ScatterMin(const Scope& scope, const Input& ref, const Input& indices,
                  const Input& updates, bool use_locking) {
  return scope.AddOutput("ScatterMin", {ref, indices, updates},
                         {{"use_locking", use_locking}});
}

Output ScatterMax(const Scope& scope, const Input& ref, const Input& indices,
                  const Input& updates, bool use_locking) {
  return scope.AddOutput("ScatterMax", {ref, indices, updates},
                         {{"use_locking", use_locking}});
}

Output ScatterUpdate(const Scope& scope, const Input& ref, const Input& indices,
                     const Input& updates, bool use_locking) {
  return scope.AddOutput("ScatterUpdate", {ref, indices, updates},
                         {{"use_locking", use_locking}});
}

Output ScatterNdUpdate(const Scope& scope, const Input& ref,
                       const Input& indices, const Input& updates,
                       bool use_locking) {
  return scope.AddOutput("ScatterNdUpdate", {ref, indices, updates},
                         {{"use_locking", use_locking}});
}

Output ScatterNdAdd(const Scope& scope, const Input& ref, const Input& indices,
                    const Input& updates, bool use_locking) {
  return scope.AddOutput("ScatterNdAdd", {ref, indices, updates},
                         {{"use_locking", use_locking}});
}

Output ScatterNdSub(const Scope& scope, const Input& ref, const Input& indices,
                    const Input& updates, bool use_locking) {
  return scope.AddOutput("ScatterNdSub", {ref, indices, updates},
                         {{"use_locking", use_locking}});
}

Output VarHandleOp(const Scope& scope, DataType dtype,
                   const PartialShape& shape, const VariableAttrs& attrs) {
  AttrMap map = {
      {"dtype", dtype}, {"shape", shape}, {"shared_name", attrs.shared_name}};
  if (!attrs.container.empty()) map["container"] = attrs.container;
  return scope.AddOutput("VarHandleOp", {}, std::move(map));
}

Output ReadVariableOp(const Scope& scope, const Input& resource,
                      DataType dtype) {
  return scope.AddOutput("ReadVariableOp", {resource}, {{"dtype", dtype}});
}

Output VarIsInitializedOp(const Scope& scope, const Input& resource) {
  return scope.AddOutput("VarIsInitializedOp", {resource});
}

Output VariableShape(const Scope& scope, const Input& resource,
                     DataType out_type) {
  return scope.AddOutput("VariableShape", {resource}, {{"out_type", out_type}});
}

Operation AssignVariableOp(const Scope& scope, const Input& resource,
                           const Input& value, bool validate_shape) {
  return scope.AddNode("AssignVariableOp", {resource, value},
                       {{"validate_shape", validate_shape}});
}

Operation AssignAddVariableOp(const Scope& scope, const Input& resource,
                              const Input& value) {
  return scope.AddNode("AssignAddVariableOp", {resource, value});
}

Operation AssignSubVariableOp(const Scope& scope, const Input& resource,
                              const Input& value) {
  return scope.AddNode("AssignSubVariableOp", {resource, value});
}

Operation DestroyResourceOp(const Scope& scope, const Input& resource,
                            bool ignore_lookup_error) {
  return scope.AddNode("DestroyResourceOp", {resource},
                       {{"ignore_lookup_error", ignore_lookup_error}});
}

Operation DisableCopyOnRead(const Scope& scope, const Input& resource) {
  return scope.AddNode("DisableCopyOnRead", {resource});
}

Output ResourceCountUpTo(const Scope& scope, const Input& resource,
                         int64_t limit, DataType dtype) {
  return scope.AddOutput("ResourceCountUpTo", {resource},
                         {{"limit", limit}, {"T", dtype}});
}

Output ResourceGather(const Scope& scope, const Input& resource,
                      const Input& indices, DataType dtype,
                      const ResourceGatherAttrs& attrs) {
  return scope.AddOutput("ResourceGather", {resource, indices},
                         {{"dtype", dtype},
                          {"batch_dims", attrs.batch_dims},
                          {"validate_indices", attrs.validate_indices}});
}

Operation ResourceScatterAdd(const Scope& scope, const Input& resource,
                             const Input& indices, const Input& updates) {
  return scope.AddNode("ResourceScatterAdd", {resource, indices, updates});
}

Operation ResourceScatterSub(const Scope& scope, const Input& resource,
                             const Input& indices, const Input& updates) {
  return scope.AddNode("ResourceScatterSub", {resource, indices, updates});
}

Operation ResourceScatterMul(const Scope& scope, const Input& resource,
                             const Input& indices, const Input& updates) {
  return scope.AddNode("ResourceScatterMul", {resource, indices, updates});
}

Operation ResourceScatterDiv(const Scope& scope, const Input& resource,
                             const Input& indices, const Input& updates) {
  return scope.AddNode("ResourceScatterDiv", {resource, indices, updates});
}

Operation ResourceScatterMin(const Scope& scope, const Input& resource,
                             const Input& indices, const Input& updates) {
  return scope.AddNode("ResourceScatterMin", {resource, indices, updates});
}

Operation ResourceScatterMax(const Scope& scope, const Input& resource,
                             const Input& indices, const Input& updates) {
  return scope.AddNode("ResourceScatterMax", {resource, indices, updates});
}

Operation ResourceScatterUpdate(const Scope& scope, const Input& resource,
                                const Input& indices, const Input& updates) {
  return scope.AddNode("ResourceScatterUpdate", {resource, indices, updates});
}

Operation ResourceScatterNdUpdate(const Scope& scope, const Input& resource,
                                  const Input& indices, const Input& updates) {
  return scope.AddNode("ResourceScatterNdUpdate", {resource, indices, updates});
}

Operation ResourceScatterNdAdd(const Scope& scope, const Input& resource,
                               const Input& indices, const Input& updates) {
  return scope.AddNode("ResourceScatterNdAdd", {resource, indices, updates});
}

Operation ResourceScatterNdSub(const Scope& scope, const Input& resource,
                               const Input& indices, const Input& updates) {
  return scope.AddNode("ResourceScatterNdSub", {resource, indices, updates});
}

}  // namespace weft::ops
