#include "libs/graph/function_loops.h"

#include <algorithm>

#include "libs/graph/function_body.h"

namespace weft {
namespace {

bool IsEnterOp(absl::string_view op) {
  return op == "Enter" || op == "RefEnter";
}
bool IsExitOp(absl::string_view op) { return op == "Exit" || op == "RefExit"; }

absl::string_view FrameName(const FunctionNode& enter) {
  const auto it = enter.attrs.find("frame_name");
  const auto* name =
      it == enter.attrs.end() ? nullptr : it->second.Get<std::string>();
  return name == nullptr ? absl::string_view() : *name;
}

}  // namespace

FunctionLoops::FunctionLoops(const FunctionDef& function) {
  const bool has_loops =
      std::any_of(function.nodes.begin(), function.nodes.end(),
                  [](const FunctionNode& node) { return IsEnterOp(node.op); });
  if (!has_loops) return;
  for (const FunctionNode& node : function.nodes) Add(node);
  FindWhatLeadsToExits(function);
}

void FunctionLoops::FindWhatLeadsToExits(const FunctionDef& function) {
  absl::flat_hash_map<absl::string_view, const FunctionNode*> nodes;
  std::vector<absl::string_view> left;
  for (const FunctionNode& node : function.nodes) {
    nodes[node.name] = &node;
    if (IsExitOp(node.op)) left.push_back(node.name);
  }
  while (!left.empty()) {
    const auto node = nodes.find(left.back());
    left.pop_back();
    if (node == nodes.end() || !leads_to_exits_.insert(node->first).second) {
      continue;
    }
    for (const std::string& input : node->second->inputs) {
      left.push_back(NodeOfInput(input));
    }
  }
}

void FunctionLoops::Add(const FunctionNode& node) {
  Place place;
  for (const std::string& input : node.inputs) {
    // Arguments are outside, and so is what closes a loop when its Merge comes.
    const auto from = places_.find(NodeOfInput(input));
    if (from == places_.end()) continue;
    if (from->second.outputs_depth <= place.depth) continue;
    place.depth = from->second.outputs_depth;
    place.outer = from->second.outer;
  }
  place.outputs_depth = place.depth;
  if (IsEnterOp(node.op)) {
    place.is_enter = true;
    if (place.outputs_depth++ == 0) place.outer = FrameName(node);
  } else if (IsExitOp(node.op) && place.depth > 0) {
    if (--place.outputs_depth == 0) exits_[place.outer].push_back(node.name);
  } else if (node.op == "Const" && node.inputs.empty()) {
    free_constants_.insert(node.name);
  }
  if (place.depth > 0) {
    for (const std::string& input : node.inputs) {
      const absl::string_view from = NodeOfInput(input);
      if (free_constants_.contains(from)) constants_of_loops_.insert(from);
    }
  }
  places_.emplace(node.name, place);
}

int FunctionLoops::Depth(absl::string_view node) const {
  const auto it = places_.find(node);
  return it == places_.end() ? 0 : it->second.depth;
}

bool FunctionLoops::IsOuterEnter(absl::string_view node) const {
  const auto it = places_.find(node);
  return it != places_.end() && it->second.is_enter && it->second.depth == 0;
}

const std::vector<std::string>& FunctionLoops::ExitsAround(
    absl::string_view node) const {
  static const auto& none = *new std::vector<std::string>;
  const auto place = places_.find(node);
  if (place == places_.end() || place->second.depth == 0) return none;
  const auto exits = exits_.find(place->second.outer);
  return exits == exits_.end() ? none : exits->second;
}

}  // namespace weft
