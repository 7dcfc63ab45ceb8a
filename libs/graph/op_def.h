// OpDef is the definition of an op: its inputs, outputs, attributes, and its
// shape and value functions. OpRegistry is the set of ops that a program knows.
//
// An OpDef is written once, in the file of its family under libs/ops, with
// OpDefBuilder, in TensorFlow's notation:
//
//   registry.Add(OpDefBuilder("ConcatV2")
//                    .Input("values: N * T").Input("axis: Tidx")
//                    .Output("output: T")
//                    .Attr("N: int >= 2").Attr("T: type")
//                    .Attr("Tidx: {int32, int64} = DT_INT32")
//                    .Doc("Joins tensors along one axis.")
//                    .Shape(ConcatShape));
#ifndef WEFT_LIBS_GRAPH_OP_DEF_H_
#define WEFT_LIBS_GRAPH_OP_DEF_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/graph/attr_value.h"

namespace weft {

class InferenceContext;  // libs/graph/inference_context.h

// Sets the output shapes, or returns why the inputs' shapes are invalid.
using ShapeFn = std::function<absl::Status(InferenceContext&)>;
// Returns the value of the op's only output if it follows from constants while
// the graph is built. Only shape functions use these values; this is not a
// general evaluator.
using ValueFn = std::function<std::optional<Tensor>(InferenceContext&)>;

// ArgDef is one input or output argument. An argument may consist of several
// tensors: `number_attr` names the attr with the number of tensors of one type,
// and `type_list_attr` names the attr with the types of all tensors.
struct ArgDef {
  std::string name;
  DataType type = DT_INVALID;  // DT_INVALID if not fixed
  std::string type_attr;
  std::string number_attr;
  std::string type_list_attr;
  bool is_ref = false;
};

struct AttrDef {
  std::string name;
  std::string type;  // "type", "int", "list(int)", "shape", "tensor", ...
  std::optional<AttrValue> default_value;
  std::optional<int64_t> minimum;            // of an int, or of a list's length
  std::vector<DataType> allowed_types;       // empty: any
  std::vector<std::string> allowed_strings;  // empty: any
};

struct OpDef {
  std::string name;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;
  std::string summary;
  bool is_stateful = false;
  bool is_commutative = false;
  bool is_aggregate = false;
  bool allows_uninitialized_input = false;
  ShapeFn shape_fn;  // never null in a registry
  ValueFn value_fn;  // may be null

  const AttrDef* FindAttr(absl::string_view attr_name) const;
};

// OpDefBuilder collects one OpDef. An error in a specification is a programming
// error: when the registry takes the OpDef, the program aborts with the op's
// name.
class OpDefBuilder {
 public:
  explicit OpDefBuilder(absl::string_view name);
  // Add an argument, such as "x: T", "ref: Ref(T)" or "in: N * T".
  OpDefBuilder& Input(absl::string_view spec);
  OpDefBuilder& Output(absl::string_view spec);
  // Adds an attr, such as "T: {float, double} = DT_FLOAT".
  OpDefBuilder& Attr(absl::string_view spec);
  OpDefBuilder& Doc(absl::string_view summary);  // one line
  OpDefBuilder& Stateful();
  OpDefBuilder& Commutative();
  OpDefBuilder& Aggregate();
  OpDefBuilder& AllowsUninitializedInput();
  OpDefBuilder& Shape(ShapeFn fn);
  OpDefBuilder& Value(ValueFn fn);

  // Returns the OpDef. INVALID_ARGUMENT if a specification does not parse or
  // refers to an unknown attr, or if there is no shape function.
  absl::StatusOr<OpDef> Build() const;

  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::vector<std::string> inputs_, outputs_, attrs_;
  OpDef def_;
};

// OpRegistry is the set of known ops. One thread must fill it; afterwards it is
// only read and is thread-safe.
class OpRegistry {
 public:
  // Aborts on an invalid definition or a duplicate name.
  void Add(const OpDefBuilder& builder);
  // Returns the op with that name, or null if it is unknown.
  const OpDef* Find(absl::string_view name) const;
  // Returns all ops, sorted by name.
  std::vector<const OpDef*> List() const;
  // Returns a hash that is equal for two registries if and only if the
  // signatures of their ops are equal.
  uint64_t Fingerprint() const;

 private:
  absl::flat_hash_map<std::string, std::unique_ptr<const OpDef>> ops_;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_OP_DEF_H_
