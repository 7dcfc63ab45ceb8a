// MapFn, Foldl, Foldr and Scan: a function of the rows of tensors, one row an
// iteration of a loop, as tf.map_fn, tf.foldl, tf.foldr and tf.scan build them
// of WhileLoop and TensorArrays.
//
// All take the rows of one tensor or of several that have as many. Gradients
// run through them.
//
// Errors stick to the scope, and the result is empty. Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_CONTROL_MAP_FN_H_
#define WEFT_LIBS_OPS_CONTROL_MAP_FN_H_

#include <functional>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

// Given a row of each tensor.
using RowFunction = std::function<std::vector<Output>(
    const Scope& scope, const std::vector<Output>& rows)>;
// Given what has become of the rows before, and a row of each tensor.
using FoldFunction = std::function<std::vector<Output>(
    const Scope& scope, const std::vector<Output>& so_far,
    const std::vector<Output>& rows)>;

struct MapFnOptions {
  // Of the results; empty: those of the tensors.
  DataTypeVector dtypes;
  int parallel_iterations = 10;
};
// The results of `fn` for each row, as the rows of tensors. Named by the scope,
// "map" otherwise.
std::vector<Output> MapFn(const Scope& scope, const RowFunction& fn,
                          const std::vector<Output>& elems,
                          const MapFnOptions& options = {});

struct FoldOptions {
  // What `fn` is given with the first row; empty: the first row itself, and
  // `fn` begins with the second.
  InputList initializer;
  int parallel_iterations = 10;
};
// What `fn` makes of all rows, from the first to the last (Foldl) or from the
// last to the first (Foldr). Named by the scope, "foldl" or "foldr" otherwise.
std::vector<Output> Foldl(const Scope& scope, const FoldFunction& fn,
                          const std::vector<Output>& elems,
                          const FoldOptions& options = {});
std::vector<Output> Foldr(const Scope& scope, const FoldFunction& fn,
                          const std::vector<Output>& elems,
                          const FoldOptions& options = {});

struct ScanOptions {
  InputList initializer;  // as FoldOptions'
  int parallel_iterations = 10;
  bool reverse = false;  // from the last row to the first
};
// As Foldl, but all that `fn` gave, as the rows of tensors. Named by the scope,
// "scan" otherwise.
std::vector<Output> Scan(const Scope& scope, const FoldFunction& fn,
                         const std::vector<Output>& elems,
                         const ScanOptions& options = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_MAP_FN_H_
