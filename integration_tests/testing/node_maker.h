// NodeMaker adds nodes of any op to a GraphDef. It sets attributes that the
// op's definition mostly allows. Inputs have the right types: existing outputs,
// new constants, fed values, or new variables and handles.
//
// A node with an attribute "_value" stands for a feed: that tensor is fed as
// its output 0 (graph_fuzz_targets.h).
//
// Only for .cc files that include protobuf messages. Not thread-safe.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_NODE_MAKER_H_
#define WEFT_INTEGRATION_TESTS_TESTING_NODE_MAKER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "integration_tests/testing/choices.h"
#include "libs/graph/op_def.h"
#include "libs/tensor/data_type.h"

namespace weft {

namespace tf {
class AttrValue;
class GraphDef;
class NodeDef;
}  // namespace tf

// Name of the attribute that holds a fed value.
inline constexpr char kFedValueAttr[] = "_value";

class NodeMaker {
 public:
  // Does not take ownership of its arguments, which must outlive this object.
  NodeMaker(const OpRegistry& ops, Choices& choices, tf::GraphDef& def);

  // An output of an existing node, and its type.
  struct Output {
    std::string name;  // for example "x:1"
    DataType dtype = DT_INVALID;
  };
  void AddOutput(Output output) { outputs_.push_back(std::move(output)); }

  // Adds a node and its inputs. Returns its name.
  std::string Add(const OpDef& op) { return Add(op, 0); }

  // Adds a product, a convolution or any other float value, followed by a chain
  // of elementwise functions. Most of these have matching shapes.
  void AddChain();

  // Sets a random value for `attr`, which its definition allows most of the
  // time. Leaves it unset if the default suffices. `dtype` is the type of a
  // tensor attr.
  void RandomAttr(const AttrDef& attr, DataType dtype, tf::AttrValue* value);
  // Returns an output of type `dtype`, possibly of a new node.
  std::string Input(DataType dtype);

 private:
  using Attrs = std::map<std::string, tf::AttrValue>;

  std::string Add(const OpDef& op, int depth);
  DataType RandomType(const AttrDef& attr);
  Attrs RandomAttrs(const OpDef& op);
  std::string NewName(const std::string& op);
  std::string InputFor(const OpDef& consumer, DataType dtype, int depth);
  std::string NewLeaf(DataType dtype);
  std::string NewLeaf(DataType dtype, const std::vector<int64_t>& sizes);
  std::string NewProduct(DataType dtype, std::vector<int64_t>& sizes);
  std::string NewFunction(DataType dtype, const std::vector<int64_t>& sizes,
                          const std::string& x, const std::string& before);
  // Adds a node whose inputs and output all have type `dtype`.
  std::string NewNode(const std::string& op, DataType dtype,
                      const std::vector<std::string>& inputs);
  std::string NewVariable(DataType dtype);
  std::string NewHandle(const std::string& consumer, DataType dtype, int depth);
  void AddInputs(const OpDef& op, const Attrs& attrs, int depth,
                 tf::NodeDef* node);
  void AddOutputs(const OpDef& op, const Attrs& attrs, const std::string& name);
  std::vector<DataType> TypesOf(const ArgDef& arg, const OpDef& op,
                                const Attrs& attrs) const;

  const OpRegistry& ops_;
  Choices& choices_;
  tf::GraphDef& def_;
  std::vector<Output> outputs_;
  std::vector<int64_t> favourite_sizes_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_NODE_MAKER_H_
