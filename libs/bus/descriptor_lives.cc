#include "libs/bus/descriptor_lives.h"

#include <algorithm>

namespace weft::bus {

void DescriptorLives::Accept(int descriptor) {
  auto life = std::make_shared<DescriptorLife>();
  life->descriptor = descriptor;
  lives_[descriptor].push_back(std::move(life));
}

DescriptorLives::Life DescriptorLives::Disconnect(int descriptor) {
  const auto found = lives_.find(descriptor);
  if (found == lives_.end() || found->second.back()->over) return nullptr;
  found->second.back()->over = true;
  return found->second.back();
}

DescriptorLives::Life DescriptorLives::Claim(int descriptor, Life& doubtful) {
  doubtful = nullptr;
  const auto found = lives_.find(descriptor);
  if (found == lives_.end()) return nullptr;
  std::deque<Life>& lives = found->second;
  const auto unclaimed = [](const Life& life) { return !life->claimed; };
  const auto first = std::find_if(lives.begin(), lives.end(), unclaimed);
  if (first == lives.end()) return nullptr;
  (*first)->claimed = true;
  const bool certain =
      std::find_if(first, lives.end(), unclaimed) == lives.end();
  if (!certain && !lives.back()->over) doubtful = lives.back();
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
