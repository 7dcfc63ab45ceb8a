// Test fixtures with a checkpoint writer and its remote clients, over a
// simulated network or over sockets in one process.
//
// Threads: the fixtures must be used by the thread of the test.
#ifndef WEFT_LIBS_CHECKPOINT_WRITER_TESTING_REMOTE_FILES_H_
#define WEFT_LIBS_CHECKPOINT_WRITER_TESTING_REMOTE_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/bus/transport.h"
#include "libs/bus/zmq/zmq_wire.h"
#include "libs/checkpoint_writer/file_server.h"
#include "libs/checkpoint_writer/rooted_file_system.h"
#include "libs/fs/file_system.h"
#include "libs/protocol/codec/receive_memory.h"
#include "libs/protocol/files/file_client.h"
#include "libs/protocol/files/file_service.h"
#include "libs/protocol/files/remote_file_system.h"
#include "libs/protocol/testing/two_processes.h"
#include "libs/tensor/buffer.h"

namespace weft {

inline constexpr char kTestWriter[] = "/job:checkpoint_writer/replica:0/task:0";

// TestWriter is a checkpoint writer that listens for clients.
class TestWriter {
 public:
  struct Options {
    FileSystem* files = nullptr;  // these objects outlive the writer
    Scheduler* scheduler = nullptr;
    bus::Transport* transport = nullptr;
    bus::Address address;
    std::string root = "/";
    uint64_t incarnation = 22;
    int max_open_files_per_client = 128;
    int max_open_files = 512;
  };
  explicit TestWriter(const Options& options)
      : random_(NewSeededRandom(options.incarnation)),
        rooted_(*options.files, options.root),
        server_({.file_system = &rooted_,
                 .scheduler = options.scheduler,
                 .random = random_.get(),
                 .task = kTestWriter,
                 .max_open_files_per_client = options.max_open_files_per_client,
                 .max_open_files = options.max_open_files}),
        service_({.new_client = [this] { return server_.NewClient(); },
                  .scheduler = options.scheduler}),
        handler_(service_) {
    auto endpoint = options.transport->Listen(
        options.address,
        {.task = kTestWriter, .incarnation = options.incarnation}, handler_);
    EXPECT_OK(endpoint);
    endpoint_ = *std::move(endpoint);
  }

  FileServer& server() { return server_; }
  bus::Endpoint& endpoint() { return *endpoint_; }
  const bus::Address& address() const { return endpoint_->address(); }

 private:
  const std::unique_ptr<Random> random_;
  RootedFileSystem rooted_;
  FileServer server_;
  protocol::FileService service_;
  protocol::OneRoleHandler<protocol::FileService> handler_;
  std::unique_ptr<bus::Endpoint> endpoint_;
};

// SimulatedFiles is a simulated network with a writer, "server", and clients,
// "client". The test advances the time.
class SimulatedFiles {
 public:
  explicit SimulatedFiles(uint64_t seed = 1)
      : random_(NewSeededRandom(seed)),
        scheduler_(clock_, {.seed = seed, .on_deadlock = {}}) {
    Start(client_, "client");
    Start(server_, "server");
  }

  SimulatedScheduler& scheduler() { return scheduler_; }
  bus::MemoryNetwork& network() { return network_; }
  // Returns the receive buffers of the writer.
  BufferPool& writers_memory() { return server_.buffers; }
  bus::Transport& clients_transport() { return *client_.transport; }

  void StartWriter(FileSystem& files, TestWriter::Options options = {}) {
    options.files = &files;
    options.scheduler = &scheduler_;
    options.transport = server_.transport.get();
    options.address = {"server", 7000};
    writer_ = std::make_unique<TestWriter>(options);
  }
  TestWriter& writer() { return *writer_; }
  void StopWriter() { writer_.reset(); }
  // Simulates a kill of the writer. A restarted process has a new transport.
  void KillWriter() {
    network_.Kill("server");
    network_.Reap("server");
    writer_.reset();
    server_.transport.reset();
    server_.wire.reset();
    Start(server_, "server");
  }

  std::shared_ptr<protocol::FileClient> NewClient(uint64_t incarnation = 11) {
    return std::make_shared<protocol::FileClient>(
        *client_.transport,
        protocol::FileClientOptions{.address = {"server", 7000},
                                    .self = {.incarnation = incarnation},
                                    .scheduler = &scheduler_});
  }
  std::unique_ptr<protocol::RemoteFileSystem> NewFileSystem(
      uint64_t incarnation = 11) {
    return std::make_unique<protocol::RemoteFileSystem>(
        protocol::RemoteFileSystemOptions{.files = NewClient(incarnation),
                                          .scheduler = &scheduler_,
                                          .name = "zmq://server:7000"});
  }

  void Settle() { scheduler_.RunUntilIdle(); }
  void Pass(absl::Duration time) { scheduler_.AdvanceBy(time); }

 private:
  struct Process {
    BufferPool buffers;
    protocol::AllocatorReceiveMemory memory{buffers};
    std::unique_ptr<bus::Wire> wire;
    std::unique_ptr<bus::Transport> transport;
  };

  void Start(Process& process, const std::string& name) {
    process.wire = bus::NewMemoryWire(network_, name);
    process.transport = bus::NewTransport({.wire = process.wire.get(),
                                           .scheduler = &scheduler_,
                                           .random = random_.get(),
                                           .memory = &process.memory});
  }

  ManualClock clock_;
  const std::unique_ptr<Random> random_;
  SimulatedScheduler scheduler_;
  bus::MemoryNetwork network_{scheduler_};
  Process client_;
  Process server_;
  std::unique_ptr<TestWriter> writer_;
};

// SocketFiles is a writer and one client in one process, with threads and
// sockets.
class SocketFiles {
 public:
  explicit SocketFiles(FileSystem& files)
      : writer_({.files = &files,
                 .scheduler = scheduler_.get(),
                 .transport = transport_.get(),
                 .address = {"127.0.0.1", 0}}) {}

  protocol::RemoteFileSystemOptions ClientOptions() {
    return {.files = std::make_shared<protocol::FileClient>(
                *transport_,
                protocol::FileClientOptions{.address = writer_.address(),
                                            .self = {.incarnation = 11},
                                            .scheduler = scheduler_.get()}),
            .scheduler = scheduler_.get(),
            .name = writer_.address().ToTarget()};
  }

 private:
  SystemClock clock_;
  const std::unique_ptr<Scheduler> scheduler_ = NewThreadScheduler(clock_);
  const std::unique_ptr<Random> random_ = NewSeededRandom(1);
  protocol::AllocatorReceiveMemory memory_{HeapAllocator()};
  const std::unique_ptr<bus::Wire> wire_ = bus::NewZmqWire(*scheduler_);
  const std::unique_ptr<bus::Transport> transport_ =
      bus::NewTransport({.wire = wire_.get(),
                         .scheduler = scheduler_.get(),
                         .random = random_.get(),
                         .memory = &memory_});
  TestWriter writer_;
};

}  // namespace weft

#endif  // WEFT_LIBS_CHECKPOINT_WRITER_TESTING_REMOTE_FILES_H_
