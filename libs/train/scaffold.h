// Scaffold: the operations with which a training begins, TensorFlow's
// tf.train.Scaffold. What a program does not give is found in the collections
// of TensorFlow's names ("init_op", "ready_op", ...), or made when the scaffold
// is finalized:
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
// Threads: as the scope's; what is finalized does not change any more.
#ifndef WEFT_LIBS_TRAIN_SCAFFOLD_H_
#define WEFT_LIBS_TRAIN_SCAFFOLD_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/train/saver.h"

namespace weft::train {

// Initializers of variables, by the nodes that hold these.
using VariableInitializers = absl::flat_hash_map<const Node*, Operation>;

struct ScaffoldOptions {
  // Null: see above.
  Operation init_op;
  FeedList init_feeds;  // of init_op
  // Of an init_op that is made: what it runs instead of those variables' own
  // initializers (warm_start.h).
  VariableInitializers initializers;
  // Called after init_op: what else gives variables their first values.
  std::function<absl::Status(Session&)> init_fn;
  // Each a vector of strings: what is still missing.
  Output ready_op;
  Output ready_for_local_init_op;
  Operation local_init_op;
  Output summary_op;
  std::shared_ptr<Saver> saver;
  // Of a saver that is made, of all global variables that there are when the
  // scaffold is finalized; none: sharded, and else as they are.
  std::optional<SaverOptions> saver_options;
};

class Scaffold {
 public:
  explicit Scaffold(ScaffoldOptions options = {});

  // INVALID_ARGUMENT for a scaffold with an init_op, which does not go by them.
  // REQUIRES: not finalized.
  absl::Status SetInitializers(VariableInitializers initializers);

  // Of a saver that is made, where the program's options say nothing of one:
  // its own saver, or options of one, stay.
  void SetDefaultSaverOptions(SaverOptions options);

  // Adds what is lacking to the graph; the first call does. INVALID_ARGUMENT
  // where a collection holds several; the scope's error.
  absl::Status Finalize(const Scope& scope);
  bool is_finalized() const { return is_finalized_; }
  // What initialises local variables and tables; added to the graph.
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
  // Null where the graph has no summaries.
  const Output& summary_op() const { return options_.summary_op; }
  const std::shared_ptr<Saver>& saver() const { return options_.saver; }
  // Whether local initialisation needs that all global variables have values,
  // and nothing else: false where the program has its own
  // ready_for_local_init_op, which alone knows what is needed.
  bool waits_for_variables() const { return waits_for_variables_; }

 private:
  absl::Status FindOrMake(const Scope& scope);
  absl::Status FindOrMakeSaver(const Scope& scope);

  ScaffoldOptions options_;
  bool waits_for_variables_ = false;
  bool is_finalized_ = false;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SCAFFOLD_H_
