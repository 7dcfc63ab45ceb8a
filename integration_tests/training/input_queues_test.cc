// Tests input pipelines of queues that QueueRunners fill: readers that get file
// names from a queue, and batches of records. The conformance cases define
// which nodes the builders must create. The tests that run use real files.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/testing/counted_files.h"
#include "libs/graph/import/graph_def.h"
#include "libs/summary/record_writer.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;
constexpr char kRecords[] = "integration_tests/testdata/conformance/records";

Tensor Names(std::initializer_list<std::string> names) {
  return Tensor::Vector<std::string>(names);
}

// ---- names ----

tf::GraphDef Parsed(const std::string& bytes) {
  tf::GraphDef graph;
  EXPECT_TRUE(graph.ParseFromString(bytes));
  return graph;
}

tf::GraphDef GraphOfCase(const std::string& name) {
  LocalFileSystem files;
  return Parsed(
      files.ReadFile(absl::StrCat(kRecords, "/", name, "/graph.pb")).value());
}

// Returns one line for each node whose name begins with one of the prefixes, in
// the order of the graph.
std::vector<std::string> Describe(const tf::GraphDef& graph,
                                  const std::set<std::string>& prefixes) {
  std::vector<std::string> lines;
  for (const tf::NodeDef& node : graph.node()) {
    if (!prefixes.contains(node.name().substr(0, node.name().find('/')))) {
      continue;
    }
    std::map<std::string, std::string> attrs;
    for (const auto& [name, value] : node.attr()) {
      // The program that recorded the case added this attr.
      if (name == "_has_manual_control_dependencies") continue;
      attrs[name] = value.ShortDebugString();
    }
    // Sorts the control inputs, because their order is irrelevant.
    std::vector<std::string> inputs(node.input().begin(), node.input().end());
    std::sort(
        std::find_if(inputs.begin(), inputs.end(),
                     [](const auto& input) { return input.front() == '^'; }),
        inputs.end());
    lines.push_back(
        absl::StrCat(node.name(), " = ", node.op(), "(",
                     absl::StrJoin(inputs, ", "), ") on '", node.device(), "' ",
                     absl::StrJoin(attrs, ", ", absl::PairFormatter(": "))));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

void ExpectNodesOfCase(const Scope& scope, const std::string& name,
                       const std::set<std::string>& prefixes) {
  ASSERT_OK(scope.status());
  const auto wanted = Describe(GraphOfCase(name), prefixes);
  ASSERT_GT(wanted.size(), 20u);
  EXPECT_EQ(Describe(Parsed(ExportGraphDef(scope.graph()).value()), prefixes),
            wanted);
}

TEST(InputQueueNamesTest, ProducersAndBatchesMatchTensorFlow) {
  for (const bool shuffle : {true, false}) {
    const Scope root = Scope::Root();
    const std::vector<std::string> unset(shuffle ? 3 : 2, "unset");
    const Output files = root.WithName("files").AddOutput(
        "PlaceholderWithDefault", {Tensor::Vector<std::string>(unset)},
        {{"shape", PartialShape({static_cast<int64_t>(unset.size())})}});
    const ops::Queue names =
        train::StringInputProducer(root.WithName("producer"), files,
                                   {.num_epochs = shuffle ? 2 : 1,
                                    .shuffle = shuffle,
                                    .seed = shuffle ? 7 : 3,
                                    .limit = {.use_resource = false}});
    const auto record = ops::Reader::TFRecord(root).Read(root, names);
    const Scope parse =
        root.SubScope("ParseSingleExample").SubScope("ParseExample");
    const Tensor none = Names({});
    const auto features = ops::ParseExampleV2(
        parse.WithName("ParseExampleV2"), record.value, none, none,
        Tensor::Vector<std::string>({"id", "x"}), none,
        {Tensor(DT_INT64, {0}), Tensor(DT_FLOAT, {0})},
        {.dense_shapes = {PartialShape::Scalar(), {2}}});
    train::Batch(root.WithName("batch"),
                 {features.dense_values[0], features.dense_values[1]}, 3,
                 {.capacity = 6, .allow_smaller_final_batch = true});
    ops::LocalVariablesInitializer(root);
    ExpectNodesOfCase(
        root, shuffle ? "shuffled_producer" : "ordered_producer",
        {"producer", "TFRecordReaderV2", "ReaderReadV2", "batch", "init"});
  }
}

TEST(InputQueueNamesTest, SlicesRangesAndShufflesMatchTensorFlow) {
  const Scope root = Scope::Root();
  const Output x = root.ToOutput(Tensor(DT_FLOAT, {5, 2}));
  const Output y = root.ToOutput(Tensor(DT_STRING, {5}));
  const auto slices = train::SliceInputProducer(
      root.WithName("slices"), {x, y},
      {.num_epochs = 1, .seed = 11, .limit = {.use_resource = false}});
  train::ShuffleBatch(root.WithName("shuffled"), {slices[0], slices[1]}, 2,
                      {.capacity = 20,
                       .min_after_dequeue = 2,
                       .seed = 11,
                       .allow_smaller_final_batch = true});
  const ops::Queue ranged = train::RangeInputProducer(
      root.WithName("ranged"), 4,
      {.num_epochs = 2, .seed = 12, .limit = {.use_resource = false}});
  ranged.Dequeue(root.WithName("ranged_next"));
  ops::LocalVariablesInitializer(root);
  ExpectNodesOfCase(root, "slice_input_producer",
                    {"slices", "shuffled", "ranged", "ranged_next", "init"});
  ASSERT_OK_AND_ASSIGN(const auto runners, train::QueueRunners(root));
  ASSERT_EQ(runners.size(), 3u);
  EXPECT_EQ(runners[1].enqueue_ops[0].name(),
            "shuffled/random_shuffle_queue_enqueue");
  EXPECT_EQ(runners[1].close_op.name(), "shuffled/random_shuffle_queue_Close");
  EXPECT_EQ(runners[1].cancel_op.name(),
            "shuffled/random_shuffle_queue_Close_1");
  EXPECT_EQ(root.GetCollection(collection::kSummaries).size(), 3u);
  EXPECT_EQ(ops::LocalVariables(root).size(), 2u);
}

TEST(InputQueueNamesTest, InvalidArgumentsAreScopeErrors) {
  const auto expect = [](const std::string& text, const auto& build) {
    const Scope root = Scope::Root();
    build(root);
    EXPECT_THAT(root.status(), StatusIs(kInvalid, text));
  };
  expect("requires a non-null input tensor", [](const Scope& root) {
    EXPECT_FALSE(train::StringInputProducer(root, Names({})));
  });
  expect("num_epochs must be > 0 not 0.", [](const Scope& root) {
    train::StringInputProducer(root, Names({"a"}), {.num_epochs = 0});
  });
  expect("the capacity of an input queue must be > 0 not 0",
         [](const Scope& root) {
           train::RangeInputProducer(root, 3, {.capacity = 0});
         });
  expect("Either `input_tensor` must have a fully defined shape",
         [](const Scope& root) {
           train::InputProducer(root, ops::Placeholder(root, DT_FLOAT));
         });
  expect("rows of a scalar",
         [](const Scope& root) { train::InputProducer(root, 1.0f); });
  expect("Expected at least one tensor in slice_input_producer().",
         [](const Scope& root) { train::SliceInputProducer(root, {}); });
  expect("Expected at least one tensor in batch().",
         [](const Scope& root) { train::Batch(root, {}, 2); });
  expect("Expected at least one set of tensors",
         [](const Scope& root) { train::BatchJoin(root, {}, 2); });
  expect("Cannot infer Tensor's rank: Placeholder:0", [](const Scope& root) {
    train::Batch(root, {ops::Placeholder(root, DT_FLOAT)}, 2);
  });
  expect("Expected types to be consistent: float vs. int32.",
         [](const Scope& root) {
           train::BatchJoin(root, {{1.0f}, {1}}, 2);
         });
  expect("capacity 5 must be bigger than min_after_dequeue 5.",
         [](const Scope& root) {
           train::ShuffleBatch(root, {1.0f}, 2,
                               {.capacity = 5, .min_after_dequeue = 5});
         });
  expect("num_threads must be in [1, 1024] not 0", [](const Scope& root) {
    EXPECT_EQ(train::Batch(root, {1.0f}, 2, {.num_threads = 0}).size(), 1u);
  });
}

// After an error, builders return null outputs. Ops that use a null output keep
// the error of the scope and access no invalid memory.
TEST(InputQueueNamesTest, FailedScopeGivesNullOutputs) {
  const Scope root = Scope::Root();
  root.UpdateStatus(absl::NotFoundError("before"));
  for (const auto& outputs : {train::Batch(root, {1.0f, 2}, 2),
                              train::BatchJoin(root, {{1.0f, 2}}, 2),
                              train::ShuffleBatch(root, {1.0f, 2}, 2),
                              train::ShuffleBatchJoin(root, {{1.0f, 2}}, 2),
                              train::SliceInputProducer(root, {1.0f, 2})}) {
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_FALSE(outputs[0] || outputs[1]);
  }
  EXPECT_THAT(root.status(), StatusIs(absl::StatusCode::kNotFound, "before"));
}

// ---- runs ----

class InputQueuesTest : public ::testing::Test {
 protected:
  // Writes a file and returns its path.
  std::string Write(const std::string& name, const std::string& contents) {
    const std::string path = absl::StrCat(folder_, "/", name);
    EXPECT_OK(files_.CreateDirectories(folder_));
    EXPECT_OK(files_.WriteFileAtomically(path, contents));
    return path;
  }

  // Starts a session and its queue runners.
  void Start(const SessionOptions& options = {}) {
    auto session = Session::Connect("", root_, options);
    ASSERT_OK(session);
    session_ = *std::move(session);
    ASSERT_OK(session_->Run(ops::LocalVariablesInitializer(root_)));
    ASSERT_OK(train::StartQueueRunners(root_, *session_, coordinator_));
  }
  absl::Status Stop() {
    coordinator_.RequestStop();
    return coordinator_.Join();
  }

  // Returns all batches of `output` until the input has ended.
  template <typename T>
  std::vector<std::vector<T>> Batches(const Output& output) {
    std::vector<std::vector<T>> batches;
    absl::StatusOr<Tensor> batch;
    while ((batch = session_->Run(output)).ok()) {
      const auto values = batch->flat<T>();
      batches.emplace_back(values.begin(), values.end());
    }
    EXPECT_THAT(batch, StatusIs(kOutOfRange));
    return batches;
  }

  LocalFileSystem files_;
  const std::string folder_ = absl::StrCat(
      ::testing::TempDir(), "/input_queues_",
      ::testing::UnitTest::GetInstance()->current_test_info()->name());
  Scope root_ = Scope::Root();
  std::unique_ptr<Session> session_;
  train::Coordinator coordinator_;
};

using Strings = std::vector<std::string>;

TEST_F(InputQueuesTest, LinesOfTwoEpochsAreBatched) {
  const Tensor names =
      Names({Write("a", "h\n1\n2\n"), Write("empty", ""), Write("b", "h\n3")});
  const ops::Queue queue = train::StringInputProducer(
      root_, names, {.num_epochs = 2, .shuffle = false});
  const auto line =
      ops::Reader::TextLine(root_, {.skip_header_lines = 1}).Read(root_, queue);
  const Output batch = train::Batch(root_, {line.value}, 4,
                                    {.allow_smaller_final_batch = true})[0];
  Start();
  EXPECT_THAT(Batches<std::string>(batch),
              ElementsAre(Strings{"1", "2", "3", "1"}, Strings{"2", "3"}));
  EXPECT_OK(Stop());
}

// The MonitoredSession starts the queue runners, and stops when the queues are
// closed and empty.
TEST_F(InputQueuesTest, MonitoredSessionRunsUntilInputEnds) {
  const ops::Queue queue = train::StringInputProducer(
      root_, Names({Write("a", "1\n2\n3\n4\n")}), {.num_epochs = 2});
  const auto line = ops::Reader::TextLine(root_).Read(root_, queue);
  const Output batch = train::Batch(root_, {line.value}, 3,
                                    {.allow_smaller_final_batch = true})[0];
  ASSERT_OK_AND_ASSIGN(auto session,
                       train::MonitoredTrainingSession(root_, {}));
  Strings all;
  while (!session->ShouldStop()) {
    const absl::StatusOr<Tensor> values = session->Run(batch);
    if (!values.ok()) {
      EXPECT_THAT(values, StatusIs(kOutOfRange));
      continue;
    }
    const auto lines = values->flat<std::string>();
    all.insert(all.end(), lines.begin(), lines.end());
  }
  EXPECT_THAT(all, ElementsAre("1", "2", "3", "4", "1", "2", "3", "4"));
  EXPECT_OK(session->Close());
}

TEST_F(InputQueuesTest, SlicesAreShuffledAndPaddedOncePerEpoch) {
  const Output lengths = root_.ToOutput(Tensor::Vector({1, 2, 3, 4}));
  const Output length = train::SliceInputProducer(
      root_, {lengths}, {.num_epochs = 1, .seed = 5})[0];
  const Output ones = ops::Fill(root_, ops::Reshape(root_, length, {1}), 1);
  const auto batch = train::Batch(
      root_, {length, ones}, 4,
      {.shapes = std::vector<PartialShape>{PartialShape::Scalar(), {-1}},
       .dynamic_pad = true});
  Start();
  ASSERT_OK_AND_ASSIGN(const auto got, session_->Run({}, batch));
  const auto order = got[0].flat<int32_t>();
  EXPECT_THAT(std::vector<int32_t>(order.begin(), order.end()),
              UnorderedElementsAre(1, 2, 3, 4));
  ASSERT_EQ(got[1].shape(), TensorShape({4, 4}));
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      EXPECT_EQ(got[1].flat<int32_t>()[i * 4 + j], j < order[i] ? 1 : 0);
    }
  }
  EXPECT_THAT(session_->Run({}, batch), StatusIs(kOutOfRange));
  EXPECT_OK(Stop());
}

TEST_F(InputQueuesTest, SeveralReadersFillOneBatch) {
  Strings wanted;
  std::vector<InputList> sources;
  for (int i = 0; i < 3; ++i) {
    Strings lines;
    for (int j = 0; j < 7; ++j) {
      lines.push_back(absl::StrCat("file ", i, " line ", j));
    }
    wanted.insert(wanted.end(), lines.begin(), lines.end());
    const std::string path =
        Write(absl::StrCat("f", i), absl::StrJoin(lines, "\n"));
    const ops::Queue queue =
        train::StringInputProducer(root_, Names({path}), {.num_epochs = 1});
    sources.push_back({ops::Reader::TextLine(root_).Read(root_, queue).value});
  }
  const Output batch =
      train::ShuffleBatchJoin(root_, sources, 5,
                              {.capacity = 9,
                               .min_after_dequeue = 4,
                               .allow_smaller_final_batch = true})[0];
  Start();
  Strings got;
  for (const Strings& one : Batches<std::string>(batch)) {
    got.insert(got.end(), one.begin(), one.end());
  }
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, wanted);
  EXPECT_OK(Stop());
}

TEST_F(InputQueuesTest, MissingFileEndsAllReadersWithItsError) {
  const ops::Queue queue = train::StringInputProducer(
      root_, Names({Write("a", "1\n") + ".missing"}), {.num_epochs = 1});
  const auto line = ops::Reader::TextLine(root_).Read(root_, queue);
  const Output batch = train::Batch(root_, {line.value}, 2)[0];
  Start();
  EXPECT_FALSE(session_->Run(batch).ok());
  EXPECT_THAT(Stop(), StatusIs(absl::StatusCode::kNotFound, "a.missing"));
}

TEST_F(InputQueuesTest, CorruptRecordsAreReported) {
  const std::string path = absl::StrCat(folder_, "/records");
  ASSERT_OK(files_.CreateDirectories(folder_));
  ASSERT_OK_AND_ASSIGN(auto file, files_.NewWritableFile(path));
  summary::RecordWriter writer(std::move(file));
  for (const char* record : {"one", "two"}) {
    ASSERT_OK(writer.WriteRecord(record));
  }
  ASSERT_OK(writer.Close());
  ASSERT_OK_AND_ASSIGN(std::string bytes, files_.ReadFile(path));
  bytes[bytes.size() - 6] ^= 1;
  const ops::Queue queue = train::StringInputProducer(
      root_, Names({Write("records", bytes),
                    Write("zeros", std::string(99, '\0')), folder_}));
  const auto reader = ops::Reader::TFRecord(root_);
  const auto record = reader.Read(root_, queue);
  const Operation reset = reader.Reset(root_);
  const Output produced = reader.NumRecordsProduced(root_);
  ASSERT_OK_AND_ASSIGN(session_, Session::Connect("", root_));
  // The test enqueues file names itself, in order. A random order would add no
  // coverage.
  const auto enqueue = [&](const std::string& name) {
    return session_->RunNamed({{"input_producer/RandomShuffle:0",
                                Tensor::Vector<std::string>({name})}},
                              {},
                              {"input_producer/input_producer_EnqueueMany"});
  };
  ASSERT_OK(enqueue(path));
  ASSERT_OK(enqueue(absl::StrCat(folder_, "/zeros")));
  ASSERT_OK(enqueue(folder_));
  ASSERT_OK(enqueue(std::string("a\0b", 3)));
  ASSERT_OK_AND_ASSIGN(const Tensor first, session_->Run(record.value));
  EXPECT_EQ(first.scalar<std::string>(), "one");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(
        session_->Run(record.value),
        StatusIs(absl::StatusCode::kDataLoss, "corrupted record at 31"));
  }
  EXPECT_EQ(session_->Run(produced)->scalar<int64_t>(), 1);
  ASSERT_OK(session_->Run(reset));
  EXPECT_THAT(session_->Run(record.value),
              StatusIs(absl::StatusCode::kDataLoss, "a TFRecord file"));
  ASSERT_OK(session_->Run(reset));
  EXPECT_THAT(session_->Run(record.value),
              StatusIs(absl::StatusCode::kFailedPrecondition, folder_));
  EXPECT_THAT(session_->Run(record.value), StatusIs(kInvalid, "a\\x00"));
}

// When the session is closed, a reader that waits for a file name gets the
// error, and so does the thread that fills the batches.
TEST_F(InputQueuesTest, SessionCloseEndsWaitingReader) {
  const ops::Queue queue = ops::Queue::Fifo(
      root_, {DT_STRING}, {.shapes = {PartialShape::Scalar()}});
  const auto reader = ops::Reader::WholeFile(root_);
  const auto record = reader.Read(root_, queue);
  const Output batch = train::Batch(root_, {record.value}, 1)[0];
  Start();
  ASSERT_TRUE(batch);
  EXPECT_THAT(
      session_->Run({}, record.value, {.timeout = absl::Milliseconds(50)}),
      StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_OK(session_->Close());
  // The thread that fills the batches gets the error and requests a stop of all
  // threads.
  EXPECT_TRUE(coordinator_.WaitForStop(absl::Minutes(1)));
  EXPECT_THAT(coordinator_.Join(), StatusIs(absl::StatusCode::kCancelled));
}

// Closing a session closes its file, whether or not the file was read to its
// end, and even while other callers wait.
TEST_F(InputQueuesTest, ClosedSessionLeavesNoOpenFile) {
  MemoryFileSystem disk;
  CountedFiles files(disk);
  ASSERT_OK(files.WriteFileAtomically("a", "1\n2\n"));
  Process process({.file_system = &files});
  for (const int lines : {0, 1, 2, 3}) {
    const Scope root = Scope::Root();
    const ops::Queue queue = ops::Queue::Fifo(
        root, {DT_STRING}, {.shapes = {PartialShape::Scalar()}});
    const Operation add = queue.Enqueue(root, {Tensor::Scalar("a")});
    const auto reader = ops::Reader::TextLine(root);
    const auto line = reader.Read(root, queue);
    const Output batch = train::Batch(root, {line.value}, 99)[0];
    ASSERT_OK_AND_ASSIGN(auto session,
                         Session::Connect("", root, {.process = &process}));
    ASSERT_OK(session->Run(add));
    for (int i = 0; i < std::min(lines, 2); ++i) {
      ASSERT_OK(session->Run(line.value));
    }
    EXPECT_EQ(files.num_open(), lines > 0 ? 1 : 0);
    train::Coordinator coordinator;
    if (lines > 2) {
      ASSERT_OK(train::StartQueueRunners(root, *session, coordinator));
      EXPECT_THAT(session->Run({}, batch, {.timeout = absl::Milliseconds(20)}),
                  StatusIs(absl::StatusCode::kDeadlineExceeded));
    }
    EXPECT_OK(session->Close());
    coordinator.RequestStop();
    coordinator.Join().IgnoreError();
    session.reset();
    // After a session has ended, the task frees its resources soon, but not at
    // once.
    const absl::Time deadline = process.clock().Now() + absl::Minutes(1);
    while (files.num_open() > 0 && process.clock().Now() < deadline) {
      process.scheduler().NewEvent()->WaitUntil(process.clock().Now() +
                                                absl::Milliseconds(1));
    }
    EXPECT_EQ(files.num_open(), 0) << lines;
  }
  EXPECT_EQ(files.num_opened(), 3);
}

TEST_F(InputQueuesTest, FileIsClosedAtItsEndAndByReaderReset) {
  MemoryFileSystem disk;
  CountedFiles files(disk);
  ASSERT_OK(files.WriteFileAtomically("a", "1\n2\n"));
  Process process({.file_system = &files});
  const ops::Queue queue = ops::Queue::Fifo(
      root_, {DT_STRING}, {.shapes = {PartialShape::Scalar()}});
  const Operation add = queue.Enqueue(root_, {Tensor::Scalar("a")});
  const Operation close = queue.Close(root_);
  const auto reader = ops::Reader::TextLine(root_);
  const Output line = reader.Read(root_, queue).value;
  const Operation reset = reader.Reset(root_);
  ASSERT_OK_AND_ASSIGN(session_,
                       Session::Connect("", root_, {.process = &process}));
  ASSERT_OK(session_->Run(add));
  ASSERT_OK(session_->Run(line));
  EXPECT_EQ(files.num_open(), 1);
  ASSERT_OK(session_->Run(reset));
  EXPECT_EQ(files.num_open(), 0);
  ASSERT_OK(session_->Run(add));
  ASSERT_OK(session_->Run(close));
  ASSERT_OK(session_->Run(line));
  ASSERT_OK(session_->Run(line));
  EXPECT_THAT(session_->Run(line), StatusIs(kOutOfRange));
  EXPECT_EQ(files.num_open(), 0);
  session_.reset();  // must be destroyed before the process
}

// A read that times out does not lose a file name.
TEST_F(InputQueuesTest, TimeoutLosesNoFileName) {
  const std::string path = Write("a", "1\n2\n");
  const ops::Queue queue = ops::Queue::Fifo(
      root_, {DT_STRING}, {.shapes = {PartialShape::Scalar()}});
  const Output name = ops::Placeholder(root_, DT_STRING);
  const Operation add = queue.Enqueue(root_, {name});
  const auto line = ops::Reader::TextLine(root_).Read(root_, queue);
  ASSERT_OK_AND_ASSIGN(session_, Session::Connect("", root_));
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(
        session_->Run({}, line.value, {.timeout = absl::Milliseconds(5)}),
        StatusIs(absl::StatusCode::kDeadlineExceeded));
  }
  ASSERT_OK(session_->Run({{name, Tensor::Scalar(path)}}, add));
  EXPECT_EQ(session_->Run(line.value)->scalar<std::string>(), "1");
  EXPECT_EQ(session_->Run(line.value)->scalar<std::string>(), "2");
}

TEST_F(InputQueuesTest, ReaderIsSharedByNameInContainer) {
  const std::string path = Write("a", "1\n2\n3\n");
  ASSERT_OK_AND_ASSIGN(
      auto server,
      Server::Create({{"worker", {"localhost:0"}}}, {.job_name = "worker"}));
  const auto build = [&](const Scope& root) {
    const ops::Queue queue = ops::Queue::Fifo(
        root.WithName("names"), {DT_STRING},
        {.shapes = {PartialShape::Scalar()}, .shared_name = "names"});
    queue.Enqueue(root.WithName("add"), {path});
    return ops::Reader::TextLine(root, {.sharing = {.shared_name = "lines"}})
        .Read(root, queue)
        .value;
  };
  Strings lines;
  for (int i = 0; i < 3; ++i) {
    const Scope root = Scope::Root();
    const Output line = build(root);
    ASSERT_OK_AND_ASSIGN(auto session,
                         Session::Connect(server->target(), root));
    if (i == 0) {
      ASSERT_OK(session->RunNamed({}, {}, {"add"}));
    }
    ASSERT_OK_AND_ASSIGN(const Tensor value, session->Run(line));
    lines.push_back(value.scalar<std::string>());
  }
  EXPECT_THAT(lines, ElementsAre("1", "2", "3"));
}

TEST_F(InputQueuesTest, StagingAreasBufferForTheNextStep) {
  const ops::StagingArea area(root_, {DT_FLOAT}, {.capacity = 1});
  const Output x = ops::Placeholder(root_, DT_FLOAT);
  const Operation put = area.Put(root_, {x});
  const Output get = area.Get(root_)[0];
  const Output size = area.Size(root_);
  const ops::MapStagingArea map(root_, {DT_FLOAT, DT_FLOAT}, {.ordered = true});
  const Operation put_first = map.Put(root_, int64_t{7}, {x}, {0});
  const Operation put_second = map.Put(root_, int64_t{7}, {x}, {1});
  const Output incomplete = map.IncompleteSize(root_);
  const auto any = map.GetAny(root_);
  EXPECT_EQ(put.name(), "StagingArea_put");
  EXPECT_EQ(get.node()->name(), "StagingArea_get");
  ASSERT_OK_AND_ASSIGN(session_, Session::Connect("", root_));
  const FeedList one = {{x, Tensor::Scalar(1.0f)}};
  const FeedList two = {{x, Tensor::Scalar(2.0f)}};
  ASSERT_OK(session_->Run(one, put));
  // A single step dequeues the element of the previous step and enqueues an
  // element for the next step.
  ASSERT_OK_AND_ASSIGN(const auto got, session_->Run(two, {get}, {put}));
  EXPECT_EQ(got[0].scalar<float>(), 1);
  EXPECT_THAT(session_->Run(one, put, {.timeout = absl::Milliseconds(20)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(session_->Run(size)->scalar<int32_t>(), 1);
  EXPECT_EQ(session_->Run(get)->scalar<float>(), 2);
  ASSERT_OK(session_->Run(one, put_first));
  EXPECT_EQ(session_->Run(incomplete)->scalar<int32_t>(), 1);
  ASSERT_OK(session_->Run(two, put_second));
  ASSERT_OK_AND_ASSIGN(
      const auto item,
      session_->Run({}, {any.key, any.values[0], any.values[1]}));
  EXPECT_EQ(item[0].scalar<int64_t>(), 7);
  EXPECT_EQ(item[2].scalar<float>(), 2);
  map.Get(root_, int64_t{7}, {2});
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "index 2 of staging area"));
}

TEST_F(InputQueuesTest, BarrierReturnsCompleteElements) {
  const ops::Barrier barrier(root_, {DT_FLOAT, DT_STRING},
                             {PartialShape::Scalar(), PartialShape::Scalar()});
  const Operation numbers = barrier.InsertMany(root_, 0, Names({"a", "b"}),
                                               Tensor::Vector<float>({1, 2}));
  const Operation texts =
      barrier.InsertMany(root_, 1, Names({"b"}), Names({"two"}));
  const auto one = barrier.TakeMany(root_, 1);
  const Operation close = barrier.Close(root_);
  const Output incomplete = barrier.IncompleteSize(root_);
  EXPECT_EQ(numbers.name(), "barrier_BarrierInsertMany");
  ASSERT_OK_AND_ASSIGN(session_, Session::Connect("", root_));
  ASSERT_OK(session_->Run(numbers));
  ASSERT_OK(session_->Run(texts));
  ASSERT_OK_AND_ASSIGN(
      const auto got,
      session_->Run({}, {one.keys, one.values[0], one.values[1]}));
  EXPECT_TRUE(SameBits(got[0], Names({"b"})));
  EXPECT_TRUE(SameBits(got[1], Tensor::Vector<float>({2})));
  EXPECT_TRUE(SameBits(got[2], Names({"two"})));
  EXPECT_EQ(session_->Run(incomplete)->scalar<int32_t>(), 1);
  ASSERT_OK(session_->Run(close));
  EXPECT_THAT(session_->Run(texts), StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(InputQueuesTest, FilesAreWrittenMatchedAndRead) {
  const Output path = ops::Placeholder(root_, DT_STRING);
  const Operation write =
      ops::WriteFile(root_, path, Tensor::Scalar<std::string>("text"));
  const ops::Variable found = train::MatchFilenamesOnce(
      root_, Tensor::Scalar(absl::StrCat(folder_, "/new/part-*")));
  const Output read = ops::ReadFile(root_, path);
  ASSERT_OK_AND_ASSIGN(session_, Session::Connect("", root_));
  const Tensor one = Tensor::Scalar(absl::StrCat(folder_, "/new/part-1"));
  const Tensor two = Tensor::Scalar(absl::StrCat(folder_, "/new/part-2"));
  ASSERT_OK(session_->Run({{path, one}}, write));
  ASSERT_OK(session_->Run(ops::LocalVariablesInitializer(root_)));
  ASSERT_OK(session_->Run({{path, two}}, write));
  EXPECT_EQ(session_->Run({{path, two}}, read)->scalar<std::string>(), "text");
  ASSERT_OK_AND_ASSIGN(const Tensor paths, session_->Run(found));
  EXPECT_TRUE(SameBits(
      paths, Tensor::Vector<std::string>({one.scalar<std::string>()})));
}

}  // namespace
}  // namespace weft
