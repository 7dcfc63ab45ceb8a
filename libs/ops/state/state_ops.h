// Builders of ops on variables, one for each op, with TensorFlow's names. A
// `ref` is an output of VariableV2 or of another op that forwards a reference;
// a `resource` is an output of VarHandleOp. The class Variable (variable.h) is
// the usual way to create either.
//
// All add one node to `scope` and return its output, null after an error (see
// Scope). Ops without outputs return the Operation.
#ifndef WEFT_LIBS_OPS_STATE_STATE_OPS_H_
#define WEFT_LIBS_OPS_STATE_STATE_OPS_H_

#include <string>

#include "libs/ops/scope.h"

namespace weft::ops {

struct VariableAttrs {
  std::string container;    // empty: the scope's
  std::string shared_name;  // empty: the node's name
};

// ---- reference variables ----
Output VariableV2(const Scope& scope, const PartialShape& shape, DataType dtype,
                  const VariableAttrs& attrs = {});
Output IsVariableInitialized(const Scope& scope, const Input& ref);

struct AssignAttrs {
  bool validate_shape = true;
  bool use_locking = true;
};
Output Assign(const Scope& scope, const Input& ref, const Input& value,
              const AssignAttrs& attrs = {});
Output AssignAdd(const Scope& scope, const Input& ref, const Input& value,
                 bool use_locking = false);
Output AssignSub(const Scope& scope, const Input& ref, const Input& value,
                 bool use_locking = false);
Output RefIdentity(const Scope& scope, const Input& input);
Output CountUpTo(const Scope& scope, const Input& ref, int64_t limit);

Output ScatterAdd(const Scope& scope, const Input& ref, const Input& indices,
                  const Input& updates, bool use_locking = false);
Output ScatterSub(const Scope& scope, const Input& ref, const Input& indices,
                  const Input& updates, bool use_locking = false);
Output ScatterMul(const Scope& scope, const Input& ref, const Input& indices,
                  const Input& updates, bool use_locking = false);
Output ScatterDiv(const Scope& scope, const Input& ref, const Input& indices,
                  const Input& updates, bool use_locking = false);
Output ScatterMin(const Scope& scope, const Input& ref, const Input& indices,
                  const Input& updates, bool use_locking = false);
Output ScatterMax(const Scope& scope, const Input& ref, const Input& indices,
                  const Input& updates, bool use_locking = false);
Output ScatterUpdate(const Scope& scope, const Input& ref, const Input& indices,
                     const Input& updates, bool use_locking = true);

// Each row of `indices` selects a slice by its first dimensions.
Output ScatterNdUpdate(const Scope& scope, const Input& ref,
                       const Input& indices, const Input& updates,
                       bool use_locking = true);
Output ScatterNdAdd(const Scope& scope, const Input& ref, const Input& indices,
                    const Input& updates, bool use_locking = false);
Output ScatterNdSub(const Scope& scope, const Input& ref, const Input& indices,
                    const Input& updates, bool use_locking = false);

// ---- resource variables ----
Output VarHandleOp(const Scope& scope, DataType dtype,
                   const PartialShape& shape, const VariableAttrs& attrs = {});
Output ReadVariableOp(const Scope& scope, const Input& resource,
                      DataType dtype);
Output VarIsInitializedOp(const Scope& scope, const Input& resource);
Output VariableShape(const Scope& scope, const Input& resource,
                     DataType out_type = DT_INT32);
Operation AssignVariableOp(const Scope& scope, const Input& resource,
                           const Input& value, bool validate_shape = false);
Operation AssignAddVariableOp(const Scope& scope, const Input& resource,
                              const Input& value);
Operation AssignSubVariableOp(const Scope& scope, const Input& resource,
                              const Input& value);
Operation DestroyResourceOp(const Scope& scope, const Input& resource,
                            bool ignore_lookup_error = true);
Operation DisableCopyOnRead(const Scope& scope, const Input& resource);
Output ResourceCountUpTo(const Scope& scope, const Input& resource,
                         int64_t limit, DataType dtype);

struct ResourceGatherAttrs {
  int64_t batch_dims = 0;
  bool validate_indices = true;
};
Output ResourceGather(const Scope& scope, const Input& resource,
                      const Input& indices, DataType dtype,
                      const ResourceGatherAttrs& attrs = {});

Operation ResourceScatterAdd(const Scope& scope, const Input& resource,
                             const Input& indices, const Input& updates);
Operation ResourceScatterSub(const Scope& scope, const Input& resource,
                             const Input& indices, const Input& updates);
Operation ResourceScatterMul(const Scope& scope, const Input& resource,
                             const Input& indices, const Input& updates);
Operation ResourceScatterDiv(const Scope& scope, const Input& resource,
                             const Input& indices, const Input& updates);
Operation ResourceScatterMin(const Scope& scope, const Input& resource,
                             const Input& indices, const Input& updates);
Operation ResourceScatterMax(const Scope& scope, const Input& resource,
                             const Input& indices, const Input& updates);
Operation ResourceScatterUpdate(const Scope& scope, const Input& resource,
                                const Input& indices, const Input& updates);

Operation ResourceScatterNdUpdate(const Scope& scope, const Input& resource,
                                  const Input& indices, const Input& updates);
Operation ResourceScatterNdAdd(const Scope& scope, const Input& resource,
                               const Input& indices, const Input& updates);
Operation ResourceScatterNdSub(const Scope& scope, const Input& resource,
                               const Input& indices, const Input& updates);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_STATE_STATE_OPS_H_
