#include "libs/protocol/master/graph_options.h"

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "schemas/tf/config.pb.h"

namespace weft {
namespace {

TEST(GraphOptionsTest, EverySwitchRoundTrips) {
  GraphOptions options;
  options.optimizer_options = {.opt_level = OptimizerOptions::kL0,
                               .do_common_subexpression_elimination = true,
                               .do_constant_folding = true,
                               .max_folded_constant_in_bytes = 1234};
  options.rewrite_options = {.constant_folding = RewriterConfig::kOff,
                             .common_subgraph_elimination = RewriterConfig::kOn,
                             .arithmetic_optimization = RewriterConfig::kOff,
                             .dependency_optimization = RewriterConfig::kOn,
                             .remapping = RewriterConfig::kOff,
                             .disable_meta_optimizer = true};
  ASSERT_OK_AND_ASSIGN(const GraphOptions read,
                       GraphOptionsFromConfig(GraphOptionsToConfig(options)));
  EXPECT_EQ(read, options);
}

TEST(GraphOptionsTest, TheDefaultsTakeNoBytes) {
  EXPECT_EQ(GraphOptionsToConfig({}), "");
  ASSERT_OK_AND_ASSIGN(const GraphOptions read, GraphOptionsFromConfig(""));
  EXPECT_EQ(read, GraphOptions());
}

TEST(GraphOptionsTest, ConfigOfOtherWritersIsParsed) {
  tf::ConfigProto config;
  config.set_allow_soft_placement(true);
  auto* rewrites = config.mutable_graph_options()->mutable_rewrite_options();
  rewrites->set_arithmetic_optimization(tf::RewriterConfig::AGGRESSIVE);
  rewrites->set_constant_folding(static_cast<tf::RewriterConfig::Toggle>(99));
  ASSERT_OK_AND_ASSIGN(const GraphOptions read,
                       GraphOptionsFromConfig(config.SerializeAsString()));
  EXPECT_EQ(read.rewrite_options.arithmetic_optimization, RewriterConfig::kOn);
  EXPECT_EQ(read.rewrite_options.constant_folding, RewriterConfig::kOn);
  EXPECT_EQ(read.optimizer_options, OptimizerOptions());
}

// Its length is that of a short config, modulo 2^32. The bytes are never read.
TEST(GraphOptionsTest, ConfigBeyondProtobufLimitIsRefused) {
  const std::string config = GraphOptionsToConfig(NoRewrites());
  const absl::string_view huge(config.data(),
                               config.size() + (size_t{1} << 32));
  EXPECT_EQ(GraphOptionsFromConfig(huge).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(GraphOptionsTest, DamagedBytesAreRefused) {
  EXPECT_EQ(GraphOptionsFromConfig("\xff\xff").status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weft
