#include "libs/resource/resource_manager.h"

#include <thread>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

class Thing : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Thing";
  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override { return "a thing"; }
};

class Other : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Other";
  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override { return "another"; }
};

// A step that is never cancelled.
const Cancellation step;

absl::StatusOr<std::shared_ptr<Thing>> MakeThing() {
  return std::make_shared<Thing>();
}

TEST(ResourceManagerTest, FindsOnlyTheCreatedResource) {
  ResourceManager manager("ps");
  EXPECT_THAT(manager.Lookup<Thing>("", "x"),
              StatusIs(absl::StatusCode::kNotFound,
                       "Resource ps/x/Thing does not exist."));
  ASSERT_OK_AND_ASSIGN(auto made,
                       manager.LookupOrCreate<Thing>(step, "", "x", MakeThing));
  ASSERT_OK_AND_ASSIGN(auto found, manager.Lookup<Thing>("ps", "x"));
  EXPECT_EQ(made, found);
  EXPECT_THAT(manager.Lookup<Other>("", "x"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(manager.Lookup<Thing>("other", "x"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(ResourceManagerTest, FailedCreateKeepsNoResource) {
  ResourceManager manager("ps");
  auto fail = []() -> absl::StatusOr<std::shared_ptr<Thing>> {
    return absl::UnavailableError("no");
  };
  EXPECT_THAT(manager.LookupOrCreate<Thing>(step, "", "x", fail),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(manager.List().empty());
}

TEST(ResourceManagerTest, ResourcesOutliveTheirContainerWhileUsed) {
  ResourceManager manager("ps");
  ASSERT_OK_AND_ASSIGN(
      auto x, manager.LookupOrCreate<Thing>(step, "a", "x", MakeThing));
  ASSERT_OK(manager.LookupOrCreate<Thing>(step, "", "x", MakeThing));
  const uint64_t generation = manager.generation();
  manager.ClearContainer("missing");
  EXPECT_EQ(manager.generation(), generation);
  manager.ClearContainer("a");
  EXPECT_GT(manager.generation(), generation);
  EXPECT_EQ(x->DebugString(), "a thing");
  EXPECT_THAT(manager.Lookup<Thing>("a", "x"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_OK(manager.Lookup<Thing>("", "x"));
  manager.ClearContainer("");
  EXPECT_TRUE(manager.List().empty());
}

TEST(ResourceManagerTest, DeleteRemovesOnlyThatResource) {
  ResourceManager manager("ps");
  ASSERT_OK(manager.LookupOrCreate<Thing>(step, "", "x", MakeThing));
  ASSERT_OK(manager.LookupOrCreate<Thing>(step, "", "y", MakeThing));
  const uint64_t generation = manager.generation();
  EXPECT_OK(manager.Delete<Thing>(step, "", "x"));
  EXPECT_THAT(manager.Delete<Thing>(step, "", "x"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(manager.generation(), generation + 1);
  ASSERT_EQ(manager.List().size(), 1u);
  EXPECT_EQ(manager.List()[0].name, "y");
  EXPECT_EQ(manager.List()[0].container, "ps");
}

TEST(ResourceManagerTest, PrivateResourceEndsWithItsLastReference) {
  ResourceManager manager("ps");
  std::string name, other_name;
  auto made = manager.AddPrivate<Thing>("", "x", [&](const std::string& n) {
    name = n;
    return std::make_shared<Thing>();
  });
  auto other = manager.AddPrivate<Thing>("", "x", [&](const std::string& n) {
    other_name = n;
    return std::make_shared<Thing>();
  });
  EXPECT_NE(name, other_name);
  ASSERT_OK_AND_ASSIGN(auto found, manager.Lookup<Thing>("", name));
  EXPECT_EQ(found, made);
  found.reset();
  made.reset();
  EXPECT_THAT(manager.Lookup<Thing>("", name),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_OK(manager.Lookup<Thing>("ps", other_name));
  // Clearing a container changes the generation even if no shared resource was
  // removed, because a pointer to a private resource may be cached.
  const uint64_t generation = manager.generation();
  manager.ClearContainer("ps");
  EXPECT_GT(manager.generation(), generation);
  EXPECT_THAT(manager.Lookup<Thing>("", other_name),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(ResourceManagerTest, ConcurrentCreatesReturnOneResource) {
  ResourceManager manager("ps");
  constexpr int kThreads = 8;
  std::shared_ptr<Thing> found[kThreads];
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      found[i] = *manager.LookupOrCreate<Thing>(step, "", "x", MakeThing);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 1; i < kThreads; ++i) EXPECT_EQ(found[i], found[0]);
}

TEST(ValidateContainerNameTest, FollowsTensorFlow) {
  for (const char* name : {"", "a", "0", ".hidden", "a_b/c-d.e"}) {
    EXPECT_OK(ValidateContainerName(name)) << name;
  }
  for (const char* name : {"_a", "/a", "-", "a b", "a:b", "\xc3\xa9"}) {
    EXPECT_THAT(ValidateContainerName(name),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << name;
  }
}

TEST(ResourceManagerTest, CancelledStepNeitherCreatesNorDeletes) {
  ResourceManager manager("ps");
  ASSERT_OK(manager.LookupOrCreate<Thing>(step, "", "x", MakeThing));
  Cancellation cancelled;
  const absl::Status cause = absl::AbortedError("the step is over");
  cancelled.Cancel(cause);
  EXPECT_EQ(
      manager.LookupOrCreate<Thing>(cancelled, "", "y", MakeThing).status(),
      cause);
  EXPECT_EQ(manager.Delete<Thing>(cancelled, "", "x"), cause);
  EXPECT_OK(manager.LookupOrCreate<Thing>(cancelled, "", "x", MakeThing));
  EXPECT_EQ(manager.List().size(), 1u);
}

// Asker is a resource whose DebugString waits for another thread that uses the
// manager.
class Asker : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Asker";
  explicit Asker(ResourceManager& manager) : manager_(manager) {}
  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override {
    std::thread user([&] {
      EXPECT_OK(manager_.LookupOrCreate<Thing>(step, "", "x", MakeThing));
    });
    user.join();
    return "asked";
  }

 private:
  ResourceManager& manager_;
};

TEST(ResourceManagerTest, ResourcesAreDescribedWithoutTheLock) {
  ResourceManager manager("ps");
  ASSERT_OK(manager.LookupOrCreate<Asker>(
      step, "", "asker", [&]() -> absl::StatusOr<std::shared_ptr<Asker>> {
        return std::make_shared<Asker>(manager);
      }));
  const auto entries = manager.List();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].description, "asked");
}

TEST(ResourceManagerTest, CreationNotifiesWaiters) {
  ResourceManager manager("worker");
  Cancellation waits, cancelled;
  std::vector<absl::Status> told;
  const auto record = [&](const absl::Status& status) {
    told.push_back(status);
  };
  manager.WhenCreated<Thing>(waits, "", "x", record);
  manager.WhenCreated<Thing>(cancelled, "worker", "x", record);
  // Creating a resource with another name, container or type does not notify
  // the waiting caller.
  ASSERT_OK(manager.LookupOrCreate<Thing>(step, "", "y", MakeThing));
  ASSERT_OK(manager.LookupOrCreate<Thing>(step, "box", "x", MakeThing));
  ASSERT_OK(manager.LookupOrCreate<Other>(
      step, "", "x", []() -> absl::StatusOr<std::shared_ptr<Other>> {
        return std::make_shared<Other>();
      }));
  EXPECT_TRUE(told.empty());
  cancelled.Cancel(absl::CancelledError("enough"));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(absl::IsCancelled(told[0]));
  ASSERT_OK(manager.LookupOrCreate<Thing>(step, "", "x", MakeThing));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_OK(told[1]);
  manager.WhenCreated<Thing>(waits, "", "x", record);  // x already exists
  EXPECT_EQ(told.size(), 3u);
}

// The callback looks up the created resource, so it must run without the
// manager's lock.
TEST(ResourceManagerTest, WaiterMayCallTheManager) {
  ResourceManager manager("worker");
  Cancellation waits;
  bool found = false;
  manager.WhenCreated<Thing>(waits, "", "x", [&](const absl::Status&) {
    found = manager.Lookup<Thing>("", "x").ok();
  });
  ASSERT_OK(manager.LookupOrCreate<Thing>(step, "", "x", MakeThing));
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace weft
