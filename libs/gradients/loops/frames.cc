#include "libs/gradients/loops/frames.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

bool ComesBefore(const Branch& a, const Branch& b) {
  const int a_id = a.pred.node->id(), b_id = b.pred.node->id();
  if (a_id != b_id) return a_id < b_id;
  if (a.pred.index != b.pred.index) return a.pred.index < b.pred.index;
  return a.taken < b.taken;
}

void Insert(Conditions& conditions, const Branch& branch) {
  const auto at = std::lower_bound(conditions.begin(), conditions.end(), branch,
                                   ComesBefore);
  if (at == conditions.end() || *at != branch) conditions.insert(at, branch);
}

// The conjunction of both.
void Add(std::optional<Conditions>& all,
         const std::optional<Conditions>& others) {
  if (!all) return;
  if (!others) {
    all.reset();
    return;
  }
  for (const Branch& branch : *others) Insert(*all, branch);
}

Conditions Without(const Conditions& conditions, const Branch& branch) {
  Conditions rest;
  for (const Branch& one : conditions) {
    if (one != branch) rest.push_back(one);
  }
  return rest;
}

// The disjunction of both: their common conditions, if they differ only in the
// direction of one Switch.
std::optional<Conditions> Either(const std::optional<Conditions>& a,
                                 const std::optional<Conditions>& b) {
  if (!a || !b) return std::nullopt;
  if (*a == *b) return a;
  for (const Branch& branch : *a) {
    const Branch other = {branch.pred, 1 - branch.taken};
    if (!absl::c_linear_search(*b, other)) continue;
    Conditions rest = Without(*a, branch);
    if (rest == Without(*b, other)) return rest;
  }
  return std::nullopt;
}

// The terms of a disjunction; `preds` are not taken apart. Empty if there are
// more terms than preds.
std::vector<OutputTensor> TermsOfOr(const OutputTensor& output,
                                    const std::vector<OutputTensor>& preds) {
  std::vector<OutputTensor> terms;
  std::vector<OutputTensor> open = {output};
  while (!open.empty() && terms.size() + open.size() <= preds.size()) {
    const OutputTensor one = WithoutIdentities(open.back());
    open.pop_back();
    if (one.node->type() == "LogicalOr" && !absl::c_linear_search(preds, one)) {
      open.insert(open.end(), one.node->inputs().begin(),
                  one.node->inputs().end());
    } else {
      terms.push_back(one);
    }
  }
  if (!open.empty()) terms.clear();
  return terms;
}

// Returns whether one of the preds always holds: the last is the negation of
// the disjunction of all others, as in a Case
// (libs/graph/functions/function_expander.h).
bool AreExhaustive(const std::vector<OutputTensor>& preds) {
  const Node& last = *preds.back().node;
  if (last.type() != "LogicalNot") return false;
  const std::vector<OutputTensor> terms = TermsOfOr(last.input(0), preds);
  return terms.size() + 1 == preds.size() &&
         std::all_of(preds.begin(), preds.end() - 1,
                     [&terms](const OutputTensor& pred) {
                       return absl::c_linear_search(terms, pred);
                     });
}

// The disjunction of all: their common conditions, if each has one more
// condition and the preds of these are those of a Case.
std::optional<Conditions> OneOfCase(
    const std::vector<std::optional<Conditions>>& all) {
  Conditions common;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) return std::nullopt;
    if (i == 0) common = *all[i];
    std::erase_if(common, [&](const Branch& branch) {
      return !absl::c_linear_search(*all[i], branch);
    });
  }
  std::vector<OutputTensor> preds;
  for (const auto& conditions : all) {
    if (conditions->size() != common.size() + 1) return std::nullopt;
    for (const Branch& branch : *conditions) {
      if (absl::c_linear_search(common, branch)) continue;
      if (branch.taken != 1) return std::nullopt;
      preds.push_back(branch.pred);
    }
  }
  if (preds.size() != all.size() || !AreExhaustive(preds)) return std::nullopt;
  return common;
}

absl::Status NoSuchLoop(const Node& node, absl::string_view what) {
  return absl::UnimplementedError(
      absl::StrCat("Gradients through a loop that is not of the form of "
                   "tf.while_loop (ops::WhileLoop) are not supported: node '",
                   node.name(), "' (op type: ", node.type(), ") ", what));
}

}  // namespace

OutputTensor WithoutIdentities(OutputTensor output) {
  while (output.node->type() == "Identity" ||
         output.node->type() == "RefIdentity") {
    output = output.node->input(0);
  }
  return output;
}

bool IsLoopSwitch(const Node& node) {
  return IsSwitch(node) && IsLoopCond(*WithoutIdentities(node.input(1)).node);
}

bool IsLoopMerge(const Node& node) {
  return IsMerge(node) &&
         absl::c_any_of(node.inputs(), [](const OutputTensor& input) {
           return input.node == nullptr || IsNextIteration(*input.node);
         });
}

absl::Status Frames::Update() {
  for (int id = tracker_.num_nodes(); id < graph_.num_nodes(); ++id) {
    const Node& node = *graph_.node(id);
    RETURN_IF_ERROR(tracker_.Add(node, IsFreeConstant(node)));
    runs_.push_back(ConditionsToRun(node));
    const auto frame = static_cast<size_t>(OutputsTo(node));
    if (IsEnter(node) && frame >= loop_conditions_.size()) {
      loop_conditions_.push_back(runs_.back());
    }
  }
  return absl::OkStatus();
}

bool Frames::IsWithin(int frame, int ancestor) const {
  while (frame > ancestor) frame = Parent(frame);
  return frame == ancestor;
}

std::optional<Conditions> Frames::ConditionsOf(
    const OutputTensor& output) const {
  const Node& node = *output.node;
  std::optional<Conditions> conditions = ConditionsOfNode(node);
  if (conditions && IsSwitch(node) && !IsLoopSwitch(node)) {
    Insert(*conditions, {WithoutIdentities(node.input(1)), output.index});
  }
  return conditions;
}

std::optional<Conditions> Frames::ConditionsOfNode(const Node& node) const {
  // In its own frame, an Enter runs in every iteration.
  if (IsFreeConstant(node) || IsEnter(node)) return Conditions();
  if (IsExit(node)) return ConditionsOfLoop(RunsIn(node));
  return runs_[node.id()];
}

std::optional<Conditions> Frames::ConditionsToRun(const Node& node) const {
  if (IsMerge(node)) return WhenMergeRuns(node);
  std::optional<Conditions> all = Conditions();
  if (node.type() == "ControlTrigger") return all;
  for (const OutputTensor& input : node.inputs()) Add(all, ConditionsOf(input));
  for (const Node* input : node.control_inputs()) {
    Add(all, ConditionsOfNode(*input));
  }
  return all;
}

std::optional<Conditions> Frames::WhenMergeRuns(const Node& merge) const {
  if (IsLoopMerge(merge)) return Conditions();
  std::vector<std::optional<Conditions>> all;
  for (const OutputTensor& input : merge.inputs()) {
    all.push_back(ConditionsOf(input));
  }
  std::optional<Conditions> one = all[0];
  for (size_t i = 1; i < all.size(); ++i) one = Either(one, all[i]);
  return one ? one : OneOfCase(all);
}

absl::StatusOr<LoopParts> Frames::PartsOf(int frame) const {
  LoopParts parts;
  parts.frame = frame;
  parts.name = Name(frame);
  parts.parallel_iterations = analysis().frames[frame].parallel_iterations;
  // Each is found from the previous one: an Exit from its Switch, and that from
  // its Merge.
  for (const Node* node : graph_.nodes()) {
    if (node->id() < tracker_.num_nodes() && LoopOf(*node) == frame) {
      RETURN_IF_ERROR(AddToParts(*node, parts));
    }
  }
  if (parts.loop_cond == nullptr || parts.variables.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("loop '", parts.name,
                     "' has no LoopCond or no variable with a "
                     "NextIteration"));
  }
  return parts;
}

absl::Status Frames::AddToParts(const Node& node, LoopParts& parts) const {
  if (IsConstantEnter(node)) {
    parts.invariants.push_back(&node);
  } else if (IsLoopCond(node)) {
    // Variables with different loop conditions have no common iteration count.
    if (parts.loop_cond != nullptr) {
      return NoSuchLoop(node, "is not the only one of its loop");
    }
    parts.loop_cond = &node;
  } else if (IsLoopMerge(node)) {
    LoopVariable variable = {.merge = &node};
    for (const OutputTensor& input : node.inputs()) {
      if (input.node == nullptr) return NoSuchLoop(node, "is not closed yet");
      (IsEnter(*input.node) ? variable.enter : variable.next_iteration) =
          input.node;
    }
    if (variable.enter == nullptr || variable.next_iteration == nullptr ||
        node.num_inputs() != 2) {
      return NoSuchLoop(node, "has no Enter and NextIteration");
    }
    parts.variables.push_back(std::move(variable));
  } else if (IsLoopSwitch(node)) {
    const Node* from = WithoutIdentities(node.input(0)).node;
    for (LoopVariable& variable : parts.variables) {
      if (variable.merge == from) variable.to_body = &node;
    }
  } else if (IsExit(node)) {
    return AddExit(node, parts);
  }
  return absl::OkStatus();
}

absl::Status Frames::AddExit(const Node& exit, LoopParts& parts) {
  const OutputTensor from = WithoutIdentities(exit.input(0));
  if (IsLoopSwitch(*from.node) && from.index == 0) {
    const Node* merge = WithoutIdentities(from.node->input(0)).node;
    for (LoopVariable& variable : parts.variables) {
      if (variable.merge != merge) continue;
      variable.exits.push_back(&exit);
      return absl::OkStatus();
    }
  }
  return NoSuchLoop(exit, "does not give a loop variable");
}

}  // namespace weft
