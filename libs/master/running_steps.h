// `RunningSteps` holds the numbers of the running steps, which begin in
// ascending order and end in any order.
//
// A removed number stays as a gap until half of the table consists of gaps. So
// n calls examine at most a constant times n numbers besides their binary
// searches, in whatever order the steps end.
//
// Not synchronized. Allocates only if more steps run at once than ever before.
#ifndef WEFT_LIBS_MASTER_RUNNING_STEPS_H_
#define WEFT_LIBS_MASTER_RUNNING_STEPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

class RunningSteps {
 public:
  // Adds a step. REQUIRES: `step` is larger than all earlier steps.
  void Add(uint64_t step) { entries_.push_back({step, true}); }

  // Removes a step; an unknown step is ignored.
  void Remove(uint64_t step) {
    const auto it = std::lower_bound(
        entries_.begin() + static_cast<int64_t>(first_), entries_.end(), step,
        [](const Entry& entry, uint64_t number) {
          return entry.step < number;
        });
    if (it == entries_.end() || it->step != step || !it->runs) return;
    it->runs = false;
    ++num_gaps_;
    if (2 * num_gaps_ > entries_.size()) return RemoveGaps();
    while (!entries_[first_].runs) {
      ++first_;
      ++num_examined_;
    }
  }

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size() - num_gaps_; }
  // Returns the lowest running step. REQUIRES: a step runs.
  uint64_t front() const { return entries_[first_].step; }

  // Copies the lowest `most` numbers. Returns the next number, or 0 if there is
  // none.
  uint64_t CopyFirst(size_t most, std::vector<uint64_t>& numbers) const {
    numbers.clear();
    for (size_t i = first_; i < entries_.size(); ++i) {
      if (!entries_[i].runs) continue;
      if (numbers.size() == most) return entries_[i].step;
      numbers.push_back(entries_[i].step);
    }
    return 0;
  }

  // The number of entries that all calls of Remove together have examined or
  // moved, without their binary searches.
  uint64_t num_examined() const { return num_examined_; }

 private:
  struct Entry {
    uint64_t step;
    bool runs;
  };

  void RemoveGaps() {
    num_examined_ += entries_.size();
    std::erase_if(entries_, [](const Entry& entry) { return !entry.runs; });
    num_gaps_ = first_ = 0;
  }

  std::vector<Entry> entries_;  // sorted
  size_t first_ = 0;            // index of the first running step
  size_t num_gaps_ = 0;
  uint64_t num_examined_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_RUNNING_STEPS_H_
