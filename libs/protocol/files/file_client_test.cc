// Tests files as used from another process: FileClient and FileService over a
// simulated network.
#include "libs/protocol/files/file_client.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/protocol/files/file_service.h"
#include "libs/protocol/files/remote_file_system.h"
#include "libs/protocol/method.h"
#include "libs/protocol/testing/two_processes.h"

namespace weft::protocol {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kWriter[] = "/job:checkpoint_writer/replica:0/task:0";
constexpr absl::Time kNever = absl::InfiniteFuture();
constexpr absl::StatusCode kGone = absl::StatusCode::kUnavailable;

// Records requests and connected clients; answers at once, or when the test
// says so.
struct Recorder {
  std::vector<FileRequest> requests;
  std::vector<std::shared_ptr<Cancellation>> cancellations;
  std::vector<absl::Time> deadlines;
  std::vector<Files::Done> held;
  bool hold = false;
  int num_clients = 0;  // current
  absl::StatusOr<FileAnswer> answer = FileAnswer();
};

class RecordingFiles : public Files {
 public:
  explicit RecordingFiles(Recorder& recorder) : recorder_(recorder) {
    ++recorder_.num_clients;
  }
  ~RecordingFiles() override { --recorder_.num_clients; }

  void Operate(FileRequest request, absl::Time deadline,
               std::shared_ptr<Cancellation> cancellation, Done done) override {
    if (request.action == FileAction::kAbandon) {
      return done(absl::FailedPreconditionError("no such file is open"));
    }
    recorder_.requests.push_back(std::move(request));
    recorder_.deadlines.push_back(deadline);
    recorder_.cancellations.push_back(std::move(cancellation));
    if (recorder_.hold) {
      recorder_.held.push_back(std::move(done));
    } else {
      done(recorder_.answer);
    }
  }

 private:
  Recorder& recorder_;
};

class FileClientTest : public testing::Test {
 protected:
  FileClientTest()
      : service_(
            {.new_client =
                 [this] { return std::make_shared<RecordingFiles>(recorder_); },
             .scheduler = &processes_.scheduler()}),
        handler_(service_) {}
  ~FileClientTest() override { Release(); }

  void Listen(uint64_t incarnation = 22) {
    auto endpoint = processes_.server().transport->Listen(
        processes_.address(), {.task = kWriter, .incarnation = incarnation},
        handler_);
    ASSERT_OK(endpoint);
    endpoint_ = *std::move(endpoint);
  }
  std::unique_ptr<FileClient> Dial(uint64_t incarnation = 11) {
    return std::make_unique<FileClient>(
        *processes_.client().transport,
        FileClientOptions{.address = processes_.address(),
                          .self = {.incarnation = incarnation},
                          .task = kWriter,
                          .scheduler = &processes_.scheduler()});
  }
  void Connect() {
    Listen();
    client_ = Dial();
    processes_.Settle();
  }
  void Ask(FileAction action, absl::Time deadline = kNever,
           std::shared_ptr<Cancellation> cancellation = nullptr) {
    FileRequest request;
    request.action = action;
    request.path = "/a";
    if (action == FileAction::kAppend) {
      request.bytes = bus::Blob::FromString(std::string(100000, 'b'));
    }
    client_->Operate(std::move(request), deadline, std::move(cancellation),
                     [this](absl::StatusOr<FileAnswer> answer) {
                       answers_.push_back(std::move(answer));
                     });
  }
  void Release() {
    for (Files::Done& done : recorder_.held) done(recorder_.answer);
    recorder_.held.clear();
  }
  absl::Time Now() { return processes_.scheduler().clock().Now(); }
  void Pass(absl::Duration time) { processes_.scheduler().AdvanceBy(time); }

  TwoProcesses processes_;
  Recorder recorder_;
  FileService service_;
  OneRoleHandler<FileService> handler_;
  std::unique_ptr<bus::Endpoint> endpoint_;
  std::vector<absl::StatusOr<FileAnswer>> answers_;
  std::unique_ptr<FileClient> client_;
};

TEST_F(FileClientTest, ARequestIsAnswered) {
  Connect();
  recorder_.answer->names = {"a", "b"};
  recorder_.answer->bytes = bus::Blob::FromString(std::string(200000, 'r'));
  Ask(FileAction::kAppend, Now() + absl::Minutes(1));
  processes_.Settle();
  ASSERT_THAT(answers_, SizeIs(1));
  ASSERT_OK(answers_[0]);
  EXPECT_THAT(answers_[0]->names, ElementsAre("a", "b"));
  EXPECT_EQ(answers_[0]->bytes.view(), std::string(200000, 'r'));
  ASSERT_THAT(recorder_.requests, SizeIs(1));
  EXPECT_EQ(recorder_.requests[0].path, "/a");
  EXPECT_EQ(recorder_.requests[0].bytes.size(), 100000u);
  EXPECT_EQ(recorder_.deadlines[0], Now() + absl::Minutes(1));
}

TEST_F(FileClientTest, ErrorsKeepCodeAndText) {
  Connect();
  recorder_.answer = absl::ResourceExhaustedError("write /a: disk full");
  Ask(FileAction::kAppend);
  processes_.Settle();
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(answers_[0].status(), recorder_.answer.status());
}

TEST_F(FileClientTest, EachConnectionIsOneClient) {
  Connect();
  EXPECT_EQ(recorder_.num_clients, 1);  // before its first request
  Ask(FileAction::kStat);
  Ask(FileAction::kStat);
  processes_.Settle();
  EXPECT_EQ(recorder_.num_clients, 1);
  auto first = std::move(client_);
  client_ = Dial(12);
  Ask(FileAction::kStat);
  processes_.Settle();
  EXPECT_EQ(recorder_.num_clients, 2);
  first.reset();
  processes_.Settle();
  EXPECT_EQ(recorder_.num_clients, 1);
  processes_.network().Cut("client", "server");
  processes_.Settle();
  EXPECT_EQ(recorder_.num_clients, 0);
}

TEST_F(FileClientTest, LostConnectionFailsPendingCalls) {
  Connect();
  recorder_.hold = true;
  Ask(FileAction::kAppend);
  Ask(FileAction::kStat);
  processes_.Settle();
  EXPECT_THAT(answers_, IsEmpty());
  processes_.network().Cut("client", "server");
  processes_.Settle();
  EXPECT_THAT(answers_, ElementsAre(StatusIs(kGone, "zmq://server:7000"),
                                    StatusIs(kGone, "zmq://server:7000")));
  EXPECT_TRUE(recorder_.cancellations[0]->IsCancelled());
}

TEST_F(FileClientTest, CallsWithAPathWaitForAConnection) {
  client_ = Dial();
  Ask(FileAction::kStat);
  Ask(FileAction::kAppend);  // of an open file: there is none
  processes_.Settle();
  EXPECT_THAT(answers_, ElementsAre(StatusIs(kGone, "zmq://server:7000")));
  Pass(absl::Seconds(2));
  Listen();
  Pass(absl::Seconds(5));
  ASSERT_THAT(answers_, SizeIs(2));
  EXPECT_OK(answers_[1]);
}

TEST_F(FileClientTest, WaitForAConnectionTimesOut) {
  client_ = Dial();
  Ask(FileAction::kStat);
  Pass(absl::Seconds(10) - absl::Milliseconds(1));
  EXPECT_THAT(answers_, IsEmpty());
  Pass(absl::Milliseconds(1));
  ASSERT_THAT(answers_, ElementsAre(StatusIs(kGone, "zmq://server:7000")));
  EXPECT_THAT(answers_[0], StatusIs(kGone, "is the checkpoint writer running"));
  // From then on it fails at once, until there is a connection again.
  Ask(FileAction::kStat);
  processes_.Settle();
  EXPECT_THAT(answers_, SizeIs(2));
  Listen();
  Pass(absl::Seconds(5));
  Ask(FileAction::kStat);
  processes_.Settle();
  ASSERT_THAT(answers_, SizeIs(3));
  EXPECT_OK(answers_[2]);
}

TEST_F(FileClientTest, OperationTimeoutStartsWithTheConnection) {
  client_ = Dial();
  recorder_.hold = true;
  auto cancellation = std::make_shared<Cancellation>();
  Ask(FileAction::kSyncDirectory);
  Ask(FileAction::kSyncDirectory, kNever, cancellation);
  Pass(absl::Seconds(5));
  Listen();
  Pass(absl::Minutes(5));
  EXPECT_THAT(answers_, IsEmpty());
  ASSERT_THAT(recorder_.requests, SizeIs(2));
  cancellation->Cancel(absl::CancelledError("not wanted"));
  processes_.Settle();
  EXPECT_THAT(answers_, ElementsAre(StatusIs(absl::StatusCode::kCancelled)));
  Release();
  processes_.Settle();
  ASSERT_THAT(answers_, SizeIs(2));
  EXPECT_OK(answers_[1]);
}

TEST_F(FileClientTest, WaitForAConnectionCanBeCancelled) {
  client_ = Dial();
  auto cancellation = std::make_shared<Cancellation>();
  Ask(FileAction::kStat, kNever, cancellation);
  processes_.Settle();
  cancellation->Cancel(absl::CancelledError("not wanted"));
  processes_.Settle();
  EXPECT_THAT(answers_, ElementsAre(StatusIs(absl::StatusCode::kCancelled)));
}

// Renames may be lost in a power failure of the writer's machine.
TEST_F(FileClientTest, SyncAfterRestartDoesNotCoverOldRenames) {
  const auto ask = [this](FileAction action, const std::string& path,
                          const std::string& to = "") {
    FileRequest request;
    request.action = action;
    request.path = path;
    request.to = to;
    answers_.clear();
    client_->Operate(std::move(request), kNever, nullptr,
                     [this](absl::StatusOr<FileAnswer> answer) {
                       answers_.push_back(std::move(answer));
                     });
    Pass(absl::Seconds(5));
    EXPECT_THAT(answers_, SizeIs(1));
    return answers_.at(0).status();
  };
  const auto restart_as = [this](uint64_t incarnation) {
    endpoint_.reset();
    Pass(absl::Milliseconds(100));
    Listen(incarnation);
  };
  Connect();
  EXPECT_OK(ask(FileAction::kRename, "/job/a.temp", "/job/a"));
  EXPECT_OK(ask(FileAction::kRename, "/other/b.temp", "/other/b"));
  restart_as(22);  // only its connections were lost
  EXPECT_OK(ask(FileAction::kSyncDirectory, "/job"));
  EXPECT_OK(ask(FileAction::kRename, "/job/c.temp", "/job/c"));
  restart_as(23);
  EXPECT_OK(ask(FileAction::kRename, "/job/d.temp", "/job/d"));
  EXPECT_THAT(ask(FileAction::kSyncDirectory, "/job"),
              StatusIs(kGone, "/job: the task has started again"));
  EXPECT_OK(ask(FileAction::kRename, "/job/c.temp", "/job/c"));
  EXPECT_OK(ask(FileAction::kSyncDirectory, "/job"));
  EXPECT_THAT(ask(FileAction::kSyncDirectory, "/other/"), StatusIs(kGone, ""));
}

// The service keeps what the lost connection expected until a new message.
TEST_F(FileClientTest, EndOfExpectationIsSentAfterReconnect) {
  Connect();
  Ask(FileAction::kExpectSaves);
  processes_.Settle();
  processes_.network().Cut("client", "server");
  processes_.Settle();
  EXPECT_TRUE(service_.ExpectsSaves(11)) << "it may come back";
  Ask(FileAction::kExpectNoSaves);
  Pass(absl::Seconds(10));
  EXPECT_FALSE(service_.ExpectsSaves(11));
  ASSERT_FALSE(recorder_.requests.empty());
  EXPECT_EQ(recorder_.requests.back().action, FileAction::kExpectNoSaves);
  EXPECT_EQ(recorder_.num_clients, 1);
}

TEST_F(FileClientTest, EachLostConnectionIsAwaitedForItsWholeLease) {
  Connect();
  Ask(FileAction::kExpectSaves);
  processes_.Settle();
  for (int i = 0; i < 3; ++i) {
    processes_.network().Cut("client", "server");
    processes_.Settle();
    EXPECT_TRUE(service_.ExpectsSaves(11));
    Pass(absl::Milliseconds(1500));
  }
  client_.reset();
  processes_.Settle();
  Pass(FileService::kReconnectLease - absl::Milliseconds(100));
  EXPECT_TRUE(service_.ExpectsSaves(11));
  Pass(absl::Milliseconds(200));
  EXPECT_FALSE(service_.ExpectsSaves(11));
  EXPECT_EQ(recorder_.num_clients, 0);
}

TEST_F(FileClientTest, ADeadlineEndsACall) {
  Connect();
  recorder_.hold = true;
  Ask(FileAction::kSync, Now() + absl::Minutes(10));
  Pass(absl::Minutes(10) - absl::Milliseconds(1));
  EXPECT_THAT(answers_, IsEmpty());
  Pass(absl::Seconds(1));
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_THAT(answers_[0], StatusIs(absl::StatusCode::kDeadlineExceeded,
                                    "zmq://server:7000"));
  EXPECT_TRUE(recorder_.cancellations[0]->IsCancelled());
}

TEST_F(FileClientTest, ACancellationReachesTheOtherEnd) {
  Connect();
  recorder_.hold = true;
  auto cancellation = std::make_shared<Cancellation>();
  Ask(FileAction::kSync, kNever, cancellation);
  processes_.Settle();
  cancellation->Cancel(absl::CancelledError("not wanted"));
  processes_.Settle();
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_THAT(answers_[0], StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE(recorder_.cancellations[0]->IsCancelled());
  // A call that is cancelled already is not sent.
  Ask(FileAction::kSync, kNever, cancellation);
  ASSERT_THAT(answers_, SizeIs(2));
  EXPECT_THAT(answers_[1],
              StatusIs(absl::StatusCode::kCancelled, "not wanted"));
  processes_.Settle();
  EXPECT_THAT(recorder_.requests, SizeIs(1));
}

TEST_F(FileClientTest, DestructorCancelsPendingCalls) {
  Connect();
  recorder_.hold = true;
  Ask(FileAction::kSync);
  processes_.Settle();
  client_.reset();
  EXPECT_THAT(answers_, ElementsAre(StatusIs(absl::StatusCode::kCancelled)));
}

TEST_F(FileClientTest, DrainingTaskStillServesFiles) {
  Connect();
  endpoint_->Drain();
  Ask(FileAction::kAppend);
  processes_.Settle();
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_OK(answers_[0]);
}

TEST_F(FileClientTest, MalformedRequestsAreRefused) {
  Connect();
  const auto channel = processes_.client().transport->Dial(
      processes_.address(), {.incarnation = 44}, "", nullptr);
  processes_.Settle();
  std::vector<absl::Status> answers;
  bus::Message message;
  message.method = static_cast<uint8_t>(Method::kFileOperation);
  message.body = bus::Blob::FromString("not a FlatBuffer at all, is it?");
  channel->Call(std::move(message), {},
                [&](const auto& reply) { answers.push_back(reply.status()); });
  processes_.Settle();
  EXPECT_THAT(answers, ElementsAre(StatusIs(kInvalid)));
  EXPECT_EQ(recorder_.num_clients, 2);
  Ask(FileAction::kStat);  // others continue
  processes_.Settle();
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_OK(answers_[0]);
}

// Joined to its directory such a name could be a file anywhere, even on another
// disk.
TEST_F(FileClientTest, InvalidListedNamesAreRefused) {
  RemoteFileSystem files({.files = std::make_shared<RecordingFiles>(recorder_),
                          .scheduler = &processes_.scheduler(),
                          .name = "zmq://writer:1"});
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."),
        std::string("/home"), std::string("a/b"), std::string("s3://b/k"),
        std::string("a\0b", 3)}) {
    FileAnswer answer;
    answer.names = {"good", name};
    recorder_.answer = answer;
    EXPECT_THAT(files.ListDirectory("/d"),
                StatusIs(absl::StatusCode::kInternal, "which is not a name"));
  }
  FileAnswer answer;
  answer.names = {"...", "a b", "~"};
  recorder_.answer = answer;
  EXPECT_OK(files.ListDirectory("/d"));
}

}  // namespace
}  // namespace weft::protocol
