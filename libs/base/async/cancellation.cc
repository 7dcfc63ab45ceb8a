#include "libs/base/async/cancellation.h"

#include <thread>
#include <utility>

namespace weft {

void Cancellation::Cancel(absl::Status cause) {
  {
    absl::MutexLock lock(&mutex_);
    if (cancelled_.load(std::memory_order_relaxed)) return;
    cause_ = cause;
    canceller_ = std::this_thread::get_id();
    cancelled_.store(true, std::memory_order_release);
  }
  while (RunNextCallback(cause)) {
  }
}

bool Cancellation::RunNextCallback(const absl::Status& cause) {
  Callback callback;
  {
    absl::MutexLock lock(&mutex_);
    running_ = 0;
    callback_finished_.SignalAll();
    if (callbacks_.empty()) return false;
    auto first = callbacks_.begin();
    running_ = first->first;
    callback = std::move(first->second);
    callbacks_.erase(first);
  }
  callback(cause);
  return true;
}

absl::Status Cancellation::status() const {
  if (!IsCancelled()) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  return cause_;
}

Cancellation::Token Cancellation::Register(Callback callback) {
  absl::MutexLock lock(&mutex_);
  if (cancelled_.load(std::memory_order_relaxed)) return 0;
  const Token token = next_token_++;
  callbacks_.emplace(token, std::move(callback));
  return token;
}

bool Cancellation::Deregister(Token token) {
  Callback removed;  // destroyed after the lock is released
  absl::MutexLock lock(&mutex_);
  auto it = callbacks_.find(token);
  if (it != callbacks_.end()) {
    removed = std::move(it->second);
    callbacks_.erase(it);
    return true;
  }
  // A callback that deregisters itself must not wait for itself.
  if (running_ != token || canceller_ == std::this_thread::get_id()) {
    return false;
  }
  while (running_ == token) callback_finished_.Wait(&mutex_);
  return false;
}

}  // namespace weft
