#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/graph/import/graph_proto.h"
#include "libs/ops/state/variable.h"
#include "libs/train/saving/meta_graph.h"
#include "libs/train/saving/saver_defs.h"
#include "libs/train/saving/variable_collections.h"
#include "schemas/tf/meta_graph.pb.h"
#include "schemas/tf/variable.pb.h"

namespace weft::train {
namespace {

// The TensorFlow version of this format, like kGraphDefVersion for graphs.
constexpr char kTensorFlowVersion[] = "2.21.0";

void SetSlice(const ops::SaveSliceInfo& slice, const PartialShape& part,
              tf::SaveSliceInfoDef* def) {
  def->set_full_name(slice.full_name);
  for (const int64_t size : slice.full_shape.dims()) def->add_full_shape(size);
  for (const int64_t begin : slice.offset) def->add_var_offset(begin);
  for (const int64_t size : part.dims()) def->add_var_shape(size);
}

std::string VariableDefOf(const Scope& scope, const ops::Variable& variable) {
  const VariableStore& store = VariableStore::Of(scope);
  const Node* node = variable.handle().node();
  const auto imported = store.imported_defs.find(node);
  if (imported != store.imported_defs.end()) return imported->second;
  tf::VariableDef def;
  def.set_variable_name(variable.handle().name());
  def.set_initializer_name(variable.initializer().name());
  def.set_snapshot_name(variable.value().name());
  def.set_initial_value_name(variable.initial_value().name());
  def.set_is_resource(variable.is_resource());
  def.set_trainable(variable.trainable());
  const auto slice = store.slices.find(node);
  if (slice != store.slices.end()) {
    SetSlice(slice->second, variable.shape(),
             def.mutable_save_slice_info_def());
  }
  return def.SerializeAsString();
}

std::string NameOfItem(const CollectionItem& item) {
  const Output* value = std::get_if<Output>(&item);
  return value != nullptr ? value->name() : std::get<Operation>(item).name();
}

// Returns the variable of a collection item; null if the item is not a
// variable.
ops::Variable VariableOfItem(const Scope& scope, const CollectionItem& item) {
  const Output* value = std::get_if<Output>(&item);
  if (value == nullptr) return ops::Variable();
  ops::Variable variable = ops::FindVariable(scope, *value);
  return variable && variable.handle() == *value ? variable : ops::Variable();
}

absl::Status MixedCollection(absl::string_view name, absl::string_view item) {
  return absl::InvalidArgumentError(
      absl::StrCat("collection '", name, "' can't be exported: '", item,
                   "' is not of the kind of the other items"));
}

// Adds `items` to `def`.
absl::Status ExportItems(const Scope& scope, const std::string& name,
                         const std::vector<CollectionItem>& items,
                         tf::CollectionDef* def) {
  if (items.empty()) return absl::OkStatus();
  const bool are_variables =
      IsVariableCollection(name) && VariableOfItem(scope, items[0]);
  const auto kind = are_variables ? tf::CollectionDef::kBytesList
                                  : tf::CollectionDef::kNodeList;
  if (def->kind_case() != tf::CollectionDef::KIND_NOT_SET &&
      def->kind_case() != kind) {
    return MixedCollection(name, NameOfItem(items[0]));
  }
  for (const CollectionItem& item : items) {
    if (!are_variables) {
      def->mutable_node_list()->add_value(NameOfItem(item));
      continue;
    }
    const ops::Variable variable = VariableOfItem(scope, item);
    if (!variable) return MixedCollection(name, NameOfItem(item));
    def->mutable_bytes_list()->add_value(VariableDefOf(scope, variable));
  }
  return absl::OkStatus();
}

absl::Status ExportCollections(const Scope& scope,
                               const ExportMetaGraphOptions& options,
                               tf::MetaGraphDef* message) {
  const GraphState& state = scope.state();
  std::set<std::string> names;
  for (const auto& [name, items] : state.collections) names.insert(name);
  for (const auto& [name, def] : state.foreign_collections) names.insert(name);
  if (options.collections.has_value()) {
    const std::set<std::string> wanted(options.collections->begin(),
                                       options.collections->end());
    std::erase_if(names, [&](const auto& name) { return !wanted.count(name); });
  }
  for (const std::string& name : names) {
    tf::CollectionDef& def = (*message->mutable_collection_def())[name];
    const auto foreign = state.foreign_collections.find(name);
    if (foreign != state.foreign_collections.end()) {
      def.ParseFromString(foreign->second);
    }
    const auto items = state.collections.find(name);
    if (items == state.collections.end()) continue;
    RETURN_IF_ERROR(ExportItems(scope, name, items->second, &def));
  }
  return absl::OkStatus();
}

// Replaces the graph in `message`, and the fields derived from it.
void ExportGraphOf(const Scope& scope, bool clear_devices,
                   tf::MetaGraphDef* message) {
  tf::GraphDef& graph = *message->mutable_graph_def();
  graph.clear_node();
  ExportGraphProto(scope.graph(), 0, /*assigned_devices=*/false, &graph);
  if (clear_devices) {
    for (tf::NodeDef& node : *graph.mutable_node()) node.clear_device();
  }
  auto& info = *message->mutable_meta_info_def();
  info.set_tensorflow_version(kTensorFlowVersion);
  info.clear_tensorflow_git_version();
  info.clear_stripped_op_list();
  ExportOps(scope.graph(), info.mutable_stripped_op_list());
}

absl::StatusOr<MetaGraph> WriteMetaGraph(
    const Scope& scope, const ExportMetaGraphOptions& options) {
  tf::MetaGraphDef message;
  if (options.from != nullptr) message = options.from->message();
  message.clear_collection_def();
  ExportGraphOf(scope, options.clear_devices, &message);
  if (options.saver_def.has_value()) {
    WriteSaverDef(*options.saver_def, message.mutable_saver_def());
  } else {
    message.clear_saver_def();
  }
  RETURN_IF_ERROR(ExportCollections(scope, options, &message));
  if (message.ByteSizeLong() > std::numeric_limits<int>::max()) {
    return absl::ResourceExhaustedError(
        "the graph exceeds the limit of a MetaGraphDef, 2 GiB: keep large "
        "constants out of it, or save without write_meta_graph");
  }
  return MetaGraph(std::move(message));
}

}  // namespace

absl::StatusOr<MetaGraph> ExportMetaGraph(
    const Scope& scope, const ExportMetaGraphOptions& options) {
  RETURN_IF_ERROR(scope.status());
  return CatchExceptions([&] { return WriteMetaGraph(scope, options); });
}

}  // namespace weft::train
