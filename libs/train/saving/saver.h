// Saver adds nodes to a graph that write its variables to checkpoints and read
// them back, runs these nodes, and deletes old checkpoints of a directory. It
// corresponds to TensorFlow's tf.train.Saver, with the same node names.
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
// variable and its slots are captured atomically. Values received from other
// tasks are snapshots, like fetched values. Unrelated variables may be some
// steps apart, unless SaveConsistency::kStep is set.
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
// Threads: the constructor is as thread-safe as the scope. Save and Restore
// block, and may be called from any thread while others run the session, but
// not while the graph is extended; saves are serialized. LastCheckpoints must
// not be called during a save. Construction errors stick to the scope.
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
  // A variable and its slots are captured atomically, which is more than
  // TensorFlow guarantees.
  kVariable,
  // A checkpoint contains only whole steps of all sessions, on any number of
  // tasks. Before the variables are marked, running steps that write saved
  // variables must end, and no such step starts. Then all steps continue, while
  // the marked values are written. The save does not wait for other steps
  // (queue runners, steps that add gradients to accumulators, evaluations). It
  // does wait for a step that takes gradients out of accumulators and applies
  // them, so none of these gradients may come from the thread that saves. If
  // variables are on several tasks, save `sharded`: otherwise the values are
  // sent to one task while steps are stopped.
  kStep,
};

struct SaverOptions {
  // Variables to save, with their names in checkpoints. A part of a partitioned
  // variable uses the name of the whole variable. Empty: the variables in the
  // collections "variables" and "saveable_objects", under their own names.
  std::vector<std::pair<std::string, ops::Variable>> var_list;
  // Iterators whose positions are saved, each under the name of its handle
  // followed by "_STATE". If var_list and iterators are both empty, the
  // iterators of Iterator::MakeSaveable are saved, too.
  std::vector<ops::Iterator> iterators;
  bool sharded = false;
  // Number of checkpoints to keep; 0: all are kept, and saves are not counted.
  // With 0, recovered checkpoints (RecoverLastCheckpoints) stay in the state
  // file.
  int max_to_keep = 5;
  // One checkpoint per interval is kept forever.
  absl::Duration keep_checkpoint_every = absl::Hours(10000);
  // Write rate limit of each task, to leave bandwidth for training; 0: no
  // limit.
  int64_t max_bytes_per_second = 0;
  SaveConsistency consistency = SaveConsistency::kVariable;
  // Only for kStep: how long running steps may take to end. After that time the
  // save fails with DEADLINE_EXCEEDED, and names one of the steps.
  absl::Duration max_hold = absl::Seconds(2);
  // How long a save waits for a running save of the same saver. After that time
  // it fails with FAILED_PRECONDITION; with 0, immediately.
  absl::Duration max_wait = absl::Minutes(10);
  // Whether the state file names checkpoints relative to its directory, so that
  // the directory may be moved. If false, paths are relative only if the path
  // of the directory is relative.
  bool save_relative_paths = false;
  // Name scope of the saver's nodes.
  std::string name = "save";
  // File system with which this process accesses the checkpoints; must outlive
  // the saver. Null: the file system of the session's process
  // (Session::file_system).
  FileSystem* file_system = nullptr;
  // Clock and random numbers; must outlive the saver. Null: those of the
  // system.
  const Clock* clock = nullptr;
  Random* random = nullptr;
};

struct SaveOptions {
  // Step that is appended to the path, for example "-100".
  std::optional<int64_t> global_step;
  // Name of the state file. Programs that save into one directory at the same
  // time each need their own state file and save_path.
  std::string latest_filename = "checkpoint";
  // Whether to update the state file. If false, the checkpoint is not counted:
  // no old checkpoint is deleted for it, and it is never deleted.
  bool write_state = true;
  // Whether this process writes the graph to MetaGraphFilename(path), in
  // SaverOptions::file_system, beside the state file.
  bool write_meta_graph = true;
  // Only for kStep: receives the function `mark`, which marks the variables,
  // and must call it when the variables are consistent, as hooks do
  // (SessionRunHook::SaveBetweenUpdates). Its error is returned by the save.
  // Null: variables are marked at once.
  std::function<absl::Status(absl::FunctionRef<absl::Status()> mark)>
      when_to_mark;
};

class Saver {
 public:
  // Adds the nodes to the graph. INVALID_ARGUMENT sticks to the scope if there
  // is nothing to save, two variables have the same name, or a required shape
  // is unknown.
  explicit Saver(const Scope& scope, SaverOptions options = {});
  // Returns a saver whose nodes are in an imported graph already. Only
  // file_system and clock of `options` are used, because `def` defines the
  // other options. INVALID_ARGUMENT if `def` names a node that the graph does
  // not have, or that is of another kind.
  static absl::StatusOr<std::unique_ptr<Saver>> FromSaverDef(
      const Scope& scope, const SaverDef& def, SaverOptions options = {});
  // Returns a description of the saver for FromSaverDef. REQUIRES: construction
  // did not fail.
  SaverDef def() const;

  // Saves the variables and returns the prefix of the checkpoint, which is then
  // durable. Checkpoints beyond max_to_keep are deleted once the state file no
  // longer names them; a failed deletion is retried after the next save. Before
  // the save, leftovers of earlier saves to the same path are deleted, which
  // are recorded in SAVE_PATH.saving (unfinished_saves.h). No other process may
  // save to that path at the same time.
  //
  // FAILED_PRECONDITION, before anything is written, if a task does not see the
  // files of this process because they share no disk. In that case use the path
  // of a checkpoint writer or an object store; or write neither state nor
  // graph, so that this process accesses and checks no file. It is also
  // FAILED_PRECONDITION if this process does not find the written checkpoint.
  // INVALID_ARGUMENT for a path that does not end with a name. UNIMPLEMENTED
  // for a saver of an imported graph that writes TensorFlow's format V1.
  absl::StatusOr<std::string> Save(Session& session,
                                   const std::string& save_path,
                                   const SaveOptions& options = {});
  // Restores the variables from the checkpoint with this prefix, or from files
  // of format V1 (checkpoint::CheckpointReader::Open). Also restores the
  // positions of iterators, which must have been initialized.
  absl::Status Restore(Session& session, const std::string& save_path);
  // Restore in two parts, for iterators whose initialization needs the
  // variables. A saver of a TensorFlow graph restores everything in
  // RestoreVariables.
  absl::Status RestoreVariables(Session& session, const std::string& save_path);
  absl::Status RestoreIterators(Session& session, const std::string& save_path);
  // Returns whether RestoreIterators has an effect.
  bool HasIterators() const {
    return static_cast<bool>(nodes_.restore_iterators);
  }

  // Returns the prefixes of the kept checkpoints that may be deleted, oldest
  // first.
  std::vector<std::string> LastCheckpoints() const;
  // Adopts the checkpoints of an earlier process, if their index exists. Of
  // these checkpoints, only those in the directory of later saves will be
  // deleted. Others may belong to another training, from which this one was
  // copied. `timestamps` are the times at which they were saved, in seconds
  // since 1970, as in the state file; missing entries count as now. Does
  // nothing during a save of this saver, possibly of a lost session, because
  // the current list is up to date then.
  absl::Status RecoverLastCheckpoints(
      const Session& session, const std::vector<std::string>& paths,
      const std::vector<double>& timestamps = {});

  // filename_tensor is fed the prefix. save_tensor returns the prefix when the
  // checkpoint is saved. restore_op restores the variables.
  Output filename_tensor() const { return nodes_.filename; }
  Output save_tensor() const { return nodes_.save; }
  Operation restore_op() const { return nodes_.restore; }

 private:
  struct Kept {
    std::string path;
    absl::Time time;
    bool is_recovered = false;  // whether another process saved it
  };

  struct Nodes {
    Output filename;
    Output save;
    Operation restore;
    // Null if there are no iterators.
    Operation restore_variables, restore_iterators;
    Operation mark;  // null if nothing is marked before a save
    // Additional inputs of a save. They and `sees_marker` are null in graphs of
    // TensorFlow.
    Output shard_folder, marker, marker_contents;
    std::vector<Output> sees_marker;  // by task: whether it sees the marker
    bool writes_v1 = false;           // SaverDef::writes_v1
  };
  Saver(const Scope& scope, SaverOptions options, const Nodes& nodes);

  static void FindOwnNodes(const Graph& graph, Nodes& nodes);
  // Returns the feeds of a save to `path`.
  FeedList Feeds(const std::string& path, uint64_t number) const;
  absl::Status SaveAlone(Session& session, const std::string& save_path,
                         const std::string& path, const SaveOptions& options);
  // Writes the checkpoint.
  absl::Status Write(Session& session, const std::string& path, uint64_t number,
                     const SaveOptions& options);
  // Checks that this process finds the written checkpoint.
  absl::Status CheckExists(FileSystem& files, const std::string& path);
  // Adopts old checkpoints that another process was about to delete, and
  // checkpoints of saves that failed after their commit. Checkpoints that a
  // state file names are kept forever instead. `path` is the checkpoint about
  // to be saved.
  absl::Status TakeOverOldCheckpoints(FileSystem& files,
                                      const std::string& save_path,
                                      const std::string& path,
                                      const std::string& latest_filename);
  // Returns complete checkpoints that were left by failed saves to prefixes
  // other than `path`.
  std::vector<UnfinishedSaves::OldCheckpoint> WholeOnes(
      FileSystem& files, const std::string& path) const;
  // Runs the steps after a save: writes graph and state file, and deletes old
  // checkpoints.
  absl::Status FinishSave(Session& session, FileSystem& files,
                          const std::string& path, const SaveOptions& options);
  // Returns FAILED_PRECONDITION, which names tasks that do not see the
  // program's files.
  absl::Status CheckThatTasksSee(Session& session,
                                 const UnfinishedSaves::Marker& marker);
  absl::Status LockSaves(Scheduler& scheduler) ABSL_LOCKS_EXCLUDED(mutex_);
  // TryLockSaves returns false if another save is running.
  bool TryLockSaves() ABSL_LOCKS_EXCLUDED(mutex_);
  void UnlockSaves() ABSL_LOCKS_EXCLUDED(mutex_);
  FileSystem& FilesOf(const Session& session);
  absl::Time Now() const;
  absl::Status WriteGraph(FileSystem& files, const std::string& path);
  void DeleteOld(FileSystem& files);
  bool IsKept(const std::string& path) const;
  // Returns the checkpoints that the next save may delete.
  std::vector<std::string> OldCheckpoints() const;
  // Adds a checkpoint to the kept checkpoints, and drops checkpoints beyond the
  // limit.
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
  // Events of threads that wait for the end of a save.
  std::vector<Event*> waiting_ ABSL_GUARDED_BY(mutex_);
  // The following members are used only by the running save. own_random_ is
  // null if the options have a Random.
  const std::unique_ptr<Random> own_random_;
  Random& random_;
  UnfinishedSaves unfinished_;
  std::deque<Kept> kept_;
  // Not counted any more, but may still exist.
  std::vector<std::string> to_delete_;
  // Checkpoints under the path of the last save that another process was about
  // to delete. It is not known yet whether a state file names them.
  std::vector<UnfinishedSaves::OldCheckpoint> recovered_;
  absl::Time next_to_keep_for_good_ = absl::InfiniteFuture();
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SAVING_SAVER_H_
