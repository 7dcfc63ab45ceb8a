#include "libs/train/saving/saver_defs.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "schemas/tf/meta_graph.pb.h"
#include "schemas/tf/saver.pb.h"

namespace weft::train {
namespace {

// Returns the contents of a collection that a MetaGraph holds as bytes.
absl::StatusOr<tf::CollectionDef> Collection(const GraphState& state) {
  tf::CollectionDef def;
  const auto found = state.foreign_collections.find(collection::kSavers);
  if (found == state.foreign_collections.end()) return def;
  if (def.ParseFromString(found->second) &&
      (def.has_bytes_list() ||
       def.kind_case() == tf::CollectionDef::KIND_NOT_SET)) {
    return def;
  }
  return absl::InvalidArgumentError(
      "collection 'savers' does not hold SaverDefs");
}

}  // namespace

absl::StatusOr<SaverDef> ReadSaverDef(const tf::SaverDef& message) {
  if (message.version() != tf::SaverDef::LEGACY &&
      message.version() != tf::SaverDef::V1 &&
      message.version() != tf::SaverDef::V2) {
    return absl::UnimplementedError(
        absl::StrCat("the MetaGraphDef's saver writes checkpoints of version ",
                     static_cast<int>(message.version()),
                     ", which is not supported: save with "
                     "tf.train.Saver(write_version=tf.train.SaverDef.V2)"));
  }
  if (message.filename_tensor_name().empty() ||
      message.save_tensor_name().empty() || message.restore_op_name().empty()) {
    return absl::InvalidArgumentError(
        "saver_def must specify the filename_tensor_name, the "
        "save_tensor_name and the restore_op_name");
  }
  return SaverDef{message.filename_tensor_name(),
                  message.save_tensor_name(),
                  message.restore_op_name(),
                  message.max_to_keep(),
                  message.sharded(),
                  message.keep_checkpoint_every_n_hours(),
                  message.version() != tf::SaverDef::V2};
}

void WriteSaverDef(const SaverDef& def, tf::SaverDef* message) {
  message->set_filename_tensor_name(def.filename_tensor_name);
  message->set_save_tensor_name(def.save_tensor_name);
  message->set_restore_op_name(def.restore_op_name);
  message->set_max_to_keep(def.max_to_keep);
  message->set_sharded(def.sharded);
  message->set_keep_checkpoint_every_n_hours(def.keep_checkpoint_every_n_hours);
  message->set_version(def.writes_v1 ? tf::SaverDef::V1 : tf::SaverDef::V2);
}

absl::StatusOr<std::vector<SaverDef>> CollectedSavers(const Scope& scope) {
  ASSIGN_OR_RETURN(const tf::CollectionDef def, Collection(scope.state()));
  std::vector<SaverDef> savers;
  for (const std::string& bytes : def.bytes_list().value()) {
    tf::SaverDef message;
    if (!message.ParseFromString(bytes)) {
      return absl::InvalidArgumentError(
          "collection 'savers' contains an item that is not a SaverDef");
    }
    ASSIGN_OR_RETURN(SaverDef saver, ReadSaverDef(message));
    savers.push_back(std::move(saver));
  }
  return savers;
}

void CollectSaver(const Scope& scope, const SaverDef& def) {
  if (!scope.ok()) return;
  auto savers = Collection(scope.state());
  if (!savers.ok()) return scope.UpdateStatus(savers.status());
  tf::SaverDef message;
  WriteSaverDef(def, &message);
  savers->mutable_bytes_list()->add_value(message.SerializeAsString());
  scope.state().foreign_collections[std::string(collection::kSavers)] =
      savers->SerializeAsString();
}

}  // namespace weft::train
