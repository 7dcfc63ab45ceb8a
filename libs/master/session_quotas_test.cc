#include "libs/master/session_quotas.h"

#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

constexpr char kTask[] = "/job:worker/replica:0/task:3";
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

Tensor Bytes(int64_t count) { return Tensor(DT_UINT8, TensorShape({count})); }

TEST(SessionQuotasTest, FeedsAreCountedUntilReleased) {
  FedBytes fed;
  const protocol::CallableSpec spec{.feeds = {"a:0", "b:0"}};
  const std::vector<Tensor> feeds = {Bytes(100), Bytes(300)};
  ASSERT_OK_AND_ASSIGN(const int64_t first, fed.Take(feeds, 900, spec, kTask));
  EXPECT_EQ(first, 400);
  ASSERT_OK(fed.Take(feeds, 900, spec, kTask));
  const auto refused = fed.Take(feeds, 900, spec, kTask);
  for (const char* text : {"feed b:0 of 300 bytes", kTask, "400 bytes of feeds",
                           "800 of the 900", "max_fed_bytes_per_session"}) {
    EXPECT_THAT(refused, StatusIs(kExhausted, text));
  }
  fed.GiveBack(first);
  EXPECT_OK(fed.Take(feeds, 900, spec, kTask));
}

TEST(SessionQuotasTest, StepsWithoutFeedsAlwaysFit) {
  FedBytes fed;
  EXPECT_OK(fed.Take({}, 0, {}, kTask));
  const protocol::CallableSpec spec{.feeds = {"empty:0"}};
  EXPECT_OK(fed.Take(std::vector<Tensor>{Bytes(0)}, 0, spec, kTask));
}

TEST(SessionQuotasTest, EverythingFitsWithoutLimits) {
  FedBytes fed;
  const SessionQuotas none;
  const protocol::CallableSpec spec{.feeds = {"a:0"}};
  const std::vector<Tensor> feeds = {Bytes(1000)};
  for (int i = 0; i < 3; ++i) {
    EXPECT_OK(fed.Take(feeds, none.max_fed_bytes, spec, kTask));
  }
  EXPECT_OK(none.CheckGraph(int64_t{1} << 40, size_t{1} << 40, kTask));
  EXPECT_OK(none.CheckCallables(1'000'000, kTask));
}

TEST(SessionQuotasTest, GraphsAndCallablesAreBounded) {
  const SessionQuotas quotas{.max_graph_bytes = 1000, .max_callables = 2};
  EXPECT_OK(quotas.CheckGraph(400, 600, kTask));
  EXPECT_THAT(quotas.CheckGraph(400, 601, kTask),
              StatusIs(kExhausted, "max_graph_bytes_per_session"));
  EXPECT_OK(quotas.CheckCallables(1, kTask));
  EXPECT_THAT(quotas.CheckCallables(2, kTask),
              StatusIs(kExhausted, "max_callables_per_session"));
}

}  // namespace
}  // namespace weft
