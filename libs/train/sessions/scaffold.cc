#include "libs/train/sessions/scaffold.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/group.h"
#include "libs/ops/state/variable.h"
#include "libs/ops/summary/summary_ops.h"
#include "libs/train/saving/saver_defs.h"
#include "libs/train/sessions/report_uninitialized.h"

namespace weft::train {
namespace {

// Returns the only item of a collection, which provides the option; null if it
// is empty.
template <typename Item>
absl::StatusOr<Item> OnlyItem(const std::vector<Item>& items,
                              absl::string_view collection,
                              absl::string_view option) {
  if (items.empty()) return Item();
  if (items.size() == 1) return items[0];
  return absl::InvalidArgumentError(absl::StrCat(
      "More than one item in the collection \"", collection,
      "\". Please indicate which one to use by passing it to the Scaffold: "
      "ScaffoldOptions::",
      option));
}

std::vector<Output> Items(const Scope& scope, absl::string_view collection,
                          const Output&) {
  return scope.GetCollection(collection);
}

std::vector<Operation> Items(const Scope& scope, absl::string_view collection,
                             const Operation&) {
  return scope.GetOperations(collection);
}

// Returns the given value, or else the collection's, or else the result of
// `make`, which is added to the collection.
template <typename Item, typename Make>
absl::Status GetOrMake(const Scope& scope, absl::string_view collection,
                       Item& item, Make make) {
  if (item) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      item, OnlyItem(Items(scope, collection, item), collection, collection));
  if (item) return absl::OkStatus();
  item = make();
  scope.AddToCollection(collection, item);
  return absl::OkStatus();
}

// Whether a Scaffold created it, here, earlier, or in TensorFlow. A graph from
// a file may use that name for other nodes.
bool IsReport(const Output& ready_op) {
  return ready_op && ready_op.dtype() == DT_STRING &&
         absl::StrContains(ready_op.name(), "report_uninitialized_variables");
}

Operation InitOp(const Scope& scope,
                 const std::vector<ops::Variable>& variables,
                 const VariableInitializers& instead) {
  std::vector<Operation> all;
  for (const ops::Variable& variable : variables) {
    const auto other = instead.find(variable.handle().node());
    all.push_back(other == instead.end() ? variable.initializer()
                                         : other->second);
  }
  return ops::Group(scope, {ops::Group(scope, all, "init")});
}

}  // namespace

Scaffold::Scaffold(ScaffoldOptions options) : options_(std::move(options)) {}

Operation Scaffold::DefaultLocalInitOp(const Scope& scope) {
  std::vector<Operation> all =
      scope.GetOperations(collection::kTableInitializers);
  all.insert(all.begin(), ops::LocalVariablesInitializer(scope));
  return ops::Group(scope, all);
}

absl::Status Scaffold::Finalize(const Scope& scope) {
  if (is_finalized_) return absl::OkStatus();
  RETURN_IF_ERROR(scope.status());
  RETURN_IF_ERROR(FindOrMake(scope.ReenterScope("")));
  RETURN_IF_ERROR(scope.status());
  is_finalized_ = true;
  return absl::OkStatus();
}

absl::Status Scaffold::SetInitializers(VariableInitializers initializers) {
  if (options_.init_op && !initializers.empty()) {
    return absl::InvalidArgumentError(
        "A Scaffold with an init_op of its own does not go by initializers of "
        "variables, as those of a warm start; leave init_op out.");
  }
  options_.initializers = std::move(initializers);
  return absl::OkStatus();
}

void Scaffold::SetDefaultSaverOptions(SaverOptions options) {
  if (is_finalized_ || options_.saver != nullptr || options_.saver_options) {
    return;
  }
  options_.saver_options = std::move(options);
}

absl::Status Scaffold::FindOrMake(const Scope& scope) {
  const std::vector<ops::Variable> variables = ops::GlobalVariables(scope);
  RETURN_IF_ERROR(GetOrMake(scope, "init_op", options_.init_op, [&] {
    return InitOp(scope, variables, options_.initializers);
  }));
  RETURN_IF_ERROR(GetOrMake(scope, "ready_op", options_.ready_op, [&] {
    return ReportUninitializedVariables(scope);
  }));
  const bool is_given{options_.ready_for_local_init_op};
  RETURN_IF_ERROR(GetOrMake(
      scope, "ready_for_local_init_op", options_.ready_for_local_init_op,
      [&] { return ReportUninitializedVariables(scope, variables); }));
  waits_for_variables_ =
      !is_given && IsReport(options_.ready_for_local_init_op);
  RETURN_IF_ERROR(GetOrMake(scope, "local_init_op", options_.local_init_op,
                            [&] { return DefaultLocalInitOp(scope); }));
  RETURN_IF_ERROR(GetOrMake(scope, "summary_op", options_.summary_op,
                            [&] { return ops::MergeAllSummaries(scope); }));
  if (options_.saver != nullptr) return absl::OkStatus();
  return FindOrMakeSaver(scope);
}

absl::Status Scaffold::FindOrMakeSaver(const Scope& scope) {
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(const std::vector<SaverDef> savers, CollectedSavers(scope));
  ASSIGN_OR_RETURN(const SaverDef def,
                   OnlyItem(savers, collection::kSavers, "saver"));
  if (!savers.empty()) {
    ASSIGN_OR_RETURN(options_.saver, Saver::FromSaverDef(scope, def));
    return absl::OkStatus();
  }
  if (ops::GlobalVariables(scope).empty()) return absl::OkStatus();
  SaverOptions saver_options;
  saver_options.sharded = true;
  if (options_.saver_options) saver_options = *options_.saver_options;
  auto saver = std::make_shared<Saver>(scope, std::move(saver_options));
  RETURN_IF_ERROR(scope.status());
  options_.saver = std::move(saver);
  CollectSaver(scope, options_.saver->def());
  return absl::OkStatus();
}

}  // namespace weft::train
