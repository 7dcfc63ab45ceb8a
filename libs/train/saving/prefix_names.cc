#include "libs/train/saving/prefix_names.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/scope.h"
#include "schemas/tf/control_flow.pb.h"
#include "schemas/tf/meta_graph.pb.h"
#include "schemas/tf/queue_runner.pb.h"
#include "schemas/tf/variable.pb.h"

namespace weft::train {
namespace {

// Prefixer adds a prefix to names, in place.
class Prefixer {
 public:
  explicit Prefixer(absl::string_view prefix) : prefix_(prefix) {}

  void Change(std::string* name) const { *name = PrefixName(prefix_, *name); }

  template <typename Names>
  void ChangeAll(Names* names) const {
    for (std::string& name : *names) Change(&name);
  }

  void Change(tf::SaverDef* def) const {
    Change(def->mutable_filename_tensor_name());
    Change(def->mutable_save_tensor_name());
    Change(def->mutable_restore_op_name());
  }

  void Change(tf::QueueRunnerDef* def) const {
    Change(def->mutable_queue_name());
    ChangeAll(def->mutable_enqueue_op_name());
    Change(def->mutable_close_op_name());
    Change(def->mutable_cancel_op_name());
  }

  void Change(tf::CondContextDef* def) const {
    Change(def->mutable_context_name());
    Change(def->mutable_pred_name());
    Change(def->mutable_pivot_name());
    Change(def->mutable_values_def());
    for (auto& nested : *def->mutable_nested_contexts()) Change(&nested);
  }

  void Change(tf::WhileContextDef* def) const {
    Change(def->mutable_context_name());
    Change(def->mutable_pivot_name());
    Change(def->mutable_pivot_for_pred_name());
    Change(def->mutable_pivot_for_body_name());
    ChangeAll(def->mutable_loop_exit_names());
    ChangeAll(def->mutable_loop_enter_names());
    Change(def->mutable_values_def());
    Change(def->mutable_maximum_iterations_name());
    for (auto& nested : *def->mutable_nested_contexts()) Change(&nested);
  }

 private:
  void Change(tf::ValuesDef* def) const {
    ChangeAll(def->mutable_values());
    const std::map<std::string, std::string> external(
        def->external_values().begin(), def->external_values().end());
    def->clear_external_values();
    for (const auto& [inside, outside] : external) {
      (*def->mutable_external_values())[PrefixName(prefix_, inside)] =
          PrefixName(prefix_, outside);
    }
  }

  // The recursion is safe because protobuf's parser limits the nesting depth.
  void Change(tf::ControlFlowContextDef* def) const {
    if (def->has_cond_ctxt()) Change(def->mutable_cond_ctxt());
    if (def->has_while_ctxt()) Change(def->mutable_while_ctxt());
  }

  const std::string prefix_;
};

template <typename Message>
absl::Status PrefixMessages(absl::string_view collection,
                            absl::string_view prefix, tf::CollectionDef* def) {
  if (!def->has_bytes_list()) return absl::OkStatus();
  const Prefixer prefixer(prefix);
  for (std::string& bytes : *def->mutable_bytes_list()->mutable_value()) {
    Message message;
    if (!message.ParseFromString(bytes)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "collection '", collection, "' contains an item that is not a ",
          message.GetTypeName().substr(sizeof("weft.tf"))));
    }
    prefixer.Change(&message);
    bytes = message.SerializeAsString();
  }
  return absl::OkStatus();
}

}  // namespace

std::string PrefixName(absl::string_view prefix, absl::string_view name) {
  if (prefix.empty() || name.empty()) return std::string(name);
  return absl::StrCat(prefix, "/", name);
}

void PrefixNames(absl::string_view prefix, tf::VariableDef* def) {
  const Prefixer prefixer(prefix);
  prefixer.Change(def->mutable_variable_name());
  prefixer.Change(def->mutable_initializer_name());
  prefixer.Change(def->mutable_snapshot_name());
  prefixer.Change(def->mutable_initial_value_name());
  if (def->has_save_slice_info_def()) {
    prefixer.Change(def->mutable_save_slice_info_def()->mutable_full_name());
  }
}

absl::Status PrefixNames(absl::string_view name, absl::string_view prefix,
                         tf::CollectionDef* def) {
  if (prefix.empty()) return absl::OkStatus();
  if (name == collection::kQueueRunners) {
    return PrefixMessages<tf::QueueRunnerDef>(name, prefix, def);
  }
  if (name == collection::kSavers) {
    return PrefixMessages<tf::SaverDef>(name, prefix, def);
  }
  if (name == collection::kCondContext) {
    return PrefixMessages<tf::CondContextDef>(name, prefix, def);
  }
  if (name == collection::kWhileContext) {
    return PrefixMessages<tf::WhileContextDef>(name, prefix, def);
  }
  return absl::OkStatus();
}

}  // namespace weft::train
