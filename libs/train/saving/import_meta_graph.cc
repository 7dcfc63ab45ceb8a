#include "libs/train/saving/import_meta_graph.h"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/graph/import/graph_proto.h"
#include "libs/graph/import/producer_defaults.h"
#include "libs/graph/near_nodes.h"
#include "libs/ops/state/variable.h"
#include "libs/train/saving/prefix_names.h"
#include "libs/train/saving/variable_collections.h"
#include "schemas/tf/meta_graph.pb.h"
#include "schemas/tf/variable.pb.h"

namespace weft::train {
namespace {

using Kind = tf::CollectionDef::KindCase;

// Returns whether the writer did not write VariableDef.trainable, because it
// was TensorFlow before 1.9.
bool IsBeforeTrainable(const std::string& version) {
  const std::vector<std::string> parts = absl::StrSplit(version, '.');
  int major = 0;
  int minor = 0;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &major) ||
      !absl::SimpleAtoi(parts[1], &minor)) {
    return false;
  }
  return major < 1 || (major == 1 && minor < 9);
}

absl::StatusOr<ops::SaveSliceInfo> SliceOf(const tf::SaveSliceInfoDef& def,
                                           const PartialShape& part) {
  ops::SaveSliceInfo slice;
  slice.full_name = def.full_name();
  ASSIGN_OR_RETURN(slice.full_shape, TensorShape::Create(def.full_shape()));
  slice.offset.assign(def.var_offset().begin(), def.var_offset().end());
  const int rank = slice.full_shape.rank();
  bool fits = part.IsFullyDefined() && part.rank() == rank &&
              static_cast<int>(slice.offset.size()) == rank;
  for (int i = 0; fits && i < rank; ++i) {
    fits = slice.offset[i] >= 0 && part.dim(i) <= slice.full_shape.dim(i) &&
           slice.offset[i] <= slice.full_shape.dim(i) - part.dim(i);
  }
  if (fits && !slice.full_name.empty()) return slice;
  return absl::InvalidArgumentError(
      absl::StrCat("save_slice_info_def: a variable of shape ", part.ToString(),
                   " is not a part of '", slice.full_name, "' of shape ",
                   slice.full_shape.ToString()));
}

Kind KindOfForeign(const std::string& bytes) {
  tf::CollectionDef def;
  def.ParseFromString(bytes);
  return def.kind_case();
}

// Returns the kind under which a collection of the graph would be exported.
Kind KindInGraph(const Scope& scope, const std::string& name) {
  const GraphState& state = scope.state();
  const auto foreign = state.foreign_collections.find(name);
  if (foreign != state.foreign_collections.end()) {
    const Kind kind = KindOfForeign(foreign->second);
    if (kind != tf::CollectionDef::KIND_NOT_SET) return kind;
  }
  const auto items = state.collections.find(name);
  if (items == state.collections.end() || items->second.empty()) {
    return tf::CollectionDef::KIND_NOT_SET;
  }
  const Output* first = std::get_if<Output>(&items->second[0]);
  return IsVariableCollection(name) && first != nullptr &&
                 ops::FindVariable(scope, *first)
             ? tf::CollectionDef::kBytesList
             : tf::CollectionDef::kNodeList;
}

// CollectionsImport computes all changes of the scope before it applies any of
// them. Only the nodes are already in the graph.
class CollectionsImport {
 public:
  // `first_node`: id of the first imported node.
  CollectionsImport(const Scope& scope, std::string prefix, int first_node,
                    bool sets_trainable)
      : scope_(scope),
        prefix_(std::move(prefix)),
        first_node_(first_node),
        sets_trainable_(sets_trainable) {}

  // Reads the trainable variables first, because other collections depend on
  // them.
  absl::Status Read(const tf::MetaGraphDef& message) {
    const std::string trainable(collection::kTrainableVariables);
    std::map<std::string, const tf::CollectionDef*> others;
    for (const auto& [name, def] : message.collection_def()) {
      if (name == trainable) {
        RETURN_IF_ERROR(ReadOne(name, def));
        // Describes an export, not a graph.
      } else if (name != "unbound_inputs") {
        others[name] = &def;
      }
    }
    for (const auto& [name, def] : others) {
      RETURN_IF_ERROR(ReadOne(name, *def));
    }
    return absl::OkStatus();
  }

  void Commit() {
    VariableStore& store = VariableStore::Of(scope_);
    for (auto& [node, imported] : variables_) {
      store.by_node[node] = imported.variable;
      store.imported_defs[node] = std::move(imported.def);
      if (imported.slice) store.slices[node] = *std::move(imported.slice);
    }
    GraphState& state = scope_.state();
    for (auto& [name, items] : items_) {
      auto& all = state.collections[name];
      all.insert(all.end(), items.begin(), items.end());
    }
    for (const auto& [name, def] : foreign_) {
      std::string& bytes = state.foreign_collections[name];
      tf::CollectionDef all;
      all.ParseFromString(bytes);
      all.MergeFrom(def);
      bytes = all.SerializeAsString();
    }
  }

 private:
  struct ImportedVariable {
    ops::Variable variable;
    std::optional<ops::SaveSliceInfo> slice;
    std::string def;
  };

  absl::Status ReadOne(const std::string& name, const tf::CollectionDef& def) {
    return Annotate(ReadCollection(name, def),
                    absl::StrCat("collection '", name, "'"));
  }

  absl::Status ReadCollection(const std::string& name,
                              const tf::CollectionDef& def) {
    const Kind kind = KindInGraph(scope_, name);
    if (kind != tf::CollectionDef::KIND_NOT_SET &&
        def.kind_case() != tf::CollectionDef::KIND_NOT_SET &&
        kind != def.kind_case()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the graph's collection is of another kind (field ",
                       static_cast<int>(kind), " of a CollectionDef, and not ",
                       static_cast<int>(def.kind_case()), ")"));
    }
    tf::CollectionDef rest = def;
    if (def.has_node_list()) {
      RETURN_IF_ERROR(ReadNodes(name, def.node_list()));
      rest.mutable_node_list()->clear_value();
    } else if (def.has_bytes_list() && IsVariableCollection(name)) {
      RETURN_IF_ERROR(ReadVariables(name, def.bytes_list()));
      rest.mutable_bytes_list()->clear_value();
    } else {
      RETURN_IF_ERROR(PrefixNames(name, prefix_, &rest));
    }
    KeepRest(name, rest);
    return absl::OkStatus();
  }

  // Keeps the items that were not read for the next export, unless there are
  // none.
  void KeepRest(const std::string& name, tf::CollectionDef& rest) {
    const bool was_read = items_.contains(name);
    if (was_read && rest.node_list().ByteSizeLong() == 0 &&
        rest.bytes_list().ByteSizeLong() == 0) {
      rest.clear_kind();
      if (rest.ByteSizeLong() == 0) return;
    }
    foreign_[name] = std::move(rest);
  }

  absl::Status ReadNodes(const std::string& name,
                         const tf::CollectionDef::NodeList& list) {
    for (const std::string& item : list.value()) {
      if (absl::StrContains(item, ':')) {
        ASSIGN_OR_RETURN(const Output value, FindValue(item));
        items_[name].emplace_back(value);
      } else {
        ASSIGN_OR_RETURN(const Operation operation, FindOperation(item));
        items_[name].emplace_back(operation);
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadVariables(const std::string& name,
                             const tf::CollectionDef::BytesList& list) {
    for (const std::string& bytes : list.value()) {
      tf::VariableDef def;
      if (!def.ParseFromString(bytes)) {
        return absl::InvalidArgumentError(
            "contains an item that is not a VariableDef");
      }
      const std::string variable_name = def.variable_name();
      const auto handle = ReadVariable(name, std::move(def));
      if (!handle.ok()) {
        return Annotate(handle.status(),
                        absl::StrCat("variable '", variable_name, "'"));
      }
      items_[name].emplace_back(*handle);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Output> ReadVariable(const std::string& collection,
                                      tf::VariableDef def) {
    PrefixNames(prefix_, &def);
    ASSIGN_OR_RETURN(const Output handle, Find(def.variable_name()));
    if (handle.node()->id() < first_node_) {
      return absl::InvalidArgumentError("is not in the imported graph");
    }
    auto& known = variables_[handle.node()];
    if (sets_trainable_) {
      def.set_trainable(known.variable
                            ? known.variable.trainable()
                            : collection == collection::kTrainableVariables);
    }
    const std::string bytes = def.SerializeAsString();
    if (known.variable && known.def == bytes) return handle;
    if (known.variable) {
      return absl::InvalidArgumentError(
          "is described twice, in different ways");
    }
    ASSIGN_OR_RETURN(known.variable, MakeVariable(def, handle));
    if (def.has_save_slice_info_def()) {
      ASSIGN_OR_RETURN(known.slice, SliceOf(def.save_slice_info_def(),
                                            known.variable.shape()));
    }
    known.def = bytes;
    return handle;
  }

  absl::StatusOr<ops::Variable> MakeVariable(const tf::VariableDef& def,
                                             const Output& handle) {
    if (def.is_resource() != (handle.dtype() == DT_RESOURCE)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "is_resource is ", def.is_resource(), ", but '", handle.name(),
          "' is of type ", DataTypeName(handle.dtype())));
    }
    ops::Variable::Imported nodes;
    nodes.handle = handle;
    ASSIGN_OR_RETURN(nodes.initializer,
                     FindOperationOf(def.initializer_name()));
    // Older writers do not write the snapshot name.
    const std::string snapshot =
        def.snapshot_name().empty() && def.is_resource()
            ? absl::StrCat(handle.node()->name(), "/Read/ReadVariableOp:0")
            : def.snapshot_name();
    ASSIGN_OR_RETURN(nodes.value, Find(snapshot));
    if (!def.initial_value_name().empty()) {
      ASSIGN_OR_RETURN(nodes.initial_value, Find(def.initial_value_name()));
    }
    nodes.trainable = def.trainable();
    return ops::Variable::FromNodes(nodes);
  }

  // Returns a tensor. `name` is its name after the import.
  absl::StatusOr<Output> Find(const std::string& name) {
    const auto tensor = FindTensorOrSuggest(scope_.graph(), name);
    if (tensor.ok()) return Output(*tensor);
    return absl::InvalidArgumentError(tensor.status().message());
  }

  absl::StatusOr<Operation> FindOperationOf(absl::string_view name) {
    const absl::string_view node_name = name.substr(0, name.find(':'));
    const Node* node = scope_.graph().FindNode(node_name);
    if (node != nullptr) return Operation(node);
    return absl::InvalidArgumentError(
        absl::StrCat("operation '", name, "' is not in the graph.",
                     SuggestNodes(scope_.graph(), node_name)));
  }

  absl::StatusOr<Output> FindValue(const std::string& name) {
    return Find(PrefixName(prefix_, name));
  }
  absl::StatusOr<Operation> FindOperation(const std::string& name) {
    return FindOperationOf(PrefixName(prefix_, name));
  }

  const Scope scope_;
  const std::string prefix_;
  const int first_node_;
  const bool sets_trainable_;
  std::map<std::string, std::vector<CollectionItem>> items_;
  std::map<std::string, tf::CollectionDef> foreign_;
  std::map<const Node*, ImportedVariable> variables_;
};

absl::Status ImportNodes(const Scope& scope, const std::string& prefix,
                         const tf::MetaGraphDef& message,
                         const ImportMetaGraphOptions& options) {
  if (!message.has_graph_def()) {
    return absl::InvalidArgumentError("the MetaGraphDef holds no graph");
  }
  tf::GraphDef graph = message.graph_def();
  DropNewDefaults(message.meta_info_def().stripped_op_list(),
                  *scope.graph().registry(), graph);
  if (options.clear_devices) {
    for (tf::NodeDef& node : *graph.mutable_node()) node.clear_device();
    for (auto& function : *graph.mutable_library()->mutable_function()) {
      for (tf::NodeDef& node : *function.mutable_node_def()) {
        node.clear_device();
      }
    }
  }
  ImportOptions import;
  import.prefix = prefix;
  for (const auto& [name, output] : options.input_map) {
    import.input_map[name] = output.output_tensor();
  }
  return ImportGraphProto(graph, scope.graph(), import);
}

absl::StatusOr<std::unique_ptr<Saver>> ImportSaver(
    const Scope& scope, const std::string& prefix, std::optional<SaverDef> def,
    const ImportMetaGraphOptions& options) {
  SaverOptions saver;
  saver.file_system = options.file_system;
  saver.clock = options.clock;
  if (!def) return std::unique_ptr<Saver>();
  for (std::string* name : {&def->filename_tensor_name, &def->save_tensor_name,
                            &def->restore_op_name}) {
    *name = PrefixName(prefix, *name);
  }
  return Saver::FromSaverDef(scope, *def, std::move(saver));
}

absl::StatusOr<std::unique_ptr<Saver>> Import(
    const Scope& scope, const MetaGraph& meta_graph,
    const ImportMetaGraphOptions& options) {
  // Holding the writer's turn keeps nodes of other threads out, so that undoing
  // the whole import does not remove them.
  const GraphWriter::Turn turn(scope.graph().writer());
  if (!turn) return scope.graph().writer().error();
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(std::optional<SaverDef> saver_def, meta_graph.saver_def());
  const Scope at = options.import_scope.empty()
                       ? scope
                       : scope.SubScope(options.import_scope);
  RETURN_IF_ERROR(scope.status());
  const std::string prefix(absl::StripSuffix(at.prefix(), "/"));
  const tf::MetaGraphDef& message = meta_graph.message();
  Graph& graph = scope.graph();
  const int num_nodes = graph.num_nodes();
  const int producer = graph.producer();
  const auto functions = graph.shared_functions();
  CollectionsImport collections(
      scope, prefix, num_nodes,
      IsBeforeTrainable(message.meta_info_def().tensorflow_version()));
  std::unique_ptr<Saver> saver;
  const auto import = [&]() -> absl::Status {
    RETURN_IF_ERROR(ImportNodes(scope, prefix, message, options));
    RETURN_IF_ERROR(collections.Read(message));
    ASSIGN_OR_RETURN(saver,
                     ImportSaver(scope, prefix, std::move(saver_def), options));
    return absl::OkStatus();
  };
  if (absl::Status status = CatchExceptions(import); !status.ok()) {
    graph.TruncateTo(num_nodes);
    graph.RestoreFunctions(functions);
    graph.set_producer(producer);
    return status;
  }
  collections.Commit();
  if (saver != nullptr || ops::GlobalVariables(scope).empty()) return saver;
  SaverOptions all;
  all.file_system = options.file_system;
  all.clock = options.clock;
  saver = std::make_unique<Saver>(scope, std::move(all));
  RETURN_IF_ERROR(scope.status());
  return saver;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Saver>> ImportMetaGraph(
    const Scope& scope, const MetaGraph& meta_graph,
    const ImportMetaGraphOptions& options) {
  return CatchExceptions([&] { return Import(scope, meta_graph, options); });
}

}  // namespace weft::train
