#include "libs/passes/variable_saving.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/passes/node_kinds.h"

namespace weft {
namespace {

constexpr int kFirstSavedTensor = 3;

// By node id: the current number of edges and control edges that begin at the
// node.
std::vector<int> CountUses(const GraphRewrite& rewrite) {
  std::vector<int> uses(rewrite.graph().num_nodes(), 0);
  for (const Node* node : rewrite.graph().nodes()) {
    if (rewrite.IsGone(*node)) continue;
    for (int i = 0; i < rewrite.NumInputs(*node); ++i) {
      const OutputTensor input = rewrite.Input(*node, i);
      if (input.node != nullptr) ++uses[input.node->id()];
    }
    for (const Node* control : rewrite.ControlInputs(*node)) {
      ++uses[control->id()];
    }
  }
  return uses;
}

bool HasReferenceOn(const Node& node, const OutputTensor& output) {
  return IsRefType(output.node->output_type(output.index)) &&
         output.node->assigned_device() == node.assigned_device();
}

std::string TextAttr(const Node& node, absl::string_view name) {
  const auto* text = node.attr<std::string>(name);
  return text == nullptr ? std::string() : *text;
}

// The replacement of a save, or of a node that marks the variables for one.
class SaveReplacement {
 public:
  // The tensors are the node's inputs from `first` on. `takes_mark`: it writes
  // the marked values, and reads none of the tensors.
  SaveReplacement(const GraphRewrite& rewrite, const std::vector<int>& uses,
                  const Node& save, int first, bool takes_mark)
      : rewrite_(rewrite),
        uses_(uses),
        save_(save),
        first_(first),
        takes_mark_(takes_mark) {
    for (int i = first; i < save.num_inputs(); ++i) {
      Add(rewrite.Input(save, i));
    }
  }

  bool HasVariables() const {
    return !references_.empty() || !handles_.empty();
  }

  // `attrs` are those that only `op` has.
  void Note(GraphRewrite& rewrite, const std::string& op, AttrMap attrs) && {
    GraphRewrite::Replacement replacement;
    replacement.op = op;
    for (int i = 0; i < first_; ++i) {
      replacement.inputs.push_back(rewrite.Input(save_, i));
    }
    for (const auto* sources : {&values_, &references_, &handles_}) {
      absl::c_copy(*sources, std::back_inserter(replacement.inputs));
    }
    replacement.more_controls = std::move(controls_);
    replacement.attrs = Attrs();
    replacement.attrs.insert(attrs.begin(), attrs.end());
    rewrite.Replace(save_, std::move(replacement));
    for (const Node* read : reads_) rewrite.Remove(*read);
  }

 private:
  using Sources = std::vector<OutputTensor>;

  // The origin of a tensor: `index` of one of the lists.
  struct Source {
    const Sources* list;
    size_t index;
  };

  void Add(const OutputTensor& from) {
    if (HasReferenceOn(save_, from)) {
      Add(references_, from);
    } else if (IsReadForUs(from)) {
      const Node& read = *from.node;
      handle_dtypes_.push_back(read.output_type(0));
      reads_.push_back(&read);
      absl::c_copy(rewrite_.ControlInputs(read), std::back_inserter(controls_));
      Add(handles_, rewrite_.Input(read, 0));
    } else if (takes_mark_ && IsStateForUs(from)) {
      // The pipeline would stop for a state that is not written.
      reads_.push_back(from.node);
      absl::c_copy(rewrite_.ControlInputs(*from.node),
                   std::back_inserter(controls_));
    } else {
      Add(values_, from);
    }
  }
  void Add(Sources& list, const OutputTensor& from) {
    sources_.push_back({&list, list.size()});
    list.push_back(from);
  }

  bool IsReadForUs(const OutputTensor& from) const {
    const Node& read = *from.node;
    if (read.type() != "ReadVariableOp" || uses_[read.id()] != 1) return false;
    if (read.assigned_device() != save_.assigned_device()) return false;
    const OutputTensor handle = rewrite_.Input(read, 0);
    return handle.node != nullptr && !IsControlFlow(*handle.node) &&
           handle.node->assigned_device() == save_.assigned_device();
  }

  bool IsStateForUs(const OutputTensor& from) const {
    return from.node->type() == "SerializeIterator" &&
           uses_[from.node->id()] == 1;
  }

  AttrMap Attrs() const {
    std::vector<int64_t> order;
    for (const Source& source : sources_) {
      size_t before = 0;
      if (source.list != &values_) before += values_.size();
      if (source.list == &handles_) before += references_.size();
      order.push_back(static_cast<int64_t>(before + source.index));
    }
    const auto types = [](const Sources& sources) {
      DataTypeVector result;
      for (const OutputTensor& source : sources) {
        result.push_back(RemoveRefType(source.node->output_type(source.index)));
      }
      return result;
    };
    return {{"dtypes", types(values_)},
            {"reference_dtypes", types(references_)},
            {"N", static_cast<int64_t>(handles_.size())},
            {"handle_dtypes", handle_dtypes_},
            {"order", order},
            {"snapshot_groups", Groups()}};
  }

  std::vector<int64_t> Groups() const {
    const auto* groups = save_.attr<std::vector<int64_t>>("_snapshot_groups");
    if (groups != nullptr && groups->size() == sources_.size()) return *groups;
    std::vector<int64_t> alone;
    for (size_t i = 0; i < sources_.size(); ++i) {
      alone.push_back(static_cast<int64_t>(i));
    }
    return alone;
  }

  const GraphRewrite& rewrite_;
  const std::vector<int>& uses_;
  const Node& save_;
  const int first_;
  const bool takes_mark_;
  Sources values_;
  Sources references_;
  Sources handles_;
  DataTypeVector handle_dtypes_;
  std::vector<Source> sources_;     // by position among the saved tensors
  std::vector<const Node*> reads_;  // no longer needed
  std::vector<const Node*> controls_;
};

int64_t NumberAttr(const Node& node, absl::string_view name) {
  const auto* number = node.attr<int64_t>(name);
  return number == nullptr ? 0 : *number;
}

bool IsSave(const Node* node) { return node->type() == "SaveV2"; }
bool IsMark(const Node* node) {
  return node->type() == "IdentityN" && !TextAttr(*node, "_marks").empty();
}

// Returns whether a node takes one of its tensors; nodes that only wait for it
// do not count.
bool IsTaken(const GraphRewrite& rewrite, const Node& node) {
  for (const Node* other : rewrite.graph().nodes()) {
    if (rewrite.IsGone(*other)) continue;
    for (int i = 0; i < rewrite.NumInputs(*other); ++i) {
      if (rewrite.Input(*other, i).node == &node) return true;
    }
  }
  return false;
}

// Returns "_7_save/mark", which a client cannot use.
std::string MarkName(const std::string& scope, const std::string& mark) {
  return mark.empty() ? mark : absl::StrCat("_", scope, "_", mark);
}

}  // namespace

void SaveFromSnapshots(GraphRewrite& rewrite, const std::string& scope) {
  const auto is_either = [](const Node* node) {
    return IsSave(node) || IsMark(node);
  };
  if (absl::c_none_of(rewrite.graph().nodes(), is_either)) return;
  const std::vector<int> uses = CountUses(rewrite);
  for (const Node* node : rewrite.graph().nodes()) {
    if (IsSave(node)) {
      const std::string mark = MarkName(scope, TextAttr(*node, "_saves_mark"));
      SaveReplacement replacement(rewrite, uses, *node, kFirstSavedTensor,
                                  /*takes_mark=*/!mark.empty());
      if (!replacement.HasVariables() && mark.empty()) continue;
      std::move(replacement)
          .Note(rewrite, "_SaveVariables",
                {{"mark", mark},
                 {"max_bytes_per_second",
                  NumberAttr(*node, "_max_bytes_per_second")}});
    } else if (IsMark(node) && !IsTaken(rewrite, *node)) {
      SaveReplacement(rewrite, uses, *node, 0, /*takes_mark=*/false)
          .Note(
              rewrite, "_MarkVariables",
              {{"mark", MarkName(scope, TextAttr(*node, "_marks"))},
               {"max_hold_micros",
                std::max(NumberAttr(*node, "_max_hold_micros"), int64_t{0})}});
    }
  }
}

}  // namespace weft
