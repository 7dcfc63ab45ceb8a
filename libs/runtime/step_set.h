// StepSet and SentSteps are compact sets of step ids of one master: 64
// consecutive steps take the memory of one step.
//
// Both types forget their oldest steps beyond kMaxBlocks blocks of 64 steps.
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

// A set of tasks, by canonical name.
using PeerTasks = absl::flat_hash_set<std::string>;

class StepSet {
 public:
  static constexpr size_t kMaxBlocks = 65536;

  void Add(uint64_t step);
  bool Contains(uint64_t step) const;
  void ForgetBelow(uint64_t step);
  // Forgets all steps below over.below that `over` reports as finished.
  void Forget(const protocol::FinishedSteps& over);
  void Clear() { blocks_.clear(); }

  int64_t size() const;
  size_t num_blocks() const { return blocks_.size(); }

 private:
  absl::btree_map<uint64_t, uint64_t> blocks_;  // step / 64 -> bits of 64 steps
};

// SentSteps records which steps sent values to other tasks, and to which tasks.
class SentSteps {
 public:
  static constexpr size_t kMaxBlocks = StepSet::kMaxBlocks;
  static constexpr size_t kMaxTaken = 65536;

  // Adds a step. All steps of one callable pass the same `receivers` object.
  void Add(uint64_t step, const std::shared_ptr<const PeerTasks>& receivers);
  void ForgetBelow(uint64_t step);
  // Forgets all steps below over.below that `over` reports as finished.
  void Forget(const protocol::FinishedSteps& over);
  void Clear() { blocks_.clear(); }
  // Returns the latest kMaxTaken steps that sent values to `task`, sorted.
  // Forgets `task` as a receiver of all steps, but not their other receivers.
  std::vector<uint64_t> TakeSentTo(const std::string& task);
  // Returns the receivers of a step: each of the returned sets contains some of
  // them.
  using Receivers = std::shared_ptr<const PeerTasks>;
  std::vector<Receivers> ReceiversOf(uint64_t step) const;

  int64_t size() const;
  size_t num_blocks() const { return blocks_.size(); }

 private:
  struct Block {
    std::shared_ptr<const PeerTasks> receivers;
    uint64_t steps = 0;  // one bit per step of the block
  };
  // Step / 64 and the receivers. The order of the pointers is irrelevant.
  using Key = std::pair<uint64_t, const PeerTasks*>;
  // Maps a set of receivers to itself and to the same set without one task. The
  // set is kept alive so that its address stays unique. Blocks that share the
  // receivers also share the reduced set.
  using Reduced =
      absl::flat_hash_map<const PeerTasks*, std::pair<Receivers, Receivers>>;

  static Receivers Without(const std::string& task, const Receivers& receivers,
                           Reduced& reduced);

  absl::btree_map<Key, Block> blocks_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_STEP_SET_H_
