// ConstantEvaluator computes, while the graph is built, values that follow from
// constants. It calls the value functions of the ops. One evaluator serves one
// query. It stops after a limited number of nodes and at a limited depth, and
// computes no large tensors, so no graph makes building slow.
//
// Not synchronized; only reads the graph.
#ifndef WEFT_LIBS_GRAPH_CONSTANT_EVALUATOR_H_
#define WEFT_LIBS_GRAPH_CONSTANT_EVALUATOR_H_

#include <optional>

#include "libs/graph/graph.h"

namespace weft {

class ConstantEvaluator {
 public:
  ConstantEvaluator() = default;
  ConstantEvaluator(const ConstantEvaluator&) = delete;
  ConstantEvaluator& operator=(const ConstantEvaluator&) = delete;

  // Implement Graph::ConstantValue and the related methods of Graph. An output
  // with a null node has no value.
  std::optional<Tensor> Value(const OutputTensor& output);
  std::optional<PartialShape> ValueAsShape(const OutputTensor& output);
  std::optional<int64_t> Scalar(const OutputTensor& output);

 private:
  // Counts one node; returns false if the query has become too expensive.
  bool Enter();
  void Leave() { --depth_; }

  std::optional<Tensor> Evaluate(const OutputTensor& output);
  std::optional<PartialShape> ShapeOf(const OutputTensor& output);
  std::optional<PartialShape> CastAsShape(const Node& node);
  std::optional<PartialShape> PackAsShape(const Node& node);
  std::optional<PartialShape> ConcatAsShape(const Node& node);
  std::optional<PartialShape> StridedSliceAsShape(const Node& node);
  std::optional<PartialShape> SliceAsShape(const Node& node);
  std::optional<int64_t> StridedSliceScalar(const Node& node);

  int depth_ = 0;
  int nodes_left_ = 1000;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_CONSTANT_EVALUATOR_H_
