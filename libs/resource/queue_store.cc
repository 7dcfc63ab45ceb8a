#include "libs/resource/queue_store.h"

#include <deque>
#include <map>
#include <utility>

namespace weft {
namespace {

class FifoStore : public QueueStore {
 public:
  void Add(QueueElement element) override {
    elements_.push_back(std::move(element));
  }
  QueueElement Take() override {
    QueueElement first = std::move(elements_.front());
    elements_.pop_front();
    return first;
  }
  void GiveBack(std::vector<QueueElement> elements) override {
    while (!elements.empty()) {
      elements_.push_front(std::move(elements.back()));
      elements.pop_back();
    }
  }
  int64_t size() const override {
    return static_cast<int64_t>(elements_.size());
  }

 private:
  std::deque<QueueElement> elements_;
};

class RandomStore : public QueueStore {
 public:
  explicit RandomStore(absl::AnyInvocable<uint32_t()> random)
      : random_(std::move(random)) {}

  void Add(QueueElement element) override {
    elements_.push_back(std::move(element));
  }
  QueueElement Take() override {
    std::swap(elements_[random_() % elements_.size()], elements_.back());
    QueueElement drawn = std::move(elements_.back());
    elements_.pop_back();
    return drawn;
  }
  void GiveBack(std::vector<QueueElement> elements) override {
    for (QueueElement& element : elements) Add(std::move(element));
  }
  int64_t size() const override {
    return static_cast<int64_t>(elements_.size());
  }

 private:
  absl::AnyInvocable<uint32_t()> random_;
  std::vector<QueueElement> elements_;
};

class PriorityStore : public QueueStore {
 public:
  void Add(QueueElement element) override {
    const int64_t priority = element[0].scalar<int64_t>();
    elements_.emplace(priority, std::move(element));
  }
  QueueElement Take() override {
    QueueElement first = std::move(elements_.begin()->second);
    elements_.erase(elements_.begin());
    return first;
  }
  // Each element is put before elements with the same key. The element that was
  // taken first must be in front, so the elements are put back in reverse
  // order.
  void GiveBack(std::vector<QueueElement> elements) override {
    while (!elements.empty()) {
      const int64_t priority = elements.back()[0].scalar<int64_t>();
      elements_.emplace_hint(elements_.lower_bound(priority), priority,
                             std::move(elements.back()));
      elements.pop_back();
    }
  }
  int64_t size() const override {
    return static_cast<int64_t>(elements_.size());
  }

 private:
  // Elements with the same key stay in the order of their insertion.
  std::multimap<int64_t, QueueElement> elements_;
};

}  // namespace

std::unique_ptr<QueueStore> NewFifoStore() {
  return std::make_unique<FifoStore>();
}

std::unique_ptr<QueueStore> NewRandomStore(
    absl::AnyInvocable<uint32_t()> random) {
  return std::make_unique<RandomStore>(std::move(random));
}

std::unique_ptr<QueueStore> NewPriorityStore() {
  return std::make_unique<PriorityStore>();
}

}  // namespace weft
