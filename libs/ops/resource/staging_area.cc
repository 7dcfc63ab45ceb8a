#include "libs/ops/resource/staging_area.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::ops {
namespace {

// The default name of a node on an area.
Scope AreaScope(const Scope& scope, const std::string& area,
                absl::string_view suffix) {
  if (!scope.own_name().empty()) return scope;
  return scope.WithName(absl::StrCat(area, suffix));
}

AttrMap AreaAttrs(const StagingAreaAttrs& attrs, const DataTypeVector& dtypes) {
  AttrMap result = {{"capacity", attrs.capacity},
                    {"memory_limit", attrs.memory_limit},
                    {"dtypes", dtypes},
                    {"shared_name", attrs.shared_name}};
  if (!attrs.container.empty()) result["container"] = attrs.container;
  return result;
}

// `count` outputs from number `first` on; null after an error.
std::vector<Output> AreaOutputs(const Node* node, int first, size_t count) {
  std::vector<Output> outputs;
  for (size_t i = 0; i < count; ++i) {
    outputs.push_back(OutputOf(node, first + static_cast<int>(i)));
  }
  return outputs;
}

}  // namespace

StagingArea::StagingArea(const Scope& scope, const DataTypeVector& dtypes,
                         const StagingAreaAttrs& attrs)
    : dtypes_(dtypes), attrs_(attrs) {
  if (attrs_.shared_name.empty()) {
    attrs_.shared_name = scope.UniqueName("StagingArea");
  }
}

Operation StagingArea::Put(const Scope& scope, const InputList& values) const {
  return AreaScope(scope, name(), "_put")
      .AddNode("Stage", values, AreaAttrs(attrs_, dtypes_));
}

std::vector<Output> StagingArea::Get(const Scope& scope) const {
  return AreaOutputs(AreaScope(scope, name(), "_get")
                         .AddNode("Unstage", {}, AreaAttrs(attrs_, dtypes_)),
                     0, dtypes_.size());
}

std::vector<Output> StagingArea::Peek(const Scope& scope,
                                      const Input& index) const {
  return AreaOutputs(
      AreaScope(scope, name(), "_peek")
          .AddNode("StagePeek", {index}, AreaAttrs(attrs_, dtypes_)),
      0, dtypes_.size());
}

Output StagingArea::Size(const Scope& scope) const {
  return AreaScope(scope, name(), "_size")
      .AddOutput("StageSize", {}, AreaAttrs(attrs_, dtypes_));
}

Operation StagingArea::Clear(const Scope& scope) const {
  return AreaScope(scope, name(), "_clear")
      .AddNode("StageClear", {}, AreaAttrs(attrs_, dtypes_));
}

MapStagingArea::MapStagingArea(const Scope& scope, const DataTypeVector& dtypes,
                               const MapStagingAreaAttrs& attrs)
    : dtypes_(dtypes), attrs_(attrs) {
  if (attrs_.staging.shared_name.empty()) {
    attrs_.staging.shared_name = scope.UniqueName("MapStagingArea");
  }
}

Tensor MapStagingArea::IndicesOf(const std::vector<int32_t>& indices) const {
  if (!indices.empty()) return Tensor::Vector<int32_t>(indices);
  std::vector<int32_t> all(dtypes_.size());
  std::iota(all.begin(), all.end(), 0);
  return Tensor::Vector<int32_t>(all);
}

std::optional<DataTypeVector> MapStagingArea::TypesAt(
    const Scope& scope, const std::vector<int32_t>& indices) const {
  if (indices.empty()) return dtypes_;
  DataTypeVector types;
  for (const int32_t index : indices) {
    if (index < 0 || static_cast<size_t>(index) >= dtypes_.size()) {
      scope.UpdateStatus(absl::InvalidArgumentError(
          absl::StrCat("index ", index, " of staging area '", name(),
                       "' is out of range: it has ", dtypes_.size(),
                       " values for each key")));
      return std::nullopt;
    }
    types.push_back(dtypes_[static_cast<size_t>(index)]);
  }
  return types;
}

Operation MapStagingArea::Put(const Scope& scope, const Input& key,
                              const InputList& values,
                              const std::vector<int32_t>& indices) const {
  const auto types = TypesAt(scope, indices);
  if (!types) return {};
  InputList inputs = {key, IndicesOf(indices)};
  inputs.insert(inputs.end(), values.begin(), values.end());
  AttrMap attrs = AreaAttrs(attrs_.staging, dtypes_);
  attrs["fake_dtypes"] = *types;
  return AreaScope(scope, name(), "_put")
      .AddNode(attrs_.ordered ? "OrderedMapStage" : "MapStage", inputs,
               std::move(attrs));
}

std::vector<Output> MapStagingArea::Get(
    const Scope& scope, const Input& key,
    const std::vector<int32_t>& indices) const {
  const auto types = TypesAt(scope, indices);
  if (!types) return std::vector<Output>(indices.size());
  const char* op = attrs_.ordered ? "OrderedMapUnstage" : "MapUnstage";
  return AreaOutputs(AreaScope(scope, name(), "_get")
                         .AddNode(op, {key, IndicesOf(indices)},
                                  AreaAttrs(attrs_.staging, *types)),
                     0, types->size());
}

MapStagingArea::KeyAndValues MapStagingArea::GetAny(
    const Scope& scope, const std::vector<int32_t>& indices) const {
  const auto types = TypesAt(scope, indices);
  if (!types) return {Output(), std::vector<Output>(indices.size())};
  const char* op =
      attrs_.ordered ? "OrderedMapUnstageNoKey" : "MapUnstageNoKey";
  const Node* node =
      AreaScope(scope, name(), "_get")
          .AddNode(op, {IndicesOf(indices)}, AreaAttrs(attrs_.staging, *types));
  return {OutputOf(node, 0), AreaOutputs(node, 1, types->size())};
}

std::vector<Output> MapStagingArea::Peek(
    const Scope& scope, const Input& key,
    const std::vector<int32_t>& indices) const {
  const auto types = TypesAt(scope, indices);
  if (!types) return std::vector<Output>(indices.size());
  const char* op = attrs_.ordered ? "OrderedMapPeek" : "MapPeek";
  return AreaOutputs(AreaScope(scope, name(), "_peek")
                         .AddNode(op, {key, IndicesOf(indices)},
                                  AreaAttrs(attrs_.staging, *types)),
                     0, types->size());
}

Output MapStagingArea::Size(const Scope& scope) const {
  return AreaScope(scope, name(), "_size")
      .AddOutput(attrs_.ordered ? "OrderedMapSize" : "MapSize", {},
                 AreaAttrs(attrs_.staging, dtypes_));
}

Output MapStagingArea::IncompleteSize(const Scope& scope) const {
  return AreaScope(scope, name(), "_incomplete_size")
      .AddOutput(
          attrs_.ordered ? "OrderedMapIncompleteSize" : "MapIncompleteSize", {},
          AreaAttrs(attrs_.staging, dtypes_));
}

Operation MapStagingArea::Clear(const Scope& scope) const {
  return AreaScope(scope, name(), "_clear")
      .AddNode(attrs_.ordered ? "OrderedMapClear" : "MapClear", {},
               AreaAttrs(attrs_.staging, dtypes_));
}

Barrier::Barrier(const Scope& scope, const DataTypeVector& types,
                 const std::vector<PartialShape>& shapes,
                 const BarrierAttrs& attrs)
    : types_(types) {
  AttrMap map = {{"component_types", types},
                 {"shapes", shapes},
                 {"shared_name", attrs.shared_name}};
  if (!attrs.container.empty()) map["container"] = attrs.container;
  const Scope named =
      scope.own_name().empty() ? scope.WithName("barrier") : scope;
  handle_ = named.AddOutput("Barrier", {}, std::move(map));
}

Scope Barrier::Named(const Scope& scope, absl::string_view suffix) const {
  if (!handle_ || !scope.own_name().empty()) return scope;
  const std::string& name = handle_.node()->name();
  return scope.WithName(absl::StrCat(name.substr(name.rfind('/') + 1), suffix));
}

Operation Barrier::InsertMany(const Scope& scope, int64_t component_index,
                              const Input& keys, const Input& values) const {
  return Named(scope, "_BarrierInsertMany")
      .AddNode("BarrierInsertMany", {handle_, keys, values},
               {{"component_index", component_index}});
}

Barrier::Elements Barrier::TakeMany(const Scope& scope,
                                    const Input& num_elements,
                                    bool allow_small_batch) const {
  const Node* node = Named(scope, "_BarrierTakeMany")
                         .AddNode("BarrierTakeMany", {handle_, num_elements},
                                  {{"component_types", types_},
                                   {"allow_small_batch", allow_small_batch}});
  return {OutputOf(node, 0), OutputOf(node, 1),
          AreaOutputs(node, 2, types_.size())};
}

Operation Barrier::Close(const Scope& scope,
                         bool cancel_pending_enqueues) const {
  return Named(scope, "_BarrierClose")
      .AddNode("BarrierClose", {handle_},
               {{"cancel_pending_enqueues", cancel_pending_enqueues}});
}

Output Barrier::ReadySize(const Scope& scope) const {
  return Named(scope, "_BarrierReadySize")
      .AddOutput("BarrierReadySize", {handle_});
}

Output Barrier::IncompleteSize(const Scope& scope) const {
  return Named(scope, "_BarrierIncompleteSize")
      .AddOutput("BarrierIncompleteSize", {handle_});
}

}  // namespace weft::ops
