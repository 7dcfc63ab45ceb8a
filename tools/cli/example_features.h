// ExampleFeatures lists the features that a graph parses from Examples.
//
// Only for .cc files that hold protobuf messages. Stateless functions.
#ifndef WEFT_TOOLS_CLI_EXAMPLE_FEATURES_H_
#define WEFT_TOOLS_CLI_EXAMPLE_FEATURES_H_

#include <map>
#include <optional>
#include <string>

#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"
#include "libs/tensor/tensor.h"

namespace weft {

namespace tf {
class GraphDef;
}  // namespace tf

namespace tools {

struct ExampleFeature {
  DataType dtype = DT_INVALID;
  // Shape of the values in one Example; none: any number of them (a
  // VarLenFeature or RaggedFeature).
  std::optional<PartialShape> shape;
  // For a feature with a shape: its value in Examples that lack it; none: the
  // feature is required. A default that the graph computes has no elements.
  std::optional<Tensor> default_value;
};
using ExampleFeatures = std::map<std::string, ExampleFeature>;  // by key

// Returns the features that nodes of op ParseExample or ParseExampleV2 read
// from `tensor`, such as "input_example_tensor:0", or from an Identity of it.
// Empty if there is no such node, or its keys are not constants.
ExampleFeatures FeaturesParsedFrom(const tf::GraphDef& graph,
                                   const std::string& tensor);

// "[2], default [0, 0]", "[], required" or "any number".
std::string DescribeValues(const ExampleFeature& feature);

}  // namespace tools
}  // namespace weft

#endif  // WEFT_TOOLS_CLI_EXAMPLE_FEATURES_H_
