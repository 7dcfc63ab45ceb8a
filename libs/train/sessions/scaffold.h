// Scaffold holds the operations that start a training; TensorFlow's
// tf.train.Scaffold. Operations that a program does not give are taken from
// collections with TensorFlow's names ("init_op", "ready_op", ...), or created
// when the scaffold is finalized:
//
//   init_op                  initialises all global variables
//   ready_op                 names of global and local variables without value
//   ready_for_local_init_op  names of global variables without value
//   local_init_op            initialises local variables and tables
//   saver                    of all global variables, sharded; none where there
//                            are none. In the collection "savers" by its
//                            SaverDef, so that a second scaffold of the graph,
//                            here or where it is imported, goes by its nodes
//
// Threads: as the scope's; a finalized scaffold is immutable.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_SCAFFOLD_H_
#define WEFT_LIBS_TRAIN_SESSIONS_SCAFFOLD_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/train/saving/saver.h"

namespace weft::train {

// Initializers of variables, keyed by the node of the variable.
using VariableInitializers = absl::flat_hash_map<const Node*, Operation>;

struct ScaffoldOptions {
  // If null, taken from the collection or created, as the comment at the top
  // says.
  Operation init_op;
  FeedList init_feeds;  // feeds of init_op
  // Operations that replace the own initializers of these variables in an
  // init_op that the scaffold creates (warm_start.h).
  VariableInitializers initializers;
  // Function for other initialization, called after init_op.
  std::function<absl::Status(Session&)> init_fn;
  // Vectors of strings that name what is not initialized yet.
  Output ready_op;
  Output ready_for_local_init_op;
  Operation local_init_op;
  Output summary_op;
  std::shared_ptr<Saver> saver;
  // Options of a saver that is created, for all global variables that exist
  // when the scaffold is finalized. Unset: sharded, otherwise default options.
  std::optional<SaverOptions> saver_options;
};

class Scaffold {
 public:
  explicit Scaffold(ScaffoldOptions options = {});

  // INVALID_ARGUMENT for a scaffold with its own init_op, which would ignore
  // them. REQUIRES: not finalized.
  absl::Status SetInitializers(VariableInitializers initializers);

  // Sets the options of a created saver, unless the program gave a saver or
  // options.
  void SetDefaultSaverOptions(SaverOptions options);

  // Adds missing nodes to the graph, in the first call. INVALID_ARGUMENT if a
  // collection holds several entries; or the scope's error.
  absl::Status Finalize(const Scope& scope);
  bool is_finalized() const { return is_finalized_; }
  // Returns an op, added to the graph, that initializes local variables and
  // tables.
  static Operation DefaultLocalInitOp(const Scope& scope);

  const Operation& init_op() const { return options_.init_op; }
  const FeedList& init_feeds() const { return options_.init_feeds; }
  const std::function<absl::Status(Session&)>& init_fn() const {
    return options_.init_fn;
  }
  const Output& ready_op() const { return options_.ready_op; }
  const Output& ready_for_local_init_op() const {
    return options_.ready_for_local_init_op;
  }
  const Operation& local_init_op() const { return options_.local_init_op; }
  // Null if the graph has no summaries.
  const Output& summary_op() const { return options_.summary_op; }
  const std::shared_ptr<Saver>& saver() const { return options_.saver; }
  // Whether local initialization requires only that all global variables have
  // values: false if the program has its own ready_for_local_init_op, which
  // alone knows the requirement.
  bool waits_for_variables() const { return waits_for_variables_; }

 private:
  absl::Status FindOrMake(const Scope& scope);
  absl::Status FindOrMakeSaver(const Scope& scope);

  ScaffoldOptions options_;
  bool waits_for_variables_ = false;
  bool is_finalized_ = false;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_SCAFFOLD_H_
