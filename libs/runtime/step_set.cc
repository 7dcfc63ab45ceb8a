#include "libs/runtime/step_set.h"

#include <algorithm>
#include <bit>

namespace weft {
namespace {

constexpr uint64_t kBlock = 64;

uint64_t BitOf(uint64_t step) { return uint64_t{1} << (step % kBlock); }

// Returns the bits, in a block of steps, of `step` and of all later steps of
// the block. `step` must be in that block.
uint64_t FromOn(uint64_t step) { return ~uint64_t{0} << (step % kBlock); }

}  // namespace

void StepSet::Add(uint64_t step) {
  blocks_[step / kBlock] |= BitOf(step);
  if (blocks_.size() > kMaxBlocks) blocks_.erase(blocks_.begin());
}

bool StepSet::Contains(uint64_t step) const {
  const auto found = blocks_.find(step / kBlock);
  return found != blocks_.end() && (found->second & BitOf(step)) != 0;
}

void StepSet::ForgetBelow(uint64_t step) {
  const uint64_t block = step / kBlock;
  blocks_.erase(blocks_.begin(), blocks_.lower_bound(block));
  const auto first = blocks_.begin();
  if (first == blocks_.end() || first->first != block) return;
  first->second &= FromOn(step);
  if (first->second == 0) blocks_.erase(first);
}

void StepSet::Forget(const protocol::FinishedSteps& over) {
  std::vector<uint64_t> kept;
  for (const uint64_t step : over.running) {
    if (Contains(step)) kept.push_back(step);
  }
  ForgetBelow(over.below);
  for (const uint64_t step : kept) Add(step);
}

int64_t StepSet::size() const {
  int64_t size = 0;
  for (const auto& [block, steps] : blocks_) size += std::popcount(steps);
  return size;
}

void SentSteps::Add(uint64_t step,
                    const std::shared_ptr<const PeerTasks>& receivers) {
  Block& block = blocks_[{step / kBlock, receivers.get()}];
  if (block.receivers == nullptr) block.receivers = receivers;
  block.steps |= BitOf(step);
  if (blocks_.size() > kMaxBlocks) blocks_.erase(blocks_.begin());
}

void SentSteps::ForgetBelow(uint64_t step) {
  const uint64_t first = step / kBlock;
  auto it = blocks_.lower_bound({first, nullptr});
  it = blocks_.erase(blocks_.begin(), it);
  while (it != blocks_.end() && it->first.first == first) {
    it->second.steps &= FromOn(step);
    it = it->second.steps == 0 ? blocks_.erase(it) : std::next(it);
  }
}

std::vector<SentSteps::Receivers> SentSteps::ReceiversOf(uint64_t step) const {
  std::vector<Receivers> result;
  const uint64_t number = step / kBlock;
  for (auto it = blocks_.lower_bound({number, nullptr});
       it != blocks_.end() && it->first.first == number; ++it) {
    if ((it->second.steps & BitOf(step)) == 0) continue;
    result.push_back(it->second.receivers);
  }
  return result;
}

void SentSteps::Forget(const protocol::FinishedSteps& over) {
  std::vector<std::pair<uint64_t, Receivers>> kept;
  for (const uint64_t step : over.running) {
    for (Receivers& receivers : ReceiversOf(step)) {
      kept.emplace_back(step, std::move(receivers));
    }
  }
  ForgetBelow(over.below);
  for (const auto& [step, receivers] : kept) Add(step, receivers);
}

std::shared_ptr<const PeerTasks> SentSteps::Without(
    const std::string& task, const std::shared_ptr<const PeerTasks>& receivers,
    Reduced& reduced) {
  auto& [kept, others] = reduced[receivers.get()];
  if (others == nullptr) {
    kept = receivers;
    auto left = std::make_shared<PeerTasks>(*receivers);
    left->erase(task);
    others = std::move(left);
  }
  return others;
}

// A block that was taken for one receiver is kept for its other receivers.
std::vector<uint64_t> SentSteps::TakeSentTo(const std::string& task) {
  std::vector<uint64_t> result;
  std::vector<std::pair<uint64_t, Block>> for_others;
  Reduced reduced;
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    auto& [key, block] = *it;
    if (!block.receivers->contains(task)) {
      ++it;
      continue;
    }
    for (uint64_t bits = block.steps; bits != 0; bits &= bits - 1) {
      result.push_back(key.first * kBlock +
                       static_cast<uint64_t>(std::countr_zero(bits)));
    }
    block.receivers = Without(task, block.receivers, reduced);
    if (!block.receivers->empty()) for_others.emplace_back(key.first, block);
    it = blocks_.erase(it);
  }
  for (auto& [number, block] : for_others) {
    blocks_[{number, block.receivers.get()}] = std::move(block);
  }
  std::sort(result.begin(), result.end());
  // The task gets a separate notification for each step, so their number is
  // limited.
  if (result.size() > kMaxTaken) {
    result.erase(result.begin(), result.end() - kMaxTaken);
  }
  return result;
}

int64_t SentSteps::size() const {
  int64_t size = 0;
  for (const auto& [key, block] : blocks_) size += std::popcount(block.steps);
  return size;
}

}  // namespace weft
