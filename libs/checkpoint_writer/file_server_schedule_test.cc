// Simulated schedules in which clients write, cancel, abandon files and leave,
// interrupted at the locks of a FileServer. Each operation must be answered
// once. A file whose Close returned OK must be complete, and no file may stay
// open.
//
// libs/base/testing/seeds.h describes how to run other seeds.
#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/seeds.h"
#include "libs/checkpoint_writer/file_server.h"
#include "libs/fs/memory_file_system.h"

namespace weft {
namespace {

using protocol::FileAction;
using protocol::FileAnswer;
using protocol::FileRequest;
using protocol::Files;

constexpr uint64_t kSeeds = 300;
constexpr int kClients = 3;
constexpr int kPieces = 8;
constexpr size_t kStreamed = 3 * protocol::kMaxUnansweredChunks;

class FileServerSchedule {
 public:
  explicit FileServerSchedule(uint64_t seed)
      : random_(NewSeededRandom(seed)),
        scheduler_(clock_, {.seed = seed}),
        server_(std::make_unique<FileServer>(
            FileServerOptions{.file_system = &disk_,
                              .scheduler = &scheduler_,
                              .random = random_.get(),
                              .task = "writer",
                              .max_open_files_per_client = 4,
                              .max_open_files = 6,
                              .max_running = 2})) {}

  void Run() {
    scheduler_.set_yields({.one_in = 1 + random_->Next() % 4});
    for (int i = 0; i < kClients; ++i) {
      Start([this, i] { Use(server_->NewClient(), absl::StrCat("/", i)); });
    }
    Start([this] { Stream(server_->NewClient(), "/streamed"); });
    scheduler_.RunUntilIdle();
    scheduler_.set_yields({});
    scheduler_.RunUntilIdle();
    EXPECT_EQ(num_answers_, num_asked_);
    EXPECT_EQ(server_->num_open_files(), 0);
    server_->Drain();
    EXPECT_TRUE(server_->WaitUntilUnused(clock_.Now(), absl::Minutes(1)));
    server_.reset();
  }

  int num_whole() const { return num_whole_; }
  int num_failed() const { return num_failed_; }

 private:
  void Start(Scheduler::Closure work) {
    scheduler_.Schedule(Pool::kBlocking, std::move(work));
  }
  bool OneIn(uint64_t n) { return random_->Next() % n == 0; }

  void Ask(const std::shared_ptr<Files>& client, FileRequest request,
           std::shared_ptr<Cancellation> cancellation = nullptr) {
    ++num_asked_;
    client->Operate(std::move(request), absl::InfiniteFuture(),
                    std::move(cancellation),
                    [this](const absl::StatusOr<FileAnswer>& answer) {
                      ++num_answers_;
                      num_failed_ += answer.ok() ? 0 : 1;
                    });
  }

  static FileRequest Of(FileAction action, uint64_t file, uint64_t offset) {
    FileRequest request;
    request.action = action;
    request.file = file;
    request.offset = offset;
    return request;
  }

  absl::StatusOr<FileAnswer> Wait(const std::shared_ptr<Files>& client,
                                  FileRequest request) {
    SyncCall<absl::StatusOr<FileAnswer>> call(scheduler_);
    client->Operate(std::move(request), absl::InfiniteFuture(), nullptr,
                    call.Done());
    return call.Wait();
  }

  // Writes a file in chunks in random order. Sometimes abandons the file.
  void Use(std::shared_ptr<Files> client, const std::string& path) {
    FileRequest open;
    open.action = FileAction::kOpenToWrite;
    open.path = path;
    const auto opened = Wait(client, open);
    ASSERT_TRUE(opened.ok());
    std::vector<int> order;
    for (int i = 0; i < kPieces; ++i) order.push_back(i);
    for (int i = kPieces - 1; i > 0; --i) {
      std::swap(order[i], order[random_->Next() % (i + 1)]);
    }
    const bool leaves = OneIn(3);
    for (const int i : order) {
      FileRequest piece = Of(FileAction::kAppend, opened->file, i);
      piece.bytes = bus::Blob::FromString(std::string(1, 'a' + i));
      std::shared_ptr<Cancellation> cancellation;
      if (OneIn(12)) {
        cancellation = std::make_shared<Cancellation>();
        Start([cancellation] {
          cancellation->Cancel(absl::CancelledError("given up"));
        });
      }
      Ask(client, std::move(piece), std::move(cancellation));
      if (leaves && OneIn(6)) return;  // its pending requests end
      if (OneIn(40)) Ask(client, Of(FileAction::kAbandon, opened->file, 0));
    }
    const auto closed =
        Wait(client, Of(FileAction::kClose, opened->file, kPieces));
    if (!closed.ok()) return;
    ++num_whole_;
    EXPECT_EQ(disk_.ReadFile(path).value_or("none"), "abcdefgh");
  }

  // Always keeps the maximum number of chunks pending. The server must not
  // reject a chunk, because each reply frees a slot.
  void Stream(std::shared_ptr<Files> client, const std::string& path) {
    FileRequest open;
    open.action = FileAction::kOpenToWrite;
    open.path = path;
    const auto opened = Wait(client, open);
    ASSERT_TRUE(opened.ok());
    std::deque<SyncCall<absl::StatusOr<FileAnswer>>> sent;
    std::string all;
    while (all.size() < kStreamed) {
      if (sent.size() == protocol::kMaxUnansweredChunks) {
        const absl::Status first = sent.front().Wait().status();
        sent.pop_front();
        // Later chunks wait for the rejected chunk and cannot be written.
        if (!first.ok()) {
          client.reset();
          for (auto& piece : sent) piece.Wait().status().IgnoreError();
        }
        ASSERT_OK(first);
      }
      FileRequest piece = Of(FileAction::kAppend, opened->file, all.size());
      all.push_back(static_cast<char>('a' + all.size() % 26));
      piece.bytes = bus::Blob::FromString(all.substr(all.size() - 1));
      client->Operate(std::move(piece), absl::InfiniteFuture(), nullptr,
                      sent.emplace_back(scheduler_).Done());
    }
    for (auto& piece : sent) EXPECT_OK(piece.Wait());
    EXPECT_OK(Wait(client, Of(FileAction::kClose, opened->file, kStreamed)));
    EXPECT_EQ(disk_.ReadFile(path).value_or("none"), all);
  }

  ManualClock clock_;
  const std::unique_ptr<Random> random_;
  SimulatedScheduler scheduler_;
  MemoryFileSystem disk_;
  int num_asked_ = 0;
  int num_answers_ = 0;
  int num_whole_ = 0;
  int num_failed_ = 0;
  std::unique_ptr<FileServer> server_;
};

TEST(FileServerScheduleTest, EveryOperationIsAnsweredOnce) {
  const uint64_t count = NumSeeds(kSeeds);
  int num_whole = 0;
  int num_failed = 0;
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    FileServerSchedule schedule(seed);
    schedule.Run();
    ASSERT_FALSE(testing::Test::HasFailure());
    num_whole += schedule.num_whole();
    num_failed += schedule.num_failed();
  }
  // Files are completed in many schedules, and fail in many schedules.
  EXPECT_GT(num_whole, static_cast<int>(count / 2));
  EXPECT_GT(num_failed, static_cast<int>(count / 2));
}

}  // namespace
}  // namespace weft
