// Saver adds nodes to a graph that write its variables to checkpoints and read
// them back, runs these nodes, and deletes old checkpoints of a directory;
// TensorFlow's tf.train.Saver, with its node names.
//
//   train::Saver saver(root);                             // all variables
//   session.Run(init);
//   saver.Save(session, "/job/model.ckpt", {.global_step = 100});
//   saver.Restore(session, "/job/model.ckpt-100");
//
// Parts of a partitioned variable, and their slots, are saved as slices of one
// tensor, so that they can be restored into any other partitioning.
//
// A save disturbs training little: each task takes snapshots of the variables
// that it holds and writes the snapshots (libs/passes/variable_saving.h). A
// variable and its slots are captured atomically. Values from other tasks are
// held as a fetch holds them. Unrelated variables may be some steps apart,
// unless SaveConsistency::kStep is set.
//
// Positions of dataset iterators are saved, too, each as one variant, so that
// training resumes with the next element. A position lies between two elements.
// It is consistent with the variables only if no step runs meanwhile, or with
// SaveConsistency::kStep.
//
// The graph is written beside each checkpoint, PREFIX.meta (meta_graph.h), so
// that another program can continue from it.
//
// Variables are written by the task that runs SaveV2 and read by the tasks that
// hold them. A sharded saver lets each task write its own variables, in
// parallel, and the last task merges the shards, so it must see the files of
// the others: processes without a shared disk save to a checkpoint writer
// ("zmq://host:port/model") or to an object store ("s3://bucket/model").
//
// Threads: construction as the scope's. Save and Restore block, and may be
// called from any thread while others run the session, but not while the graph
// is extended; saves are serialized. LastCheckpoints must not be called during
// a save. Construction errors stick to the scope.
#ifndef WEFT_LIBS_TRAIN_SAVING_SAVER_H_
#define WEFT_LIBS_TRAIN_SAVING_SAVER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/monotone_clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/fs/local_file_system.h"
#include "libs/ops/data/iterator.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"
#include "libs/session/session.h"
#include "libs/train/saving/meta_graph.h"
#include "libs/train/saving/unfinished_saves.h"

namespace weft::train {

enum class SaveConsistency {
  // A variable and its slots are captured atomically; TensorFlow guarantees
  // less.
  kVariable,
  // A checkpoint contains only whole steps of all sessions, on any number of
  // tasks: steps that write saved variables are not started, and running ones
  // complete, before the variables are marked. Then all continue, and the
  // marked values are written. Other steps (queue runners, steps that add
  // gradients to accumulators, evaluations) are not waited for. A step that
  // takes gradients out and applies them is, so none of its gradients may come
  // from the thread that saves. If variables are on several tasks, save
  // `sharded`: otherwise their values are sent while steps are held.
  kStep,
};

struct SaverOptions {
  // Names in checkpoints and their variables. A part of a partitioned variable
  // uses the name of the whole. Empty: the variables of the collections
  // "variables" and "saveable_objects", by their own names.
  std::vector<std::pair<std::string, ops::Variable>> var_list;
  // Iterators whose positions are saved, each under the name of its handle
  // followed by "_STATE". Both lists empty: also those of
  // Iterator::MakeSaveable.
  std::vector<ops::Iterator> iterators;
  bool sharded = false;
  // Number of checkpoints to keep; 0: all are kept and none is counted.
  // Recovered checkpoints (RecoverLastCheckpoints) then stay in the state.
  int max_to_keep = 5;
  // One checkpoint per interval is kept forever.
  absl::Duration keep_checkpoint_every = absl::Hours(10000);
  // Write rate limit of each task, to leave bandwidth for training; 0: none.
  int64_t max_bytes_per_second = 0;
  SaveConsistency consistency = SaveConsistency::kVariable;
  // kStep only: how long running steps may take to end; after that the save
  // fails with DEADLINE_EXCEEDED, naming one.
  absl::Duration max_hold = absl::Seconds(2);
  // How long a save waits for a running save of this saver before it fails with
  // FAILED_PRECONDITION; 0: not at all.
  absl::Duration max_wait = absl::Minutes(10);
  // Whether the state file names checkpoints relative to its directory, so that
  // the directory may be moved. Otherwise paths are relative only if the
  // directory's path is relative.
  bool save_relative_paths = false;
  // Name scope of the nodes.
  std::string name = "save";
  // File system of the checkpoints, for this process; must outlive the saver.
  // Null: the file system of the session's process (Session::file_system).
  FileSystem* file_system = nullptr;
  // Both must outlive the saver. Null: the system's.
  const Clock* clock = nullptr;
  Random* random = nullptr;
};

struct SaveOptions {
  // Appended to the path, for example "-100".
  std::optional<int64_t> global_step;
  // Name of the state file. Programs that save into one directory at the same
  // time each need their own state file and save_path.
  std::string latest_filename = "checkpoint";
  // If false, the checkpoint is not counted either: no checkpoint is deleted
  // for it, and it is never deleted.
  bool write_state = true;
  // Whether to write the graph as MetaGraphFilename(path) where the state file
  // is: by this process, to SaverOptions::file_system.
  bool write_meta_graph = true;
  // kStep only: receives a function that marks the variables, and calls it when
  // the variables are consistent, as hooks do
  // (SessionRunHook::SaveBetweenUpdates). Its error is the save's. Null:
  // variables are marked at once.
  std::function<absl::Status(absl::FunctionRef<absl::Status()> mark)>
      when_to_mark;
};

class Saver {
 public:
  // INVALID_ARGUMENT sticks to the scope if there is nothing to save, two
  // variables have one name, or a required shape is unknown.
  explicit Saver(const Scope& scope, SaverOptions options = {});
  // Returns a saver whose nodes are in an imported graph already. Only
  // file_system and clock of `options` are used, because `def` defines the
  // rest. INVALID_ARGUMENT for a name in `def` that the graph does not have, or
  // that is another kind of node.
  static absl::StatusOr<std::unique_ptr<Saver>> FromSaverDef(
      const Scope& scope, const SaverDef& def, SaverOptions options = {});
  // Describes the saver for FromSaverDef. REQUIRES: construction did not fail.
  SaverDef def() const;

  // Saves the variables and returns the prefix of the checkpoint, which is then
  // durable. Checkpoints beyond max_to_keep are deleted once the state file no
  // longer names them; a failed deletion is retried after the next save. First,
  // leftovers of earlier saves under the same name are deleted, which are
  // recorded in SAVE_PATH.saving (unfinished_saves.h). No other process may
  // save under that name at the same time.
  //
  // FAILED_PRECONDITION, before anything is written, if a task does not see the
  // files of this process because they share no disk. In that case use the path
  // of a checkpoint writer or an object store; or write neither state nor
  // graph, so that this process accesses and checks no file.
  // FAILED_PRECONDITION also if this process does not find the written
  // checkpoint. INVALID_ARGUMENT for a path that does not end with a name.
  // UNIMPLEMENTED for a saver of an imported graph that writes TensorFlow's
  // format V1.
  absl::StatusOr<std::string> Save(Session& session,
                                   const std::string& save_path,
                                   const SaveOptions& options = {});
  // Restores the variables from the checkpoint of that prefix, or from files of
  // format V1 (checkpoint::CheckpointReader::Open), and the positions of
  // iterators, which must have been initialized.
  absl::Status Restore(Session& session, const std::string& save_path);
  // Restore in two parts, for iterators whose initialization needs the
  // variables. A saver of a TensorFlow graph restores everything in the first
  // part.
  absl::Status RestoreVariables(Session& session, const std::string& save_path);
  absl::Status RestoreIterators(Session& session, const std::string& save_path);
  // Whether RestoreIterators has an effect.
  bool HasIterators() const {
    return static_cast<bool>(nodes_.restore_iterators);
  }

  // Prefixes of the kept checkpoints that may be deleted, oldest first.
  std::vector<std::string> LastCheckpoints() const;
  // Adopts the checkpoints of an earlier process whose index exists. Of these,
  // only checkpoints in the directory of the later saves are deleted: others
  // may belong to another training that this one was copied from. `timestamps`:
  // when they were saved, in seconds since 1970, as in the state file; missing
  // entries count as now. Does nothing during a save of this saver, possibly of
  // a lost session, because the current list is up to date then.
  absl::Status RecoverLastCheckpoints(
      const Session& session, const std::vector<std::string>& paths,
      const std::vector<double>& timestamps = {});

  // filename_tensor is fed the prefix, save_tensor returns it when saved, and
  // restore_op restores.
  Output filename_tensor() const { return nodes_.filename; }
  Output save_tensor() const { return nodes_.save; }
  Operation restore_op() const { return nodes_.restore; }

 private:
  struct Kept {
    std::string path;
    absl::Time time;
    bool is_recovered = false;  // another process saved it
  };

  struct Nodes {
    Output filename;
    Output save;
    Operation restore;
    Operation restore_variables, restore_iterators;  // null: no iterators
    Operation mark;  // null: it marks nothing before it saves
    // Additional inputs of a save; null in graphs of TensorFlow, as is `sees`.
    Output shard_folder, marker, marker_contents;
    std::vector<Output> sees_marker;  // by task
    bool writes_v1 = false;           // SaverDef::writes_v1
  };
  Saver(const Scope& scope, SaverOptions options, const Nodes& nodes);

  static void FindOwnNodes(const Graph& graph, Nodes& nodes);
  // Feeds of a save at `path`.
  FeedList Feeds(const std::string& path, uint64_t number) const;
  absl::Status SaveAlone(Session& session, const std::string& save_path,
                         const std::string& path, const SaveOptions& options);
  // Writes the checkpoint.
  absl::Status Write(Session& session, const std::string& path, uint64_t number,
                     const SaveOptions& options);
  // Checks that this process finds the checkpoint.
  absl::Status CheckExists(FileSystem& files, const std::string& path);
  // Counts old checkpoints that another process was about to delete, and
  // checkpoints of saves that failed after their commit, unless a state file
  // names them: then they are kept forever. `path` is the one to be saved.
  absl::Status TakeOverOldCheckpoints(FileSystem& files,
                                      const std::string& save_path,
                                      const std::string& path,
                                      const std::string& latest_filename);
  // Complete checkpoints that failed saves to a prefix other than `path` have
  // left.
  std::vector<UnfinishedSaves::OldCheckpoint> WholeOnes(
      FileSystem& files, const std::string& path) const;
  // The steps after a save: writes graph and state, deletes old checkpoints.
  absl::Status FinishSave(Session& session, FileSystem& files,
                          const std::string& path, const SaveOptions& options);
  // FAILED_PRECONDITION, naming tasks that do not see the program's files.
  absl::Status CheckThatTasksSee(Session& session,
                                 const UnfinishedSaves::Marker& marker);
  absl::Status LockSaves(Scheduler& scheduler) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns false if another save is running.
  bool TryLockSaves() ABSL_LOCKS_EXCLUDED(mutex_);
  void UnlockSaves() ABSL_LOCKS_EXCLUDED(mutex_);
  FileSystem& FilesOf(const Session& session);
  absl::Time Now() const;
  absl::Status WriteGraph(FileSystem& files, const std::string& path);
  void DeleteOld(FileSystem& files);
  bool IsKept(const std::string& path) const;
  // Checkpoints that the next save may delete.
  std::vector<std::string> OldCheckpoints() const;
  // Adds a checkpoint to the kept ones, and drops those beyond the limit.
  void CountCheckpoint(const std::string& path);
  absl::Status WriteState(FileSystem& files, const std::string& path,
                          const std::string& latest_filename);

  const Scope scope_;
  const SaverOptions options_;
  LocalFileSystem local_files_;
  MonotoneClock own_clock_;
  Nodes nodes_;
  absl::Mutex mutex_;
  bool is_saving_ ABSL_GUARDED_BY(mutex_) = false;
  // These wait for the end of a save.
  std::vector<Event*> waiting_ ABSL_GUARDED_BY(mutex_);
  // The following members are used only by the running save. own_random_ is
  // null where the options bring one.
  const std::unique_ptr<Random> own_random_;
  Random& random_;
  UnfinishedSaves unfinished_;
  std::deque<Kept> kept_;
  std::vector<std::string> to_delete_;  // counted out, and may be there
  // Checkpoints that another process was to delete under the path of the last
  // save, before it is known whether a state file names them.
  std::vector<UnfinishedSaves::OldCheckpoint> recovered_;
  absl::Time next_to_keep_for_good_ = absl::InfiniteFuture();
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SAVING_SAVER_H_
