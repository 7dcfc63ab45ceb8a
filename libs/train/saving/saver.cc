#include "libs/train/saving/saver.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/cluster/device_name.h"
#include "libs/fs/path.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/io/restore_attrs.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/string/string_ops.h"
#include "libs/train/optimizers/slot_keys.h"

namespace weft::train {
namespace {

using ops::Variable;

// Name of the node that marks all variables that a save with
// SaveConsistency::kStep saves. (The task captures the values that marked
// variables have at that time.)
constexpr char kMarkName[] = "mark_all";
// Interval at which a waiting save checks whether its session still exists.
constexpr absl::Duration kWaitAtOnce = absl::Seconds(1);
// Maximum number of failed deletions that are remembered and retried.
constexpr size_t kMaxToDelete = 20;
// Maximum max_hold that a task accepts.
constexpr absl::Duration kLongestHold = absl::Minutes(4);

// Saveable is one tensor of a checkpoint, or one slice of a tensor. It is the
// value of a variable or, if `iterator` is not null, the state of an iterator.
struct Saveable {
  std::string name;
  std::string shape_and_slice;  // empty: the whole tensor
  Variable variable;
  Output iterator = {};
  // Other names under which checkpoints may contain the tensor (slot_keys.h).
  std::vector<std::string> other_names = {};

  const Node* node() const {
    return iterator ? iterator.node() : variable.handle().node();
  }
};

bool IsIterator(const Saveable& saveable) {
  return static_cast<bool>(saveable.iterator);
}

// Checks that only slices of the same tensor share a name. `saveables` are
// sorted by name.
absl::Status CheckNames(const std::vector<Saveable>& saveables) {
  absl::flat_hash_set<absl::string_view> slices;
  for (size_t i = 0; i < saveables.size(); ++i) {
    const Saveable& saveable = saveables[i];
    if (i == 0 || saveable.name != saveables[i - 1].name) slices.clear();
    const bool is_first = slices.insert(saveable.shape_and_slice).second;
    if (is_first && (slices.size() == 1 || !slices.contains(""))) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "At least two variables have the same name: ", saveable.name));
  }
  return absl::OkStatus();
}

// Returns the iterators to save. As in TensorFlow, their names in a checkpoint
// are the handle's name and a suffix.
absl::StatusOr<std::vector<Saveable>> FindIterators(const Scope& scope,
                                                    const SaverOptions& options,
                                                    bool takes_all) {
  std::vector<Output> iterators;
  for (const ops::Iterator& iterator : options.iterators) {
    iterators.push_back(iterator.resource());
  }
  if (takes_all && iterators.empty()) {
    iterators = scope.GetCollection(collection::kSaveableIterators);
  }
  std::vector<Saveable> saveables;
  for (const Output& iterator : iterators) {
    if (!iterator || iterator.dtype() != DT_RESOURCE) {
      return absl::InvalidArgumentError(
          "an iterator to save is null or not an iterator");
    }
    if (absl::StartsWith(iterator.node()->type(), "IteratorFromStringHandle")) {
      return absl::InvalidArgumentError(absl::StrCat(
          "iterator '", iterator.node()->name(),
          "' is a handle of another iterator and has no position to save; "
          "name that one"));
    }
    saveables.push_back({.name = absl::StrCat(iterator.node()->name(), ":",
                                              iterator.index(), "_STATE"),
                         .shape_and_slice = "",
                         .variable = {},
                         .iterator = iterator});
  }
  return saveables;
}

// Returns the other names of a slot that is saved as a slice of `key`.
std::vector<std::string> OtherNamesOf(const VariableStore& store,
                                      const Variable& slot,
                                      const std::string& key) {
  const auto primary = store.primaries.find(slot.handle().node());
  if (primary == store.primaries.end()) return {};
  const auto part = store.slices.find(primary->second);
  if (part == store.slices.end()) return {};
  return OtherKeys(
      KeysOfSlot(part->second.full_name, primary->second->name(), slot.name()),
      key);
}

// Returns the saveables sorted by name. Slices of the same tensor are in their
// order.
absl::StatusOr<std::vector<Saveable>> FindSaveables(
    const Scope& scope, const SaverOptions& options) {
  const VariableStore& store = VariableStore::Of(scope);
  const auto& slices = store.slices;
  auto list = options.var_list;
  const bool takes_all = list.empty() && options.iterators.empty();
  ASSIGN_OR_RETURN(std::vector<Saveable> saveables,
                   FindIterators(scope, options, takes_all));
  if (takes_all) {
    for (const char* collection : {"variables", "saveable_objects"}) {
      for (const Variable& variable : ops::GetVariables(scope, collection)) {
        list.emplace_back("", variable);
      }
    }
  }
  if (list.empty() && saveables.empty()) {
    return absl::InvalidArgumentError("No variables to save");
  }
  for (const auto& [name, variable] : list) {
    if (!variable) {
      return absl::InvalidArgumentError(
          absl::StrCat("a variable to save is null: '", name, "'"));
    }
    Saveable saveable = {.name = name.empty() ? variable.name() : name,
                         .shape_and_slice = "",
                         .variable = variable};
    const auto slice = slices.find(variable.handle().node());
    if (slice != slices.end()) {
      if (name.empty()) {
        saveable.name = slice->second.full_name;
        saveable.other_names = OtherNamesOf(store, variable, saveable.name);
      }
      saveable.shape_and_slice = checkpoint::FormatShapeAndSlice(
          slice->second.full_shape, slice->second.offset,
          variable.shape().ToShape());
    }
    saveables.push_back(std::move(saveable));
  }
  std::stable_sort(
      saveables.begin(), saveables.end(),
      [](const auto& a, const auto& b) { return a.name < b.name; });
  RETURN_IF_ERROR(CheckNames(saveables));
  return saveables;
}

// Returns the CPU of the node's task; empty if the task is unspecified.
absl::StatusOr<std::string> TaskCpu(const Node& node) {
  ASSIGN_OR_RETURN(DeviceName device,
                   DeviceName::Parse(node.requested_device()));
  if (!device.job.has_value() && !device.task.has_value()) return "";
  device = {device.job, device.replica, device.task, "CPU", 0};
  return device.ToString();
}

// Returns the saveables grouped by device. Saveables without a device come
// first.
absl::StatusOr<std::map<std::string, std::vector<Saveable>>> ByTask(
    const std::vector<Saveable>& saveables) {
  std::map<std::string, std::vector<Saveable>> tasks;
  for (const Saveable& saveable : saveables) {
    ASSIGN_OR_RETURN(const std::string device, TaskCpu(*saveable.node()));
    tasks[device].push_back(saveable);
  }
  return tasks;
}

Tensor Names(const std::vector<Saveable>& saveables) {
  std::vector<std::string> names;
  for (const Saveable& saveable : saveables) names.push_back(saveable.name);
  return Tensor::Vector<std::string>(names);
}

Tensor Slices(const std::vector<Saveable>& saveables) {
  std::vector<std::string> slices;
  for (const Saveable& saveable : saveables) {
    slices.push_back(saveable.shape_and_slice);
  }
  return Tensor::Vector<std::string>(slices);
}

// Returns the slices for RestoreV2. Unlike in SlicesToSave, a whole variable
// also states its shape: a stored tensor of another shape is then rejected
// before any variable of the task is set. A scalar cannot state its shape, so
// its assignment rejects the tensor.
Tensor SlicesToRead(const std::vector<Saveable>& saveables) {
  Tensor slices = Slices(saveables);
  for (size_t i = 0; i < saveables.size(); ++i) {
    std::string& text = slices.mutable_flat<std::string>()[i];
    if (IsIterator(saveables[i])) continue;
    const PartialShape& shape = saveables[i].variable.shape();
    if (!text.empty() || !shape.IsFullyDefined() || shape.rank() == 0) continue;
    const std::vector<std::string> all(shape.rank(), "-");
    text = absl::StrCat(absl::StrJoin(shape.dims(), " "), " ",
                        absl::StrJoin(all, ":"));
  }
  return slices;
}

// Returns a group number for each saveable. A variable and its slots have the
// same number, so that they are captured together.
std::vector<int64_t> SnapshotGroups(const Scope& scope,
                                    const std::vector<Saveable>& saveables) {
  const auto& primaries = VariableStore::Of(scope).primaries;
  absl::flat_hash_map<const Node*, int64_t> numbers;
  std::vector<int64_t> groups;
  for (const Saveable& saveable : saveables) {
    const Node* node = saveable.node();
    const auto primary = primaries.find(node);
    if (primary != primaries.end()) node = primary->second;
    groups.push_back(
        numbers.try_emplace(node, static_cast<int64_t>(numbers.size()))
            .first->second);
  }
  return groups;
}

// Returns the values of the variables and the states of the iterators, in save
// order.
InputList ReadAll(const Scope& scope, const std::vector<Saveable>& saveables) {
  InputList values;
  for (const Saveable& saveable : saveables) {
    if (IsIterator(saveable)) {
      values.push_back(
          scope.ColocateWith(saveable.iterator)
              .AddOutput("SerializeIterator", {saveable.iterator}));
      continue;
    }
    const Variable& variable = saveable.variable;
    values.push_back(variable.is_resource()
                         ? variable.Read(scope.SubScope("Read").ColocateWith(
                               variable.handle()))
                         : variable.handle());
  }
  return values;
}

// SaveBuilder adds the nodes that save, and the nodes that mark the variables
// before they are saved.
class SaveBuilder {
 public:
  SaveBuilder(const Scope& scope, const SaverOptions& options)
      : scope_(scope), options_(options) {}

  // Adds nodes that save everything on one device. Returns the prefix,
  // available once the checkpoint is written.
  Output AddSave(const Scope& scope, const Output& prefix,
                 const std::vector<Saveable>& saveables) {
    const auto groups = SnapshotGroups(scope, saveables);
    AttrMap attrs = {{"_snapshot_groups", groups}};
    if (options_.max_bytes_per_second > 0) {
      attrs["_max_bytes_per_second"] = options_.max_bytes_per_second;
    }
    if (options_.consistency == SaveConsistency::kStep) {
      attrs["_saves_mark"] = AddMark(scope, prefix, saveables, groups);
    }
    InputList inputs = {prefix, Names(saveables), Slices(saveables)};
    for (const Input& value : ReadAll(scope, saveables)) {
      inputs.push_back(value);
    }
    const Operation save = scope.AddNode("SaveV2", inputs, std::move(attrs));
    return ops::Identity(
        scope.WithControlDependencies({save}).ColocateWith(prefix).WithName(
            "control_dependency"),
        prefix);
  }

  // Adds nodes with which each task saves its own shard. The last task merges
  // all shards.
  Output AddShardedSave(
      const Output& prefix, const Output& shard_folder,
      const std::map<std::string, std::vector<Saveable>>& tasks);

  // Adds the operation that marks all variables to be saved; null if nothing is
  // marked.
  Operation AddMarks() {
    if (marks_.empty()) return Operation();
    return ops::Group(scope_, marks_, kMarkName);
  }

 private:
  // Adds the node that marks the variables of one SaveV2. Its last input is the
  // prefix, because SaveV2 accepts only a mark made for its own prefix.
  // TensorFlow runs the node as a plain IdentityN
  // (libs/passes/variable_saving.h).
  std::string AddMark(const Scope& scope, const Output& prefix,
                      const std::vector<Saveable>& saveables,
                      std::vector<int64_t> groups) {
    std::string mark = absl::StrCat(scope_.prefix(), marks_.size());
    InputList marked = ReadAll(scope, saveables);
    marked.push_back(prefix);
    groups.push_back(static_cast<int64_t>(groups.size()));
    // The mark is on the device of its SaveV2, which only exists on the CPU.
    marks_.emplace_back(scope.WithDevice("/cpu:0").AddNode(
        "IdentityN", marked,
        {{"_marks", mark},
         {"_snapshot_groups", groups},
         {"_max_hold_micros",
          absl::ToInt64Microseconds(std::clamp(
              options_.max_hold, absl::ZeroDuration(), kLongestHold))}}));
    return mark;
  }

  const Scope scope_;
  const SaverOptions& options_;
  std::vector<Operation> marks_;
};

// Name of a shard's files. It follows ShardFolderSuffix, or stands alone if
// TensorFlow runs the graph.
constexpr char kShardName[] = "/part";
// Names of nodes that TensorFlow's Savers do not have. The last name is
// followed by a number.
constexpr char kShardFolderName[] = "shard_folder";
constexpr char kMarkerName[] = "marker";
constexpr char kMarkerContentsName[] = "marker_contents";
constexpr char kSeesMarkerName[] = "sees_marker";
// Names of the two parts of the restore op, if there are iterators.
constexpr char kRestoreVariablesName[] = "restore_variables";
constexpr char kRestoreIteratorsName[] = "restore_iterators";

Output SaveBuilder::AddShardedSave(
    const Output& prefix, const Output& shard_folder,
    const std::map<std::string, std::vector<Saveable>>& tasks) {
  const Scope& scope = scope_;
  // Files of an unfinished save are in a separate directory.
  const Output temporary = ops::StringJoin(scope.WithDevice("/cpu:0"),
                                           {prefix, shard_folder, kShardName});
  const Output num_shards =
      scope.ToOutput(static_cast<int32_t>(tasks.size()), "num_shards");
  InputList shards;
  std::vector<Operation> saved;
  int32_t number = 0;
  for (const auto& [device, saveables] : tasks) {
    const Scope at = scope.WithDevice(device);
    const Output shard =
        at.AddOutput("ShardedFilename", {temporary, number++, num_shards});
    const Output done = AddSave(at, shard, saveables);
    shards.emplace_back(shard);
    saved.emplace_back(done);
  }
  const Scope last =
      scope.WithDevice(tasks.rbegin()->first).WithControlDependencies(saved);
  const Scope merging =
      last.ReenterScope(absl::StrCat(last.prefix(), "MergeV2Checkpoints"));
  const Output prefixes =
      ops::Stack(merging.WithName("checkpoint_prefixes"), shards);
  const Operation merge = last.AddNode("MergeV2Checkpoints", {prefixes, prefix},
                                       {{"delete_old_dirs", true}});
  return ops::Identity(
      last.WithControlDependencies({merge}).WithName("Identity"), prefix);
}

// Returns, for each task, whether the task reads the expected contents from the
// marker file.
std::vector<Output> AddMarkerReads(const Scope& scope, const Output& path,
                                   const Output& contents,
                                   const std::set<std::string>& devices) {
  std::vector<Output> sees;
  for (const std::string& device : devices) {
    const Scope at = scope.WithDevice(device);
    sees.push_back(
        ops::Equal(at.WithName(absl::StrCat(kSeesMarkerName, "_", sees.size())),
                   at.AddOutput("ReadFile", {path}), contents));
  }
  return sees;
}

Operation AddDeserialize(const Scope& scope, const Output& iterator,
                         const Output& state) {
  return Operation(scope.ColocateWith(iterator).AddNode("DeserializeIterator",
                                                        {iterator, state}));
}

// Returns the other names of all saveables; empty if no tensor has another
// name.
std::vector<std::string> OtherNames(const std::vector<Saveable>& saveables) {
  std::vector<std::string> names;
  bool has_any = false;
  for (const Saveable& saveable : saveables) {
    names.push_back(absl::StrJoin(saveable.other_names, "\n"));
    has_any |= !names.back().empty();
  }
  return has_any ? names : std::vector<std::string>();
}

// Adds nodes that read variables, on the task that holds the variables.
std::vector<Operation> AddRestore(const Scope& scope, const Output& prefix,
                                  const std::vector<Saveable>& saveables) {
  DataTypeVector dtypes;
  for (const Saveable& saveable : saveables) {
    dtypes.push_back(IsIterator(saveable) ? DT_VARIANT
                                          : saveable.variable.dtype());
  }
  AttrMap attrs = {{"dtypes", dtypes}};
  if (auto others = OtherNames(saveables); !others.empty()) {
    attrs[kOtherNamesAttr] = std::move(others);
  }
  const Node* restored = scope.AddNode(
      "RestoreV2", {prefix, Names(saveables), SlicesToRead(saveables)},
      std::move(attrs));
  std::vector<Operation> assigned;
  for (size_t i = 0; i < saveables.size(); ++i) {
    if (IsIterator(saveables[i])) {
      assigned.push_back(
          AddDeserialize(scope, saveables[i].iterator, OutputOf(restored, i)));
      continue;
    }
    const Variable& variable = saveables[i].variable;
    assigned.emplace_back(
        scope.ColocateWith(variable.handle())
            .AddNode(variable.is_resource() ? "AssignVariableOp" : "Assign",
                     {variable.handle(), OutputOf(restored, i)},
                     {{"validate_shape", variable.shape().has_rank()}}));
  }
  return assigned;
}

struct Restores {
  Operation all;
  // The two parts of the restore op; null if there are no iterators.
  Operation variables, iterators;
};

// Adds the restore op. Iterators are read by separate nodes, because they may
// be restored after the variables.
Restores AddRestores(
    const Scope& scope, bool sharded, const Output& prefix,
    const std::map<std::string, std::vector<Saveable>>& tasks) {
  std::vector<Operation> variables, iterators;
  for (const auto& [device, of_task] : tasks) {
    const Scope at = scope.WithDevice(device);
    std::vector<Saveable> saveables = of_task;
    const auto split = std::stable_partition(
        saveables.begin(), saveables.end(),
        [](const Saveable& saveable) { return !IsIterator(saveable); });
    const auto add = [&](const std::vector<Saveable>& part,
                         std::vector<Operation>& restored) {
      if (part.empty()) return;
      std::vector<Operation> assigned = AddRestore(at, prefix, part);
      if (sharded) assigned = {ops::Group(at, assigned, "restore_shard")};
      restored.insert(restored.end(), assigned.begin(), assigned.end());
    };
    add({saveables.begin(), split}, variables);
    add({split, saveables.end()}, iterators);
  }
  Restores restores;
  if (!iterators.empty()) {
    restores.variables = ops::Group(scope, variables, kRestoreVariablesName);
    restores.iterators = ops::Group(scope, iterators, kRestoreIteratorsName);
    variables.insert(variables.end(), iterators.begin(), iterators.end());
  }
  restores.all = ops::Group(scope, variables, "restore_all");
  return restores;
}

absl::StatusOr<Output> FindString(const Graph& graph, const std::string& name) {
  const auto tensor = graph.FindOutputTensor(name);
  if (!tensor.ok() || Output(*tensor).dtype() != DT_STRING) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the saver's tensor '", name, "' is not in the graph, or no string"));
  }
  return Output(*tensor);
}

absl::Status CheckCounts(const SaverDef& def) {
  const float hours = def.keep_checkpoint_every_n_hours;
  if (std::isfinite(hours) && hours >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a saver's keep_checkpoint_every_n_hours must not be negative, but is ",
      hours));
}

// Returns how far the wall clock is ahead of the monotonic clock. The result is
// rounded, because two clocks cannot be read at the same instant.
absl::Duration WallIsAhead(const Clock& clock) {
  const absl::Duration ahead = clock.WallTime() - clock.Now();
  return absl::Floor(ahead + absl::Microseconds(500), absl::Milliseconds(1));
}

// Returns the clock of the options or, if it is null, `own_clock`.
const Clock& ClockOf(const SaverOptions& options, const Clock& own_clock) {
  return options.clock != nullptr ? *options.clock : own_clock;
}

// Converts a time in a state file, which may be any number.
absl::Time TimeOf(double seconds_since_1970, absl::Time now) {
  if (!(seconds_since_1970 >= 0)) return now;  // also true for NaN
  return std::min(absl::UnixEpoch() + absl::Seconds(seconds_since_1970), now);
}

// Returns whether two paths name the same checkpoint. A path may be spelled in
// several ways.
bool AreSame(absl::string_view a, absl::string_view b) {
  return a == b || CleanPath(a) == CleanPath(b);
}

bool LieInOneFolder(absl::string_view a, absl::string_view b) {
  return CleanPath(Dirname(a)) == CleanPath(Dirname(b));
}

enum class Sameness { kDifferent, kSame, kUnknown };

// Compares two checkpoints of equal name by the bytes of their indexes. They
// may be the same although one path is relative, or contains a symbolic link.
// After a failed read the answer is unknown, so neither may be deleted.
Sameness CompareCheckpoints(FileSystem& files, const std::string& a,
                            const std::string& b) {
  if (Basename(a) != Basename(b)) return Sameness::kDifferent;
  const auto index_a = files.ReadFile(checkpoint::IndexFilename(a));
  const auto index_b = files.ReadFile(checkpoint::IndexFilename(b));
  if (absl::IsNotFound(index_a.status()) ||
      absl::IsNotFound(index_b.status())) {
    return Sameness::kDifferent;
  }
  if (!index_a.ok() || !index_b.ok()) return Sameness::kUnknown;
  return *index_a == *index_b ? Sameness::kSame : Sameness::kDifferent;
}

using States = std::map<std::string,  // by filename
                        absl::StatusOr<checkpoint::CheckpointState>>;

absl::Status AddState(FileSystem& files, absl::string_view folder,
                      const std::string& filename, States& states) {
  if (states.contains(filename)) return absl::OkStatus();
  auto state = checkpoint::ReadCheckpointState(files, folder, filename);
  const absl::Status& status = state.status();
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
      absl::IsResourceExhausted(status) || absl::IsCancelled(status)) {
    return status;
  }
  states.emplace(filename, std::move(state));
  return absl::OkStatus();
}

// Reads the state file `latest_filename`, and the state files that would name
// the old checkpoints. Transient errors are returned. For a state that cannot
// be parsed, the error is stored in the result.
absl::StatusOr<States> ReadStates(
    FileSystem& files, absl::string_view folder,
    const std::string& latest_filename,
    const std::vector<UnfinishedSaves::OldCheckpoint>& old_ones) {
  States states;
  RETURN_IF_ERROR(AddState(files, folder, latest_filename, states));
  for (const UnfinishedSaves::OldCheckpoint& old : old_ones) {
    RETURN_IF_ERROR(AddState(files, folder, old.latest_filename, states));
  }
  return states;
}

// Returns whether one of the states names the checkpoint `path`, or may name it
// because the state cannot be parsed.
bool MayName(FileSystem& files, const States& states, const std::string& path) {
  const auto is_it = [&](const std::string& named) {
    return AreSame(named, path) ||
           CompareCheckpoints(files, named, path) != Sameness::kDifferent;
  };
  return absl::c_any_of(states, [&](const auto& of_file) {
    const auto& state = of_file.second;
    if (!state.ok()) return !absl::IsNotFound(state.status());
    return is_it(state->model_checkpoint_path) ||
           absl::c_any_of(state->all_model_checkpoint_paths, is_it);
  });
}

// Returns whether reading an index has shown that the index is missing or
// damaged, so that it names no data files.
bool NamesNothing(const absl::Status& read) {
  return absl::IsNotFound(read) || absl::IsDataLoss(read) ||
         absl::IsOutOfRange(read);
}

// Returns the data files that an index names.
absl::StatusOr<std::vector<std::string>> ReadDataFiles(
    FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const auto reader,
                   checkpoint::BundleReader::Open(files, path));
  std::set<int> shards;
  RETURN_IF_ERROR(reader->ForEach(
      [&](absl::string_view, const checkpoint::BundleEntry& entry) {
        shards.insert(entry.shard);
        return absl::OkStatus();
      }));
  std::vector<std::string> paths;
  for (const int shard : shards) {
    paths.push_back(
        checkpoint::DataFilename(path, shard, reader->num_data_files()));
  }
  return paths;
}

// Returns the data files of a checkpoint from the directory listing, or from
// the index if the directory cannot be listed. Returns an error if a later
// attempt may find them.
absl::StatusOr<std::vector<std::string>> DataFilesOf(FileSystem& files,
                                                     const std::string& path) {
  const absl::string_view folder = Dirname(path);
  const auto names = files.ListDirectory(folder.empty() ? "." : folder);
  std::vector<std::string> paths;
  if (!names.ok()) {
    auto in_index = ReadDataFiles(files, path);
    if (NamesNothing(in_index.status())) return paths;
    return in_index;
  }
  for (const std::string& name : *names) {
    absl::string_view ending = name;
    if (absl::ConsumePrefix(&ending, Basename(path)) &&
        checkpoint::IsDataEnding(ending)) {
      paths.push_back(JoinPath(folder, name));
    }
  }
  return paths;
}

// Deletes a checkpoint. The index is deleted first, because without an index
// the other files are not a checkpoint. Files that cannot be deleted are found
// again later, if the directory can be listed. If only the index names the data
// files, the checkpoint stays until the index can be read.
void DeleteCheckpoint(FileSystem& files, const std::string& path) {
  const auto data = DataFilesOf(files, path);
  if (!data.ok()) return;
  const absl::Status deleted =
      files.DeleteFile(checkpoint::IndexFilename(path));
  if (!deleted.ok() && !absl::IsNotFound(deleted)) return;
  files.DeleteFile(MetaGraphFilename(path)).IgnoreError();
  for (const std::string& file : *data) files.DeleteFile(file).IgnoreError();
}

}  // namespace

// Finds this saver's nodes, which are colocated with the restore op.
void Saver::FindOwnNodes(const Graph& graph, Nodes& nodes) {
  const absl::string_view scope = Dirname(nodes.restore.name());
  const auto find = [&](absl::string_view name) {
    return graph.FindNode(JoinPath(scope, name));
  };
  const auto find_output = [&](absl::string_view name) {
    const Node* node = find(name);
    return node == nullptr ? Output() : OutputOf(node, 0);
  };
  nodes.mark = Operation(find(kMarkName));
  nodes.restore_variables = Operation(find(kRestoreVariablesName));
  nodes.restore_iterators = Operation(find(kRestoreIteratorsName));
  nodes.shard_folder = find_output(kShardFolderName);
  nodes.marker = find_output(kMarkerName);
  nodes.marker_contents = find_output(kMarkerContentsName);
  if (!nodes.marker || !nodes.marker_contents) return;
  while (const Output sees = find_output(
             absl::StrCat(kSeesMarkerName, "_", nodes.sees_marker.size()))) {
    nodes.sees_marker.push_back(sees);
  }
}

absl::StatusOr<std::unique_ptr<Saver>> Saver::FromSaverDef(
    const Scope& scope, const SaverDef& def, SaverOptions options) {
  RETURN_IF_ERROR(scope.status());
  RETURN_IF_ERROR(CheckCounts(def));
  const Graph& graph = scope.graph();
  Nodes nodes;
  ASSIGN_OR_RETURN(nodes.filename, FindString(graph, def.filename_tensor_name));
  ASSIGN_OR_RETURN(nodes.save, FindString(graph, def.save_tensor_name));
  nodes.restore = graph.FindNode(def.restore_op_name);
  if (!nodes.restore) {
    return absl::InvalidArgumentError(absl::StrCat("the saver's operation '",
                                                   def.restore_op_name,
                                                   "' is not in the graph"));
  }
  FindOwnNodes(graph, nodes);
  nodes.writes_v1 = def.writes_v1;
  options.sharded = def.sharded;
  options.max_to_keep = def.max_to_keep;
  options.keep_checkpoint_every =
      absl::Hours(def.keep_checkpoint_every_n_hours);
  return std::unique_ptr<Saver>(new Saver(scope, std::move(options), nodes));
}

SaverDef Saver::def() const {
  SaverDef def;
  def.filename_tensor_name = nodes_.filename.name();
  def.save_tensor_name = nodes_.save.name();
  def.restore_op_name = nodes_.restore.name();
  def.max_to_keep = options_.max_to_keep;
  def.sharded = options_.sharded;
  def.writes_v1 = nodes_.writes_v1;
  // Programs that read this field use a number for "never", too.
  def.keep_checkpoint_every_n_hours = static_cast<float>(
      std::min(absl::ToDoubleHours(options_.keep_checkpoint_every),
               double{std::numeric_limits<float>::max()}));
  return def;
}

Saver::Saver(const Scope& scope, SaverOptions options, const Nodes& nodes)
    : scope_(scope),
      options_(std::move(options)),
      nodes_(nodes),
      own_random_(options_.random == nullptr ? NewSystemRandom() : nullptr),
      random_(own_random_ != nullptr ? *own_random_ : *options_.random) {
  if (options_.keep_checkpoint_every < absl::InfiniteDuration()) {
    next_to_keep_for_good_ = Now() + options_.keep_checkpoint_every;
  }
}

Saver::Saver(const Scope& scope, SaverOptions options)
    : Saver(scope, std::move(options), Nodes()) {
  if (!scope.ok()) return;
  const Scope save = scope.SubScope(options_.name);
  const auto build = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const auto saveables, FindSaveables(scope, options_));
    ASSIGN_OR_RETURN(const auto tasks, ByTask(saveables));
    const PartialShape scalar = PartialShape::Scalar();
    const Output name =
        ops::PlaceholderWithDefault(save.WithName("filename"), "model", scalar);
    nodes_.filename =
        ops::PlaceholderWithDefault(save.WithName("Const"), name, scalar);
    const auto text = [&](const char* of, const char* preset) {
      return ops::PlaceholderWithDefault(save.WithName(of), preset, scalar);
    };
    nodes_.marker = text(kMarkerName, "");
    nodes_.marker_contents = text(kMarkerContentsName, "");
    std::set<std::string> devices;
    for (const auto& [device, of_task] : tasks) devices.insert(device);
    // If the saver is not sharded, this device writes all variables.
    if (!options_.sharded) devices.insert(save.device());
    nodes_.sees_marker =
        AddMarkerReads(save, nodes_.marker, nodes_.marker_contents, devices);
    SaveBuilder saves(save, options_);
    nodes_.shard_folder = text(kShardFolderName, "_temp");
    nodes_.save =
        options_.sharded
            ? saves.AddShardedSave(nodes_.filename, nodes_.shard_folder, tasks)
            : saves.AddSave(save, nodes_.filename, saveables);
    nodes_.mark = saves.AddMarks();
    const Restores restores =
        AddRestores(save, options_.sharded, nodes_.filename, tasks);
    nodes_.restore = restores.all;
    nodes_.restore_variables = restores.variables;
    nodes_.restore_iterators = restores.iterators;
    return absl::OkStatus();
  };
  save.UpdateStatus(build());
}

FileSystem& Saver::FilesOf(const Session& session) {
  if (options_.file_system != nullptr) return *options_.file_system;
  FileSystem* const files = session.file_system();
  return files != nullptr ? *files : local_files_;
}

absl::Time Saver::Now() const { return ClockOf(options_, own_clock_).Now(); }

absl::StatusOr<std::string> Saver::Save(Session& session,
                                        const std::string& save_path,
                                        const SaveOptions& options) {
  if (nodes_.writes_v1) {
    return absl::UnimplementedError(absl::StrCat(
        "the saver's node '", nodes_.save.name(),
        "' writes TensorFlow's format V1, which a Saver only restores: add "
        "another Saver to the graph, which writes format V2"));
  }
  if (absl::StrContains(options.latest_filename, '/')) {
    return absl::InvalidArgumentError(
        "'latest_filename' must not contain path components");
  }
  if (Basename(save_path).empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the prefix of a checkpoint has to end with a name, but it is '",
        save_path, "'"));
  }
  std::string path = save_path;
  if (options.global_step.has_value()) {
    absl::StrAppend(&path, "-", *options.global_step);
  } else if (Basename(save_path) == options.latest_filename) {
    return absl::InvalidArgumentError(
        absl::StrCat("'latest_filename' collides with 'save_path': '",
                     options.latest_filename, "' and '", save_path, "'"));
  }
  const Clock& clock = session.scheduler().clock();
  const absl::Time deadline = clock.Now() + options_.max_wait;
  absl::Status turn = LockSaves(session.scheduler());
  while (!turn.ok() && clock.Now() < deadline) {
    // Error: the session is lost, so the save must not start.
    RETURN_IF_ERROR(session.Extend());
    turn = LockSaves(session.scheduler());
  }
  RETURN_IF_ERROR(turn);
  const absl::Cleanup given = [this] { UnlockSaves(); };
  RETURN_IF_ERROR(SaveAlone(session, save_path, path, options));
  return path;
}

// Waits until no other save runs. The wait is interrupted regularly to check
// that the session still exists.
absl::Status Saver::LockSaves(Scheduler& scheduler) {
  const absl::Time deadline =
      scheduler.clock().Now() + std::min(options_.max_wait, kWaitAtOnce);
  for (bool is_late = false;;) {
    const std::unique_ptr<Event> turn = scheduler.NewEvent();
    {
      absl::MutexLock lock(&mutex_);
      if (!std::exchange(is_saving_, true)) return absl::OkStatus();
      if (is_late) break;
      waiting_.push_back(turn.get());
    }
    is_late = !turn->WaitUntil(deadline);
    absl::MutexLock lock(&mutex_);
    std::erase(waiting_, turn.get());
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "Another thread is saving with the saver '", options_.name,
      "', and has not ended within ", absl::FormatDuration(options_.max_wait),
      ". Save again later, or raise SaverOptions::max_wait."));
}

bool Saver::TryLockSaves() {
  absl::MutexLock lock(&mutex_);
  return !std::exchange(is_saving_, true);
}

// Must be called while the lock is held. Woken threads take the lock before
// they continue.
void Saver::UnlockSaves() {
  absl::MutexLock lock(&mutex_);
  is_saving_ = false;
  for (Event* waiter : waiting_) waiter->Set();
}

FeedList Saver::Feeds(const std::string& path, uint64_t number) const {
  FeedList feeds = {{nodes_.filename, Tensor::Scalar<std::string>(path)}};
  if (nodes_.shard_folder) {
    feeds.emplace_back(nodes_.shard_folder,
                       Tensor::Scalar<std::string>(ShardFolderSuffix(number)));
  }
  return feeds;
}

absl::Status Saver::CheckThatTasksSee(Session& session,
                                      const UnfinishedSaves::Marker& marker) {
  const FeedList feeds = {
      {nodes_.marker, Tensor::Scalar<std::string>(marker.path)},
      {nodes_.marker_contents, Tensor::Scalar<std::string>(marker.contents)}};
  const auto is_true = [](const Tensor& seen) { return seen.scalar<bool>(); };
  const auto all = session.Run(feeds, nodes_.sees_marker);
  if (all.ok() && absl::c_all_of(*all, is_true)) return absl::OkStatus();
  std::vector<std::string> blind;
  for (const Output& sees : nodes_.sees_marker) {
    const auto seen = session.Run(feeds, sees);
    if (seen.ok() && is_true(*seen)) continue;
    if (!seen.ok() && !absl::IsNotFound(seen.status())) return seen.status();
    const std::string& device = sees.node()->requested_device();
    blind.push_back(device.empty() ? "the session's own" : device);
  }
  if (blind.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "The tasks [", absl::StrJoin(blind, ", "), "] do not find ", marker.path,
      ", which this program has just written: they do not share its disk, so "
      "nothing was saved. Save to a checkpoint writer (zmq://HOST:PORT/PATH), "
      "to an object store, or to a folder that all of them see by that path."));
}

absl::Status Saver::Write(Session& session, const std::string& path,
                          uint64_t number, const SaveOptions& options) {
  const FeedList feeds = Feeds(path, number);
  if (nodes_.mark) {
    const auto mark = [&] { return session.Run(feeds, nodes_.mark); };
    RETURN_IF_ERROR(options.when_to_mark ? options.when_to_mark(mark) : mark());
  }
  return session.Run(feeds, nodes_.save).status();
}

absl::Status Saver::CheckExists(FileSystem& files, const std::string& path) {
  const std::string index = checkpoint::IndexFilename(path);
  // Only NOT_FOUND counts: other errors are inconclusive, and the tasks
  // reported that the checkpoint exists.
  if (!absl::IsNotFound(files.FileExists(index))) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "The variables were written, but this program does not find ", index,
      ": the task that wrote it has another disk, checkpoint writer or object "
      "store by that name. Nothing names that checkpoint. Save to where this "
      "program and all tasks find the same files."));
}

absl::Status Saver::TakeOverOldCheckpoints(FileSystem& files,
                                           const std::string& save_path,
                                           const std::string& path,
                                           const std::string& latest_filename) {
  // The marker of the previous path still names the checkpoints saved there.
  ASSIGN_OR_RETURN(auto recovered,
                   unfinished_.Recover(files, save_path, Now()));
  if (recovered) recovered_ = *std::move(recovered);
  // All checkpoints are kept, also for later savers.
  if (options_.max_to_keep <= 0) {
    for (const auto& old : unfinished_.MaybeWhole()) {
      unfinished_.Succeeded(old.prefix);
    }
  }
  std::vector<UnfinishedSaves::OldCheckpoint> old_ones = WholeOnes(files, path);
  absl::c_copy(recovered_, std::back_inserter(old_ones));
  if (old_ones.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const States states, ReadStates(files, Dirname(save_path),
                                                   latest_filename, old_ones));
  recovered_.clear();
  for (const UnfinishedSaves::OldCheckpoint& old : old_ones) {
    if (IsKept(old.prefix) || MayName(files, states, old.prefix)) {
      unfinished_.Succeeded(old.prefix);
      continue;
    }
    // If the state file cannot be read, the checkpoint is kept: one checkpoint
    // too many is better than deleting one that is named.
    if (!states.at(old.latest_filename).ok()) continue;
    if (!absl::c_linear_search(to_delete_, old.prefix)) {
      to_delete_.push_back(old.prefix);
    }
  }
  return absl::OkStatus();
}

// Returns complete checkpoints that failed saves have left. A save to the same
// prefix replaces and counts its checkpoint, so that prefix is not returned.
// Checkpoints that cannot be checked now are checked before the next save.
std::vector<UnfinishedSaves::OldCheckpoint> Saver::WholeOnes(
    FileSystem& files, const std::string& path) const {
  std::vector<UnfinishedSaves::OldCheckpoint> whole;
  absl::flat_hash_set<std::string> asked;
  for (UnfinishedSaves::OldCheckpoint& old : unfinished_.MaybeWhole()) {
    if (AreSame(old.prefix, path)) continue;
    if (!asked.insert(absl::StrCat(old.latest_filename, "/", old.prefix))
             .second) {
      continue;
    }
    if (files.FileExists(checkpoint::IndexFilename(old.prefix)).ok()) {
      whole.push_back(std::move(old));
    }
  }
  return whole;
}

absl::Status Saver::SaveAlone(Session& session, const std::string& save_path,
                              const std::string& path,
                              const SaveOptions& options) {
  const uint64_t number = random_.Next();
  // If this process writes neither state nor graph, it need not see the files
  // of the tasks.
  if (!options.write_state && !options.write_meta_graph) {
    return Write(session, path, number, options);
  }
  FileSystem& files = FilesOf(session);
  RETURN_IF_ERROR(
      TakeOverOldCheckpoints(files, save_path, path, options.latest_filename));
  const UnfinishedSaves::Save save = {
      .prefix = path,
      .number = number,
      .latest_filename = options.latest_filename,
      .is_counted = options.write_state};
  ASSIGN_OR_RETURN(const UnfinishedSaves::Marker marker,
                   unfinished_.Begin(files, save, OldCheckpoints(), Now()));
  if (!nodes_.sees_marker.empty() && SchemeAndHost(path).empty()) {
    RETURN_IF_ERROR(CheckThatTasksSee(session, marker));
  }
  RETURN_IF_ERROR(Write(session, path, number, options));
  RETURN_IF_ERROR(CheckExists(files, path));
  // The checkpoint is new, so it must not be deleted as an old one, even if it
  // is not counted.
  std::erase_if(to_delete_,
                [&](const std::string& old) { return AreSame(old, path); });
  const absl::Status told = FinishSave(session, files, path, options);
  // A checkpoint that no state file names is in use while this Saver counts it,
  // and is unreferenced later.
  if (told.ok()) unfinished_.Succeeded(path);
  unfinished_.End(files, marker, save, Now(), to_delete_);
  return told;
}

absl::Status Saver::FinishSave(Session& session, FileSystem& files,
                               const std::string& path,
                               const SaveOptions& options) {
  // The checkpoint exists and must be counted, even if a later step fails.
  if (options.write_state) CountCheckpoint(path);
  // The graph is written before the state file, which may name only complete
  // checkpoints.
  if (options.write_meta_graph) RETURN_IF_ERROR(WriteGraph(files, path));
  if (!options.write_state) return absl::OkStatus();
  // The file system may have hung until this save was abandoned and another
  // Saver took over, so the session is checked again.
  RETURN_IF_ERROR(session.Extend());
  RETURN_IF_ERROR(WriteState(files, path, options.latest_filename));
  DeleteOld(files);
  return absl::OkStatus();
}

// Deletes old checkpoints. They are remembered until a power failure can no
// longer undo the deletion (UnfinishedSaves::End). If a checkpoint cannot be
// deleted, or may be one of those that are kept, it is tried again after the
// next save; the list is limited to the newest ones.
void Saver::DeleteOld(FileSystem& files) {
  std::vector<std::string> left;
  for (const std::string& path : to_delete_) {
    // Compared with the kept checkpoints.
    Sameness sameness = Sameness::kDifferent;
    for (const Kept& kept : kept_) {
      if (sameness == Sameness::kSame) break;
      const Sameness one = CompareCheckpoints(files, kept.path, path);
      if (one != Sameness::kDifferent) sameness = one;
    }
    if (sameness == Sameness::kSame) continue;
    if (sameness == Sameness::kDifferent) DeleteCheckpoint(files, path);
    left.push_back(path);
  }
  to_delete_ = std::move(left);
  if (to_delete_.size() <= kMaxToDelete) return;
  to_delete_.erase(to_delete_.begin(), to_delete_.end() - kMaxToDelete);
}

bool Saver::IsKept(const std::string& path) const {
  return absl::c_any_of(
      kept_, [&](const Kept& kept) { return AreSame(kept.path, path); });
}

std::vector<std::string> Saver::OldCheckpoints() const {
  std::vector<std::string> old_ones = to_delete_;
  const auto max = static_cast<size_t>(std::max(options_.max_to_keep, 0));
  absl::Time next_to_keep = next_to_keep_for_good_;
  for (size_t i = 0; max > 0 && i < kept_.size() && kept_.size() - i >= max;
       ++i) {
    if (kept_[i].time > next_to_keep) {
      next_to_keep += options_.keep_checkpoint_every;
    } else {
      old_ones.push_back(kept_[i].path);
    }
  }
  return old_ones;
}

absl::Status Saver::Restore(Session& session, const std::string& save_path) {
  const Tensor prefix = Tensor::Scalar<std::string>(save_path);
  return session.Run({{nodes_.filename, prefix}}, nodes_.restore);
}

absl::Status Saver::RestoreVariables(Session& session,
                                     const std::string& save_path) {
  if (!nodes_.restore_iterators) return Restore(session, save_path);
  const Tensor prefix = Tensor::Scalar<std::string>(save_path);
  return session.Run({{nodes_.filename, prefix}}, nodes_.restore_variables);
}

absl::Status Saver::RestoreIterators(Session& session,
                                     const std::string& save_path) {
  if (!nodes_.restore_iterators) return absl::OkStatus();
  const Tensor prefix = Tensor::Scalar<std::string>(save_path);
  return session.Run({{nodes_.filename, prefix}}, nodes_.restore_iterators);
}

std::vector<std::string> Saver::LastCheckpoints() const {
  std::vector<std::string> paths;
  for (const Kept& kept : kept_) paths.push_back(kept.path);
  return paths;
}

absl::Status Saver::RecoverLastCheckpoints(
    const Session& session, const std::vector<std::string>& paths,
    const std::vector<double>& timestamps) {
  if (!TryLockSaves()) return absl::OkStatus();
  const absl::Cleanup given = [this] { UnlockSaves(); };
  FileSystem& files = FilesOf(session);
  const Clock& clock = ClockOf(options_, own_clock_);
  const absl::Duration ahead = WallIsAhead(clock);
  std::deque<Kept> found;
  for (size_t i = 0; i < paths.size(); ++i) {
    const absl::Status there =
        files.FileExists(checkpoint::IndexFilename(paths[i]));
    if (absl::IsNotFound(there)) continue;
    RETURN_IF_ERROR(there);
    const absl::Time now = clock.Now();
    found.push_back({paths[i],
                     i < timestamps.size()
                         ? TimeOf(timestamps[i], now + ahead) - ahead
                         : now,
                     /*is_recovered=*/true});
  }
  kept_ = std::move(found);
  return absl::OkStatus();
}

// Counts a saved checkpoint as the newest, even if it was saved before. If all
// checkpoints are kept, the state file continues to name recovered ones, so
// that a later Saver with a limit deletes them. As in TensorFlow, new
// checkpoints are not added then.
void Saver::CountCheckpoint(const std::string& path) {
  const bool was_kept = IsKept(path);
  if (options_.max_to_keep <= 0 && !was_kept) return;
  std::erase_if(kept_,
                [&](const Kept& kept) { return AreSame(kept.path, path); });
  kept_.push_back({path, Now()});
  if (options_.max_to_keep <= 0) return;
  while (kept_.size() > static_cast<size_t>(options_.max_to_keep)) {
    const Kept oldest = kept_.front();
    kept_.pop_front();
    if (oldest.time > next_to_keep_for_good_) {
      next_to_keep_for_good_ += options_.keep_checkpoint_every;
    } else if (!oldest.is_recovered || LieInOneFolder(oldest.path, path)) {
      to_delete_.push_back(oldest.path);
    }
  }
}

absl::Status Saver::WriteGraph(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const MetaGraph graph,
                   ExportMetaGraph(scope_, {.saver_def = def()}));
  return WriteMetaGraph(files, MetaGraphFilename(path), graph);
}

absl::Status Saver::WriteState(FileSystem& files, const std::string& path,
                               const std::string& latest_filename) {
  const absl::Duration ahead = WallIsAhead(ClockOf(options_, own_clock_));
  checkpoint::CheckpointState state;
  state.model_checkpoint_path = path;
  for (const Kept& kept : kept_) {
    state.all_model_checkpoint_paths.push_back(kept.path);
    state.all_model_checkpoint_timestamps.push_back(
        absl::ToUnixMicros(kept.time + ahead) / 1e6);
  }
  if (!IsKept(path)) {
    state.all_model_checkpoint_paths.push_back(path);
    state.all_model_checkpoint_timestamps.push_back(
        absl::ToUnixMicros(Now() + ahead) / 1e6);
  }
  return checkpoint::WriteCheckpointState(
      files, Dirname(path), std::move(state), options_.save_relative_paths,
      latest_filename);
}

}  // namespace weft::train
