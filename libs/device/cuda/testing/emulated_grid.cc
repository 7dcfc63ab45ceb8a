#include "libs/device/cuda/testing/emulated_grid.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"

#ifdef ABSL_HAVE_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace weft {

thread_local EmulatedThread emulated_thread;

namespace {

// AddressSanitizer must know on which stack the code runs.
void BeginSwitch([[maybe_unused]] void** unwound,
                 [[maybe_unused]] const void* stack,
                 [[maybe_unused]] size_t bytes) {
#ifdef ABSL_HAVE_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(unwound, stack, bytes);
#endif
}
void EndSwitch([[maybe_unused]] void* unwound,
               [[maybe_unused]] const void** stack = nullptr,
               [[maybe_unused]] size_t* bytes = nullptr) {
#ifdef ABSL_HAVE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(unwound, stack, bytes);
#endif
}

uint64_t CountOf(dim3 sizes) { return uint64_t{sizes.x} * sizes.y * sizes.z; }

uint3 PlaceOf(uint64_t i, dim3 sizes) {
  return {static_cast<unsigned>(i % sizes.x),
          static_cast<unsigned>(i / sizes.x % sizes.y),
          static_cast<unsigned>(i / sizes.x / sizes.y)};
}

std::vector<uint64_t> AnyOrder(uint64_t count, std::mt19937_64& random) {
  std::vector<uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

}  // namespace

class EmulatedGrid::Stack {
 public:
  static constexpr size_t kBytes = size_t{256} << 10;
  static constexpr size_t kPage = 4096;

  Stack()
      : memory_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (memory_ == MAP_FAILED) std::abort();
    mprotect(memory_, kPage, PROT_NONE);  // past its end
  }
  ~Stack() { munmap(memory_, kBytes); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  void* memory() const { return memory_; }

 private:
  void* const memory_;
};

// The threads of one block. They run one after the other on one stack; a thread
// that reaches a barrier keeps the stack, and the next one gets another.
class EmulatedGrid::Block {
 public:
  Block(EmulatedGrid& grid, const std::function<void()>& thread)
      : grid_(grid),
        thread_(thread),
        order_(AnyOrder(CountOf(emulated_thread.block), grid.random_)) {}

  // Returns the error, or "".
  std::string Run() {
    running_ = this;
    while (started_ < order_.size() && error_.empty()) Start();
    while (!waiting_.empty() && error_.empty()) PassBarrier();
    running_ = nullptr;
    return std::move(error_);
  }

  // Called by the running thread.
  bool Wait(int line, bool vote) {
    Fiber& self = *current_;
    self.line = line;
    self.thread_index = emulated_thread.thread_index;
    has_vote_ = has_vote_ || vote;
    waiting_.push_back(&self);
    BeginSwitch(&self.unwound, main_stack_, main_bytes_);
    swapcontext(&self.context, &main_);
    EndSwitch(self.unwound, &main_stack_, &main_bytes_);
    return outcome_;
  }

  // Set while a CPU thread runs a block.
  static Block* running() { return running_; }

  // Leaves the running thread, and the block, for good.
  [[noreturn]] void Fail(std::string error) {
    error_ = std::move(error);
    Leave();
  }

 private:
  struct Fiber {
    ucontext_t context;
    void* unwound = nullptr;  // AddressSanitizer's
    int line = 0;             // of the barrier at which its thread waits
    uint3 thread_index = {};
  };

  void Start() {
    const size_t i = fibers_.size();
    if (i == grid_.stacks_.size()) {
      grid_.stacks_.push_back(std::make_unique<Stack>());
    }
    fibers_.push_back(std::make_unique<Fiber>());
    ucontext_t& context = fibers_[i]->context;
    getcontext(&context);
    context.uc_stack.ss_sp = grid_.stacks_[i]->memory();
    context.uc_stack.ss_size = Stack::kBytes;
    context.uc_link = nullptr;
    makecontext(
        &context, [] { running_->RunThreads(); }, 0);
    Enter(*fibers_[i]);
  }

  void Enter(Fiber& fiber) {
    current_ = &fiber;
    void* unwound = nullptr;
    BeginSwitch(&unwound, fiber.context.uc_stack.ss_sp, Stack::kBytes);
    swapcontext(&main_, &fiber.context);
    EndSwitch(unwound);
  }

  [[noreturn]] void Leave() {
    BeginSwitch(nullptr, main_stack_, main_bytes_);
    setcontext(&main_);
    std::abort();
  }

  [[noreturn]] void RunThreads() {
    EndSwitch(nullptr, &main_stack_, &main_bytes_);
    while (started_ < order_.size()) {
      emulated_thread.thread_index =
          PlaceOf(order_[started_++], emulated_thread.block);
      thread_();
    }
    Leave();
  }

  // As CUDA requires: all threads reach one barrier, or none.
  void PassBarrier() {
    const std::vector<Fiber*> passing = std::exchange(waiting_, {});
    for (const Fiber* fiber : passing) {
      if (passing.size() == order_.size() && fiber->line == passing[0]->line) {
        continue;
      }
      error_ = absl::StrCat(
          "not all threads of a block come to the barrier in line ",
          passing[0]->line);
      return;
    }
    outcome_ = std::exchange(has_vote_, false);
    for (const uint64_t i : AnyOrder(passing.size(), grid_.random_)) {
      emulated_thread.thread_index = passing[i]->thread_index;
      Enter(*passing[i]);
      if (!error_.empty()) return;
    }
  }

  static thread_local Block* running_;

  EmulatedGrid& grid_;
  const std::function<void()>& thread_;
  const std::vector<uint64_t> order_;  // of the threads
  size_t started_ = 0;                 // of these
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* current_ = nullptr;
  std::vector<Fiber*> waiting_;
  bool has_vote_ = false;  // for one of them
  bool outcome_ = false;   // of the last barrier
  ucontext_t main_;        // where Run continues
  const void* main_stack_ = nullptr;
  size_t main_bytes_ = 0;
  std::string error_;
};

thread_local EmulatedGrid::Block* EmulatedGrid::Block::running_ = nullptr;

bool EmulatedBarrier(int line, bool vote) {
  return EmulatedGrid::Block::running()->Wait(line, vote);
}

EmulatedGrid::EmulatedGrid(std::mt19937_64& random) : random_(random) {}

EmulatedGrid::~EmulatedGrid() = default;

std::string EmulatedGrid::Run(dim3 blocks, dim3 threads,
                              const std::function<void()>& thread) {
  struct sigaction fails = {}, before = {};
  fails.sa_handler = [](int signal) {
    if (Block* block = Block::running()) {
      block->Fail("a thread used memory that is none");
    }
    ::signal(signal, SIG_DFL);  // so that it ends the program
  };
  sigaction(SIGSEGV, &fails, &before);
  std::string error = RunBlocks(blocks, threads, thread);
  sigaction(SIGSEGV, &before, nullptr);
  return error;
}

std::string EmulatedGrid::RunBlocks(dim3 blocks, dim3 threads,
                                    const std::function<void()>& thread) {
  emulated_thread.grid = blocks;
  emulated_thread.block = threads;
  for (const uint64_t i : AnyOrder(CountOf(blocks), random_)) {
    emulated_thread.block_index = PlaceOf(i, blocks);
    std::string error = Block(*this, thread).Run();
    if (!error.empty()) return error;
  }
  return "";
}

}  // namespace weft
