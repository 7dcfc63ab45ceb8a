#include "libs/protocol/master/graph_options.h"

#include <limits>

#include "schemas/tf/config.pb.h"

namespace weft {
namespace {

// Levels above L1 and below L0 are old ones of TensorFlow.
OptimizerOptions::Level ReadLevel(int level) {
  return level < OptimizerOptions::kL1 ? OptimizerOptions::kL0
                                       : OptimizerOptions::kL1;
}

// AGGRESSIVE and the experimental values count as on.
RewriterConfig::Toggle ReadToggle(tf::RewriterConfig::Toggle toggle) {
  switch (toggle) {
    case tf::RewriterConfig::DEFAULT:
      return RewriterConfig::kDefault;
    case tf::RewriterConfig::OFF:
      return RewriterConfig::kOff;
    default:
      return RewriterConfig::kOn;
  }
}

tf::RewriterConfig::Toggle WriteToggle(RewriterConfig::Toggle toggle) {
  switch (toggle) {
    case RewriterConfig::kOn:
      return tf::RewriterConfig::ON;
    case RewriterConfig::kOff:
      return tf::RewriterConfig::OFF;
    case RewriterConfig::kDefault:
      break;
  }
  return tf::RewriterConfig::DEFAULT;
}

void WriteOptimizer(const OptimizerOptions& options,
                    tf::OptimizerOptions* proto) {
  proto->set_opt_level(options.opt_level == OptimizerOptions::kL0
                           ? tf::OptimizerOptions::L0
                           : tf::OptimizerOptions::L1);
  proto->set_do_common_subexpression_elimination(
      options.do_common_subexpression_elimination);
  proto->set_do_constant_folding(options.do_constant_folding);
  proto->set_max_folded_constant_in_bytes(options.max_folded_constant_in_bytes);
}

void WriteRewriter(const RewriterConfig& options, tf::RewriterConfig* proto) {
  proto->set_constant_folding(WriteToggle(options.constant_folding));
  proto->set_common_subgraph_elimination(
      WriteToggle(options.common_subgraph_elimination));
  proto->set_arithmetic_optimization(
      WriteToggle(options.arithmetic_optimization));
  proto->set_dependency_optimization(
      WriteToggle(options.dependency_optimization));
  proto->set_remapping(WriteToggle(options.remapping));
  proto->set_disable_meta_optimizer(options.disable_meta_optimizer);
}

OptimizerOptions ReadOptimizer(const tf::OptimizerOptions& proto) {
  return {.opt_level = ReadLevel(proto.opt_level()),
          .do_common_subexpression_elimination =
              proto.do_common_subexpression_elimination(),
          .do_constant_folding = proto.do_constant_folding(),
          .max_folded_constant_in_bytes = proto.max_folded_constant_in_bytes()};
}

RewriterConfig ReadRewriter(const tf::RewriterConfig& proto) {
  return {
      .constant_folding = ReadToggle(proto.constant_folding()),
      .common_subgraph_elimination =
          ReadToggle(proto.common_subgraph_elimination()),
      .arithmetic_optimization = ReadToggle(proto.arithmetic_optimization()),
      .dependency_optimization = ReadToggle(proto.dependency_optimization()),
      .remapping = ReadToggle(proto.remapping()),
      .disable_meta_optimizer = proto.disable_meta_optimizer()};
}

}  // namespace

GraphOptions NoRewrites() {
  GraphOptions options;
  options.optimizer_options.opt_level = OptimizerOptions::kL0;
  options.rewrite_options.disable_meta_optimizer = true;
  return options;
}

GraphOptions AllRewrites() {
  GraphOptions options;
  options.rewrite_options.remapping = RewriterConfig::kOn;
  return options;
}

std::string GraphOptionsToConfig(const GraphOptions& options) {
  if (options == GraphOptions()) return "";
  tf::ConfigProto config;
  tf::GraphOptions* proto = config.mutable_graph_options();
  WriteOptimizer(options.optimizer_options, proto->mutable_optimizer_options());
  WriteRewriter(options.rewrite_options, proto->mutable_rewrite_options());
  return config.SerializeAsString();
}

absl::StatusOr<GraphOptions> GraphOptionsFromConfig(absl::string_view config) {
  tf::ConfigProto proto;
  if (config.size() > std::numeric_limits<int>::max() ||
      !proto.ParseFromArray(config.data(), static_cast<int>(config.size()))) {
    return absl::InvalidArgumentError(
        "a session's config is not a serialized ConfigProto");
  }
  const tf::GraphOptions& graph_options = proto.graph_options();
  return GraphOptions{ReadOptimizer(graph_options.optimizer_options()),
                      ReadRewriter(graph_options.rewrite_options())};
}

}  // namespace weft
