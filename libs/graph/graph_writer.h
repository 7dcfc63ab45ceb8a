// GraphWriter detects two threads that change one graph concurrently. A graph
// allows only one writer at a time, so the second thread gets an error instead
// of corrupting memory.
//
// Threads: thread-safe. A thread may enter recursively.
#ifndef WEFT_LIBS_GRAPH_GRAPH_WRITER_H_
#define WEFT_LIBS_GRAPH_GRAPH_WRITER_H_

#include <atomic>

#include "absl/status/status.h"

namespace weft {

class GraphWriter {
 public:
  // Turn is the scope of a change by one thread, from its first access to its
  // last.
  class Turn {
   public:
    explicit Turn(GraphWriter& writer);
    ~Turn() {
      if (begins_) writer_.thread_.store(nullptr, std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    // Returns false if another thread is changing the graph. Then this thread
    // must not change it.
    explicit operator bool() const { return begins_ || is_inner_; }

   private:
    GraphWriter& writer_;
    bool begins_ = false;
    bool is_inner_ = false;
  };

  // Returns whether a thread was ever refused.
  bool has_refused() const {
    return has_refused_.load(std::memory_order_relaxed);
  }
  // Returns the FAILED_PRECONDITION error for a refused thread. It is always
  // the same object.
  const absl::Status& error() const { return error_; }

 private:
  std::atomic<const void*> thread_{nullptr};  // the thread with a Turn
  std::atomic<bool> has_refused_{false};
  const absl::Status error_ = absl::FailedPreconditionError(
      "Another thread is adding to the graph at the same time. A graph has one "
      "writer: let one thread build the graph, or hold a lock around all code "
      "that adds nodes.");
};

inline GraphWriter::Turn::Turn(GraphWriter& writer) : writer_(writer) {
  thread_local char this_thread;
  const void* inside = nullptr;
  begins_ = writer.thread_.compare_exchange_strong(inside, &this_thread,
                                                   std::memory_order_acquire,
                                                   std::memory_order_relaxed);
  is_inner_ = !begins_ && inside == &this_thread;
  if (!begins_ && !is_inner_) writer.has_refused_.store(true);
}

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_GRAPH_WRITER_H_
