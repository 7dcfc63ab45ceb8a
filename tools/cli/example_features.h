// ExampleFeatures lists the features that a graph parses from Examples.
//
// Only for .cc files that include protobuf messages. Threads: the functions
// have no state.
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
  // Shape of the values in one Example. nullopt means any number of values (a
  // VarLenFeature or RaggedFeature).
  std::optional<PartialShape> shape;
  // The value in Examples that lack the feature, if the feature has a shape.
  // nullopt means that the feature is required. A default that the graph
  // computes is represented by a tensor without elements.
  std::optional<Tensor> default_value;
};
using ExampleFeatures = std::map<std::string, ExampleFeature>;  // by key

// Returns the features that nodes of op ParseExample or ParseExampleV2 parse
// from `tensor`, such as "input_example_tensor:0", or from an Identity of that
// tensor. Returns no features if there is no such node or its keys are not
// constants.
ExampleFeatures FeaturesParsedFrom(const tf::GraphDef& graph,
                                   const std::string& tensor);

// Describes the values of a feature, for example "[2], default [0, 0]", "[],
// required" or "any number".
std::string DescribeValues(const ExampleFeature& feature);

}  // namespace tools
}  // namespace weft

#endif  // WEFT_TOOLS_CLI_EXAMPLE_FEATURES_H_
