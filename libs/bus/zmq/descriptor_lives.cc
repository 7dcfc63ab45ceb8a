#include "libs/bus/zmq/descriptor_lives.h"

#include <algorithm>
#include <utility>

namespace weft::bus {

DescriptorLives::Life DescriptorLives::Accept(int descriptor, absl::Time now) {
  refused_ = false;
  auto life = std::make_shared<DescriptorLife>();
  life->descriptor = descriptor;
  life->handshakes_before = handshakes_;
  life->accepted = now;
  lives_[descriptor].push_back(life);
  return life;
}

std::vector<DescriptorLives::Life> DescriptorLives::Current() const {
  std::vector<Life> current;
  current.reserve(lives_.size());
  for (const auto& [descriptor, lives] : lives_) {
    if (!lives.back()->over) current.push_back(lives.back());
  }
  return current;
}

void DescriptorLives::ShakeHands() {
  refused_ = false;
  ++handshakes_;
}

DescriptorLives::Life DescriptorLives::Disconnect(int descriptor) {
  const bool refused = std::exchange(refused_, false);
  const auto found = lives_.find(descriptor);
  if (found == lives_.end() || found->second.back()->over) return nullptr;
  Life life = found->second.back();
  life->over = true;
  if (!refused || life->claimed) return life;
  Erase(life);
  return nullptr;
}

DescriptorLives::Life DescriptorLives::Claim(int descriptor,
                                             Life& unconfirmed) {
  unconfirmed = nullptr;
  const auto found = lives_.find(descriptor);
  if (found == lives_.end()) return nullptr;
  std::deque<Life>& lives = found->second;
  const auto unclaimed = [](const Life& life) { return !life->claimed; };
  const auto first = std::find_if(lives.begin(), lives.end(), unclaimed);
  if (first == lives.end()) return nullptr;
  (*first)->claimed = true;
  const Life& last = lives.back();
  const bool shook_hands = last->handshakes_before < handshakes_;
  if (!last->claimed && !last->over && shook_hands) unconfirmed = last;
  return *first;
}

void DescriptorLives::Erase(const Life& life) {
  const auto found = lives_.find(life->descriptor);
  if (found == lives_.end()) return;
  std::deque<Life>& lives = found->second;
  lives.erase(std::remove(lives.begin(), lives.end(), life), lives.end());
  if (lives.empty()) lives_.erase(found);
}

}  // namespace weft::bus
