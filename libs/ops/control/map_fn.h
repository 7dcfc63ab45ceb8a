// MapFn, Foldl, Foldr and Scan apply a function to the rows of tensors, one row
// per loop iteration. Like tf.map_fn, tf.foldl, tf.foldr and tf.scan, they are
// built from WhileLoop and TensorArrays.
//
// They take the rows of one tensor, or of several with equally many rows.
// Gradients flow through them.
//
// Errors stick to the scope, and the result is then empty.
// Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_CONTROL_MAP_FN_H_
#define WEFT_LIBS_OPS_CONTROL_MAP_FN_H_

#include <functional>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

// A RowFunction gets a row of each tensor, and returns the results for it.
using RowFunction = std::function<std::vector<Output>(
    const Scope& scope, const std::vector<Output>& rows)>;
// A FoldFunction gets the result for the previous rows and a row of each
// tensor. It returns the result including that row.
using FoldFunction = std::function<std::vector<Output>(
    const Scope& scope, const std::vector<Output>& so_far,
    const std::vector<Output>& rows)>;

struct MapFnOptions {
  // The types of the results; empty if they are those of the tensors.
  DataTypeVector dtypes;
  int parallel_iterations = 10;
};
// Returns the results of `fn` for each row, stacked. The name is the scope's,
// or "map".
std::vector<Output> MapFn(const Scope& scope, const RowFunction& fn,
                          const std::vector<Output>& elems,
                          const MapFnOptions& options = {});

struct FoldOptions {
  // The first argument of `fn` for the first row. If empty, it is the first row
  // itself, and `fn` starts with the second row.
  InputList initializer;
  int parallel_iterations = 10;
};
// Reduces all rows with `fn`, from first to last (Foldl) or from last to first
// (Foldr). The name is the scope's, or "foldl" or "foldr".
std::vector<Output> Foldl(const Scope& scope, const FoldFunction& fn,
                          const std::vector<Output>& elems,
                          const FoldOptions& options = {});
std::vector<Output> Foldr(const Scope& scope, const FoldFunction& fn,
                          const std::vector<Output>& elems,
                          const FoldOptions& options = {});

struct ScanOptions {
  InputList initializer;  // as in FoldOptions
  int parallel_iterations = 10;
  bool reverse = false;  // from the last row to the first
};
// Like Foldl, but returns all intermediate results, stacked. The name is the
// scope's, or "scan".
std::vector<Output> Scan(const Scope& scope, const FoldFunction& fn,
                         const std::vector<Output>& elems,
                         const ScanOptions& options = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_MAP_FN_H_
