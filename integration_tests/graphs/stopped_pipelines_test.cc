// Tests that a stopped pipeline leaves no open file, thread or element in
// memory, however it was stopped. The error that stopped it must be reported.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/closable_file_system.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/runtime/process/process_usage.h"
#include "libs/tensor/buffer.h"

namespace weft {
namespace {

using ops::Dataset;
using Values = std::vector<Output>;

constexpr absl::Duration kLong = absl::Seconds(30);
constexpr char kWorker[] = "/job:worker/replica:0/task:0";

int64_t NumThreads() {
  LocalFileSystem machine;
  return ReadProcessUsage(machine).threads;
}

// An allocator that counts its blocks and the bytes in use.
class CountedMemory : public Allocator {
 public:
  BufferPtr Allocate(size_t bytes) override {
    ++num_blocks_;
    return BufferPtr::Adopt(new Block(*this, bytes));
  }
  int64_t bytes_in_use() const { return bytes_in_use_; }
  int64_t num_blocks() const { return num_blocks_; }  // blocks allocated so far

 private:
  class Block : public Buffer {
   public:
    Block(CountedMemory& memory, size_t bytes)
        : Block(memory, HeapAllocator().Allocate(bytes)) {}

   private:
    Block(CountedMemory& memory, BufferPtr block)
        : Buffer(block->data(), block->size()),
          memory_(memory),
          block_(std::move(block)) {
      memory_.bytes_in_use_ += static_cast<int64_t>(size());
    }
    void Destroy() override {
      memory_.bytes_in_use_ -= static_cast<int64_t>(size());
      delete this;
    }

    CountedMemory& memory_;
    const BufferPtr block_;
  };

  std::atomic<int64_t> num_blocks_{0}, bytes_in_use_{0};
};

class StoppedPipelinesTest : public testing::Test {
 protected:
  StoppedPipelinesTest() {
    EXPECT_OK(memory_.CreateDirectories("/data"));
    for (const char* name : {"a", "b", "c"}) Write(name, "1\n2\n3\n4\n5\n6\n");
    threads_before_ = NumThreads();
    ProcessOptions options;
    options.file_system = &files_;
    options.client_functions = Functions();
    process_ = std::make_unique<Process>(options);
  }

  // Returns a client function "page" that returns a tensor of 4 KiB from the
  // allocator elements_.
  ClientFunctions Functions() {
    return {{"page",
             [this](const ClientFunctionCall&)
                 -> absl::StatusOr<std::vector<Tensor>> {
               ASSIGN_OR_RETURN(Tensor page,
                                Tensor::Allocate(elements_, DT_FLOAT, {1024}));
               return std::vector<Tensor>{std::move(page)};
             }}};
  }

  void Write(const std::string& name, const std::string& contents) {
    EXPECT_OK(memory_.WriteFileAtomically("/data/" + name, contents));
  }

  Output Paths(std::vector<std::string> names) {
    for (std::string& name : names) name = "/data/" + name;
    return root_.ToOutput(Tensor::Vector<std::string>(names));
  }

  // Returns a pipeline that reads lines of several files at once. Several
  // threads add a page to each line, and some elements are prefetched.
  Dataset Lines(const Dataset& paths) {
    return paths
        .Interleave(
            [](const Scope& s, const Values& v) {
              return ops::TextLineDataset(s, v[0]);
            },
            {.cycle_length = 2, .num_parallel_calls = 2})
        .Map(
            [](const Scope& s, const Values& v) {
              return Values{v[0], ops::PyFunc(s, "page", {}, {DT_FLOAT})[0]};
            },
            {.num_parallel_calls = 2})
        .Prefetch(2);
  }

  // Connects a session and initializes an iterator. Returns the output that
  // fetches the next element.
  Output Begin(const Dataset& dataset) {
    const ops::Iterator iterator = dataset.MakeInitializableIterator();
    const Output next = iterator.GetNext(root_)[0];
    EXPECT_OK(root_.status());
    auto session = Session::Connect("", root_, {.process = process_.get()});
    EXPECT_OK(session);
    if (!session.ok()) return next;
    session_ = *std::move(session);
    EXPECT_OK(session_->Run(iterator.initializer()));
    return next;
  }
  // Runs `next` until the pipeline ends. Returns the error that ends it.
  absl::Status RunToItsEnd(const Output& next) {
    absl::Status status;
    while (status.ok()) status = session_->Run(next).status();
    return status;
  }

  void ExpectNothingLeft() {
    session_.reset();
    EXPECT_TRUE(files_.Close(clock_.Now() + kLong))
        << files_.num_in_use() << " files are still open";
    process_.reset();
    EXPECT_EQ(NumThreads(), threads_before_);
    EXPECT_EQ(elements_.bytes_in_use(), 0);
  }

  SystemClock clock_;
  const std::unique_ptr<Scheduler> scheduler_ =
      NewThreadScheduler(clock_, {.compute_threads = 1});
  MemoryFileSystem memory_;
  ClosableFileSystem files_{memory_, *scheduler_};
  CountedMemory elements_;
  int64_t threads_before_ = 0;
  std::unique_ptr<Process> process_;
  const Scope root_ = Scope::Root();
  std::unique_ptr<Session> session_;
};

TEST_F(StoppedPipelinesTest, ClosedSessionFreesItsPipelines) {
  const Output next =
      Begin(Lines(Dataset::FromTensorSlices(root_, {Paths({"a", "b", "c"})})));
  EXPECT_OK(session_->Run(next));
  EXPECT_GT(files_.num_in_use(), 0);
  EXPECT_GT(elements_.num_blocks(), 0);
  EXPECT_OK(session_->Close());
  ExpectNothingLeft();
}

TEST_F(StoppedPipelinesTest, DeletedSessionFreesItsPipelines) {
  const Output next =
      Begin(Lines(Dataset::FromTensorSlices(root_, {Paths({"a", "b", "c"})}))
                .Repeat());
  for (int i = 0; i < 40; ++i) EXPECT_OK(session_->Run(next));
  ExpectNothingLeft();
}

TEST_F(StoppedPipelinesTest, TimedOutStepFreesItsPipelines) {
  const ops::Queue queue = ops::Queue::Fifo(
      root_, {DT_STRING}, {.shapes = {PartialShape::Scalar()}});
  const Output next = Begin(
      Lines(Dataset::FromTensorSlices(root_, {Paths({"a", "b"})}))
          .Map([&](const Scope& s, const Values&) { return queue.Dequeue(s); },
               {.num_parallel_calls = 2}));
  EXPECT_THAT(session_->Run({}, next, {.timeout = absl::Milliseconds(50)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_GT(files_.num_in_use(), 0);
  ExpectNothingLeft();
}

TEST_F(StoppedPipelinesTest, MissingFileFreesItsPipeline) {
  const Output next = Begin(
      Lines(Dataset::FromTensorSlices(root_, {Paths({"a", "none", "b"})})));
  EXPECT_THAT(RunToItsEnd(next),
              StatusIs(absl::StatusCode::kNotFound, "/data/none"));
  ExpectNothingLeft();
}

TEST_F(StoppedPipelinesTest, CorruptFileFreesItsPipeline) {
  Write("cut", std::string(40, 'x'));
  const Output next = Begin(
      ops::TFRecordDataset(root_, Paths({"cut"}), {.num_parallel_reads = 2})
          .Prefetch(2));
  EXPECT_THAT(RunToItsEnd(next),
              StatusIs(absl::StatusCode::kDataLoss, "/data/cut"));
  ExpectNothingLeft();
}

// A function creates the iterator. Such an iterator keeps the functions of its
// session alive, so these must not keep the iterator alive.
TEST_F(StoppedPipelinesTest, FunctionIteratorEndsWithItsSession) {
  const Output next =
      Begin(Dataset::Range(root_, 4).Map([](const Scope& s, const Values&) {
        return Values{ops::TextLineDataset(s, "/data/a")
                          .Map([](const Scope&, const Values& v) { return v; })
                          .MakeOneShotIterator()
                          .GetNext(s)[0]};
      }));
  for (const char* line : {"1", "2"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor value, session_->Run(next));
    EXPECT_EQ(value.scalar<std::string>(), line);
  }
  EXPECT_GT(files_.num_in_use(), 0);
  ExpectNothingLeft();
}

// The destructor of Process ends the pipeline and does not wait for its
// elements.
TEST_F(StoppedPipelinesTest, ProcessExitDoesNotWaitForPipelines) {
  for (int round = 0; round < 5; ++round) {
    ProcessOptions options;
    options.file_system = &memory_;
    options.client_functions = Functions();
    process_ = std::make_unique<Process>(options);
    const Output next = Begin(Lines(
        Dataset::FromTensorSlices(root_, {Paths({"a", "b", "c"})}).Repeat()));
    EXPECT_OK(session_->Run(next));
    session_.reset();
    process_.reset();
    EXPECT_EQ(NumThreads(), threads_before_);
    EXPECT_EQ(elements_.bytes_in_use(), 0);
  }
}

// A step waits for the second element when its task is stopped.
TEST_F(StoppedPipelinesTest, StoppedTaskFreesPipelinesAndIsReported) {
  process_.reset();
  TestCluster::Options options;
  options.kind = ClusterKind::kSockets;
  options.file_system = [this](const std::string& name) -> FileSystem* {
    return name == kWorker ? &files_ : nullptr;
  };
  options.client_functions = [this](const std::string& name) {
    return name == kWorker ? Functions() : ClientFunctions();
  };
  auto cluster = std::make_unique<TestCluster>(options);
  const Scope worker = root_.WithDevice(kWorker);
  const ops::Queue queue = ops::Queue::Fifo(
      worker, {DT_STRING}, {.shapes = {PartialShape::Scalar()}});
  const Dataset lines =
      Lines(Dataset::FromTensorSlices(
                worker, {worker.ToOutput(Tensor::Vector<std::string>(
                            {"/data/a", "/data/b"}))}))
          .Map([&](const Scope& s, const Values&) { return queue.Dequeue(s); });
  const ops::Iterator iterator = lines.MakeInitializableIterator();
  const Output next = iterator.GetNext(root_)[0];
  const Operation fill = queue.Enqueue(worker, {"the first"});
  ASSERT_OK(root_.status());
  ASSERT_OK_AND_ASSIGN(session_,
                       Session::Connect(cluster->target("ps", 0), root_,
                                        cluster->session_options()));
  ASSERT_OK(session_->Run(iterator.initializer()));
  ASSERT_OK(session_->Run(fill));
  ASSERT_OK(session_->Run(next));
  EXPECT_GT(files_.num_in_use(), 0);
  EXPECT_GT(elements_.num_blocks(), 0);

  ASSERT_OK_AND_ASSIGN(auto step, session_->MakeCallable({}, {next}));
  const auto ended = session_->scheduler().NewEvent();
  absl::Status status;
  step->RunAsync({}, [&](absl::StatusOr<std::vector<Tensor>> result) {
    status = result.status();
    ended->Set();
  });
  cluster->Stop("worker", 0);
  ended->Wait();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, kWorker));
  // Only the worker's process ends. The other tasks continue.
  EXPECT_TRUE(files_.Close(clock_.Now() + kLong));
  EXPECT_EQ(elements_.bytes_in_use(), 0);
  EXPECT_EQ(DescribeLeaks(*cluster, "ps", 0), "");
  step.reset();
  session_.reset();
  cluster.reset();
  EXPECT_EQ(NumThreads(), threads_before_);
}

}  // namespace
}  // namespace weft
