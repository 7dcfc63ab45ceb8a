// GraphOptions: how a session wants its graphs treated: ConfigProto's
// graph_options, as far as Weft looks at them. Names, numbers and defaults are
// TensorFlow's (core/protobuf/config.proto, rewriter_config.proto).
//
// Values and functions without state.
#ifndef WEFT_LIBS_PROTOCOL_GRAPH_OPTIONS_H_
#define WEFT_LIBS_PROTOCOL_GRAPH_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

struct OptimizerOptions {
  // kL1: common subexpressions and constant folding; kL0: what is asked for.
  enum Level { kL1 = 0, kL0 = -1 };

  Level opt_level = kL1;
  bool do_common_subexpression_elimination = false;
  bool do_constant_folding = false;
  // A folded constant of more bytes is not kept; 0: 100 KB.
  int64_t max_folded_constant_in_bytes = 0;

  friend bool operator==(const OptimizerOptions&,
                         const OptimizerOptions&) = default;
};

struct RewriterConfig {
  enum Toggle { kDefault = 0, kOn = 1, kOff = 2 };

  Toggle constant_folding = kDefault;
  Toggle common_subgraph_elimination = kDefault;
  Toggle arithmetic_optimization = kDefault;
  // Identities and NoOps are removed.
  Toggle dependency_optimization = kDefault;
  // Products and convolutions with what is done to each of their elements, and
  // chains of that, become one node. kDefault leaves them.
  Toggle remapping = kDefault;
  // The last three are off, whatever they say.
  bool disable_meta_optimizer = false;

  friend bool operator==(const RewriterConfig&,
                         const RewriterConfig&) = default;
};

struct GraphOptions {
  OptimizerOptions optimizer_options;
  RewriterConfig rewrite_options;

  friend bool operator==(const GraphOptions&, const GraphOptions&) = default;
};

// Every rewrite off: graphs run as they were built.
GraphOptions NoRewrites();
// Every rewrite on, also those that must be asked for.
GraphOptions AllRewrites();

// As a serialised weft.tf.ConfigProto; empty for the defaults.
std::string GraphOptionsToConfig(const GraphOptions& options);
// INVALID_ARGUMENT for bytes that are none. What Weft does not look at is
// ignored.
absl::StatusOr<GraphOptions> GraphOptionsFromConfig(absl::string_view config);

}  // namespace weft

#endif  // WEFT_LIBS_PROTOCOL_GRAPH_OPTIONS_H_
