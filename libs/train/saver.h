// Saver: adds to a graph the nodes that write its variables to checkpoints and
// read them back, runs them, and keeps a folder's checkpoints in order;
// TensorFlow's tf.train.Saver, by its names of nodes.
//
//   train::Saver saver(root);                             // all variables
//   session.Run(init);
//   saver.Save(session, "/job/model.ckpt", {.global_step = 100});
//   saver.Restore(session, "/job/model.ckpt-100");
//
// Parts of a partitioned variable, and slots beside these, are saved as slices
// of one tensor, so that another partition, or none, can be restored.
//
// A save disturbs training little: each task takes snapshots of the variables
// that it holds and writes from these (libs/passes/variable_saving.h), a
// variable and its slots at one moment. What it gets from other tasks it holds
// as a fetch does. Variables that do not belong together so may be some steps
// apart, unless SaveConsistency::kStep is asked for.
//
// Positions of data sets' iterators are saved likewise, each as one variant, so
// that a training goes on with the next element. They are of a moment between
// two elements, a moment that is the variables' only where no step runs
// meanwhile, or with SaveConsistency::kStep.
//
// Beside each checkpoint lies the graph that it is of, PREFIX.meta
// (meta_graph.h), so that another program can go on with it.
//
// Variables are written by the task that runs SaveV2 and read by the tasks that
// hold them. Sharded, each task writes its own variables, all at once, and the
// last one of them joins what they wrote, so it has to see the others' files:
// processes that share no disk save to a checkpoint writer
// ("zmq://host:port/model") or to an object store ("s3://bucket/model").
//
// Threads: made as the scope's. Save and Restore, which block, from any thread,
// while others run the session and none adds to the graph; one save runs at a
// time. LastCheckpoints while none runs. Errors of building stick to the scope.
#ifndef WEFT_LIBS_TRAIN_SAVER_H_
#define WEFT_LIBS_TRAIN_SAVER_H_

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
#include "libs/base/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/fs/local_file_system.h"
#include "libs/ops/data/iterator.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"
#include "libs/session/session.h"
#include "libs/train/meta_graph.h"
#include "libs/train/unfinished_saves.h"

namespace weft::train {

enum class SaveConsistency {
  // A variable and its slots are of one moment; TensorFlow promises less.
  kVariable,
  // No step is half in a checkpoint, whoever runs it, on however many tasks:
  // steps that write saved variables do not begin, and those that run end,
  // before the variables are marked. Then all go on, and what is marked is
  // written. Other steps (of queue runners, of those who put gradients into
  // accumulators, of evaluations) are not waited for; one that takes gradients
  // out and applies them is, so none of these may be to come from the thread
  // that saves. Where variables lie on several tasks, save `sharded`: else
  // their
  // values are sent while steps are held off.
  kStep,
};

struct SaverOptions {
  // Names in checkpoints, and what they are of. A part of a partitioned
  // variable goes by the name of the whole. Empty: the variables of the
  // collections "variables" and "saveable_objects", by their own names.
  std::vector<std::pair<std::string, ops::Variable>> var_list;
  // Iterators whose positions are saved, each under the name of its handle with
  // "_STATE" behind. Both lists empty: also those of Iterator::MakeSaveable.
  std::vector<ops::Iterator> iterators;
  bool sharded = false;
  // How many checkpoints stay; 0: all do, and none is counted in. Those that
  // were recovered (RecoverLastCheckpoints) stay in the state then.
  int max_to_keep = 5;
  // One each so often is kept for good.
  absl::Duration keep_checkpoint_every = absl::Hours(10000);
  // No task writes more, so that training goes on beside it; 0: as much as it
  // can.
  int64_t max_bytes_per_second = 0;
  SaveConsistency consistency = SaveConsistency::kVariable;
  // Of kStep: how long steps that run may take to end; else the save fails with
  // DEADLINE_EXCEEDED, naming one.
  absl::Duration max_hold = absl::Seconds(2);
  // How long a save waits for another one of this saver that runs, before it is
  // refused with FAILED_PRECONDITION; 0: at once.
  absl::Duration max_wait = absl::Minutes(10);
  // Whether the state names checkpoints by their paths from its folder on, so
  // that the whole may be moved; else so where the folder's path is relative.
  bool save_relative_paths = false;
  // Of the scope of the nodes.
  std::string name = "save";
  // Where the checkpoints lie, for what this process does with them; outlives
  // the saver. Null: where the session's process has its files
  // (Session::file_system).
  FileSystem* file_system = nullptr;
  // Both outlive the saver. Null: the machine's.
  const Clock* clock = nullptr;
  Random* random = nullptr;
};

struct SaveOptions {
  // Appended to the path, "-100".
  std::optional<int64_t> global_step;
  // Of the file that says which checkpoints there are. Programs that save into
  // one folder at the same time each need one of their own, and a save_path of
  // their own.
  std::string latest_filename = "checkpoint";
  // Without it the checkpoint is not counted either: none is deleted for it,
  // and nobody deletes it.
  bool write_state = true;
  // The graph, as MetaGraphFilename(path), written where the state is: by this
  // process, to SaverOptions::file_system.
  bool write_meta_graph = true;
  // Of SaveConsistency::kStep: is given what marks the variables, and calls it
  // at a moment of its own, as hooks do (SessionRunHook::SaveBetweenUpdates).
  // Its error is the save's. Null: they are marked at once.
  std::function<absl::Status(absl::FunctionRef<absl::Status()> mark)>
      when_to_mark;
};

class Saver {
 public:
  // INVALID_ARGUMENT sticks to the scope where there is nothing to save, two
  // variables have one name, or a variable's shape is needed and unknown.
  explicit Saver(const Scope& scope, SaverOptions options = {});
  // One whose nodes are in the graph already, in a graph that was imported. Of
  // `options` counts what is not in `def`: file_system and clock.
  // INVALID_ARGUMENT for a name of `def` that the graph has not, or that is
  // another kind of node.
  static absl::StatusOr<std::unique_ptr<Saver>> FromSaverDef(
      const Scope& scope, const SaverDef& def, SaverOptions options = {});
  // How it would be made again. REQUIRES: building it did not fail.
  SaverDef def() const;

  // Saves what the variables hold; the prefix of the checkpoint, which is
  // durable then. Checkpoints beyond those that are kept are deleted once the
  // state no longer names them; where that fails it is tried again after the
  // next save. First it deletes what earlier ones of the same name, which it
  // knows by the file SAVE_PATH.saving, have left (unfinished_saves.h). Nobody
  // else may be saving under that name at the time.
  //
  // FAILED_PRECONDITION, before anything is written, where a task does not see
  // the files of this process: they share no disk. The path is then one of a
  // checkpoint writer or an object store; or neither state nor graph are to be
  // written here, so that this process touches no file, and checks none. The
  // same, after it was written, where this process does not find it.
  // INVALID_ARGUMENT for a path that does not end with a name. UNIMPLEMENTED
  // for a saver of an imported graph that writes TensorFlow's format V1.
  absl::StatusOr<std::string> Save(Session& session,
                                   const std::string& save_path,
                                   const SaveOptions& options = {});
  // Sets the variables to what is in the checkpoint of that prefix, or of those
  // files of format V1 (checkpoint::CheckpointReader::Open), and makes the
  // iterators, which must have been initialized, go on from there.
  absl::Status Restore(Session& session, const std::string& save_path);
  // One of the two, where what initializes the iterators needs the variables.
  // A saver of TensorFlow's graph restores all by the first.
  absl::Status RestoreVariables(Session& session, const std::string& save_path);
  absl::Status RestoreIterators(Session& session, const std::string& save_path);
  // Whether the second one does anything.
  bool HasIterators() const {
    return static_cast<bool>(nodes_.restore_iterators);
  }

  // Prefixes of those that are kept and may be deleted, oldest first.
  std::vector<std::string> LastCheckpoints() const;
  // Goes on with those of a process that is gone: those whose index is there.
  // Of these only checkpoints in the directory of the later saves are deleted:
  // others may belong to another training, which this one was copied from.
  // `timestamps`: when they were saved, in seconds since 1970, as the state has
  // it; those that it does not know are of now. Does nothing while a save of
  // this saver runs, one of a session that is lost maybe: that counts already.
  absl::Status RecoverLastCheckpoints(
      const Session& session, const std::vector<std::string>& paths,
      const std::vector<double>& timestamps = {});

  // Feed: the prefix. Fetch: the prefix, once it is saved. Target: restores.
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
    // What a save is told besides; null in graphs of TensorFlow, as is `sees`.
    Output shard_folder, marker, marker_contents;
    std::vector<Output> sees_marker;  // by task
    bool writes_v1 = false;           // SaverDef::writes_v1
  };
  Saver(const Scope& scope, SaverOptions options, const Nodes& nodes);

  static void FindOwnNodes(const Graph& graph, Nodes& nodes);
  // What a save at `path` is fed.
  FeedList Feeds(const std::string& path, uint64_t number) const;
  absl::Status SaveAlone(Session& session, const std::string& save_path,
                         const std::string& path, const SaveOptions& options);
  // Writes the checkpoint.
  absl::Status Write(Session& session, const std::string& path, uint64_t number,
                     const SaveOptions& options);
  // Whether this process finds it.
  absl::Status CheckThatItIsThere(FileSystem& files, const std::string& path);
  // Counts those to be deleted that another process was about to delete, and
  // those of saves that failed after their commit, unless a state names them:
  // then they are somebody's for good. `path` is the one that is to be saved.
  absl::Status TakeOverOldOnes(FileSystem& files, const std::string& save_path,
                               const std::string& path,
                               const std::string& latest_filename);
  // The checkpoints that saves to another prefix than `path` have left, which
  // failed.
  std::vector<UnfinishedSaves::OldOne> WholeOnes(FileSystem& files,
                                                 const std::string& path) const;
  // What comes after: the graph, the state, the end of old ones.
  absl::Status CountAndTell(Session& session, FileSystem& files,
                            const std::string& path,
                            const SaveOptions& options);
  // FAILED_PRECONDITION, naming tasks that do not see the program's files.
  absl::Status CheckThatTasksSee(Session& session,
                                 const UnfinishedSaves::Marker& marker);
  absl::Status TakeTurn(Scheduler& scheduler) ABSL_LOCKS_EXCLUDED(mutex_);
  // False: another one has it.
  bool TakeFreeTurn() ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveTurn() ABSL_LOCKS_EXCLUDED(mutex_);
  FileSystem& FilesOf(const Session& session);
  absl::Time Now() const;
  absl::Status WriteGraph(FileSystem& files, const std::string& path);
  void DeleteOld(FileSystem& files);
  bool IsKept(const std::string& path) const;
  // Those that the next save may delete.
  std::vector<std::string> OldOnes() const;
  // Counts a checkpoint in, and others out.
  void CountIn(const std::string& path);
  absl::Status WriteState(FileSystem& files, const std::string& path,
                          const std::string& latest_filename);

  const Scope scope_;
  const SaverOptions options_;
  LocalFileSystem local_files_;
  MonotoneClock own_clock_;
  Nodes nodes_;
  absl::Mutex mutex_;
  bool is_saving_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Event*> waiting_
      ABSL_GUARDED_BY(mutex_);  // for the end of a save
  // What follows belongs to whoever saves.
  const std::unique_ptr<Random>
      own_random_;  // null where the options bring one
  Random& random_;
  UnfinishedSaves unfinished_;
  std::deque<Kept> kept_;
  std::vector<std::string> to_delete_;  // counted out, and may be there
  // That another process was to delete under the path of the last save; whether
  // a state names them is not known yet.
  std::vector<UnfinishedSaves::OldOne> recovered_;
  absl::Time next_to_keep_for_good_ = absl::InfiniteFuture();
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SAVER_H_
