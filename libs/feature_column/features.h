// Features are the named inputs of a model for each batch: dense or sparse
// tensors. The first dimension is the batch.
//
// Features are values that refer to a graph, and are as thread-safe as the
// scope.
#ifndef WEFT_LIBS_FEATURE_COLUMN_FEATURES_H_
#define WEFT_LIBS_FEATURE_COLUMN_FEATURES_H_

#include <map>
#include <string>
#include <utility>

#include "libs/ops/output.h"
#include "libs/ops/sparse/sparse_ops.h"

namespace weft {

// Feature is one feature of a batch. It is null after an error.
class Feature {
 public:
  Feature() = default;
  Feature(Output dense) : dense_(dense) {}  // NOLINT: dense or sparse
  Feature(ops::SparseOutputs sparse)        // NOLINT
      : is_sparse_(true), sparse_(std::move(sparse)) {}

  bool is_sparse() const { return is_sparse_; }
  explicit operator bool() const {
    return is_sparse_ ? bool{sparse_.values} : bool{dense_};
  }
  // REQUIRES: dense() needs a dense feature, sparse() a sparse one.
  const Output& dense() const { return dense_; }
  const ops::SparseOutputs& sparse() const { return sparse_; }
  // REQUIRES: the feature is not null.
  DataType dtype() const {
    return is_sparse_ ? sparse_.values.dtype() : dense_.dtype();
  }

 private:
  bool is_sparse_ = false;
  Output dense_;
  ops::SparseOutputs sparse_;
};

using Features = std::map<std::string, Feature>;

}  // namespace weft

#endif  // WEFT_LIBS_FEATURE_COLUMN_FEATURES_H_
