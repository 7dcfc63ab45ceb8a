// GraphOptions are the options for rewriting a session's graphs: ConfigProto's
// graph_options, as far as Weft supports them. Names, numbers and defaults are
// TensorFlow's (core/protobuf/config.proto, rewriter_config.proto).
//
// Values and functions without state.
#ifndef WEFT_LIBS_PROTOCOL_MASTER_GRAPH_OPTIONS_H_
#define WEFT_LIBS_PROTOCOL_MASTER_GRAPH_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

struct OptimizerOptions {
  // With kL1, common subexpressions are merged and constants are folded. With
  // kL0, only rewrites that are requested explicitly are done.
  enum Level { kL1 = 0, kL0 = -1 };

  Level opt_level = kL1;
  bool do_common_subexpression_elimination = false;
  bool do_constant_folding = false;
  // The maximum size of a folded constant in bytes; 0 means 100 KB.
  int64_t max_folded_constant_in_bytes = 0;

  friend bool operator==(const OptimizerOptions&,
                         const OptimizerOptions&) = default;
};

struct RewriterConfig {
  enum Toggle { kDefault = 0, kOn = 1, kOff = 2 };

  Toggle constant_folding = kDefault;
  Toggle common_subgraph_elimination = kDefault;
  Toggle arithmetic_optimization = kDefault;
  // Removes Identity and NoOp nodes.
  Toggle dependency_optimization = kDefault;
  // Fuses products and convolutions with elementwise operations on their
  // results, and chains of these, into one node. kDefault is off.
  Toggle remapping = kDefault;
  // Turns the last three rewrites off, whatever their values.
  bool disable_meta_optimizer = false;

  friend bool operator==(const RewriterConfig&,
                         const RewriterConfig&) = default;
};

struct GraphOptions {
  OptimizerOptions optimizer_options;
  RewriterConfig rewrite_options;

  friend bool operator==(const GraphOptions&, const GraphOptions&) = default;
};

// Turns every rewrite off: graphs run as they were built.
GraphOptions NoRewrites();
// Turns every rewrite on, also those that are off by default.
GraphOptions AllRewrites();

// Returns the options as a serialized weft.tf.ConfigProto; empty for the
// defaults.
std::string GraphOptionsToConfig(const GraphOptions& options);
// Reads the options from a serialized weft.tf.ConfigProto. Returns
// INVALID_ARGUMENT for bytes that do not parse. Unsupported options are
// ignored.
absl::StatusOr<GraphOptions> GraphOptionsFromConfig(absl::string_view config);

}  // namespace weft

#endif  // WEFT_LIBS_PROTOCOL_MASTER_GRAPH_OPTIONS_H_
