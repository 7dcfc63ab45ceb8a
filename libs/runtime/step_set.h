// StepSet and SentSteps record steps of a master in little memory: 64
// consecutive steps take the memory of one.
//
// Both forget their oldest steps beyond kMaxBlocks blocks of 64.
//
// Threads: not synchronized.
#ifndef WEFT_LIBS_RUNTIME_STEP_SET_H_
#define WEFT_LIBS_RUNTIME_STEP_SET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "libs/protocol/worker/worker.h"

namespace weft {

// Tasks by canonical name.
using PeerTasks = absl::flat_hash_set<std::string>;

class StepSet {
 public:
  static constexpr size_t kMaxBlocks = 65536;

  void Add(uint64_t step);
  bool Contains(uint64_t step) const;
  void ForgetBelow(uint64_t step);
  // Forgets all steps below over.below that are over.
  void Forget(const protocol::FinishedSteps& over);
  void Clear() { blocks_.clear(); }

  int64_t size() const;
  size_t num_blocks() const { return blocks_.size(); }

 private:
  absl::btree_map<uint64_t, uint64_t> blocks_;  // step / 64 -> one bit per step
};

// The steps that sent values to other tasks, with these tasks.
class SentSteps {
 public:
  static constexpr size_t kMaxBlocks = StepSet::kMaxBlocks;
  static constexpr size_t kMaxTaken = 65536;

  // The steps of one callable share `receivers`.
  void Add(uint64_t step, const std::shared_ptr<const PeerTasks>& receivers);
  void ForgetBelow(uint64_t step);
  // Forgets all steps below over.below that are over.
  void Forget(const protocol::FinishedSteps& over);
  void Clear() { blocks_.clear(); }
  // Returns the steps that sent values to `task`, sorted, the last kMaxTaken of
  // them; forgets that all of these did, but not their other receivers.
  std::vector<uint64_t> TakeSentTo(const std::string& task);
  // The receivers of a step: each set holds some of the tasks.
  using Receivers = std::shared_ptr<const PeerTasks>;
  std::vector<Receivers> ReceiversOf(uint64_t step) const;

  int64_t size() const;
  size_t num_blocks() const { return blocks_.size(); }

 private:
  struct Block {
    std::shared_ptr<const PeerTasks> receivers;
    uint64_t steps = 0;  // one bit per step
  };
  // By step / 64 and receivers; the order of the pointers is irrelevant.
  using Key = std::pair<uint64_t, const PeerTasks*>;
  // Receivers, kept so that their address stays unique, and the same set
  // without one task: blocks with shared receivers share the reduced set, too.
  using Reduced =
      absl::flat_hash_map<const PeerTasks*, std::pair<Receivers, Receivers>>;

  static Receivers Without(const std::string& task, const Receivers& receivers,
                           Reduced& reduced);

  absl::btree_map<Key, Block> blocks_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_STEP_SET_H_
