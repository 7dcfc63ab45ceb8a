// MemoryCache holds the elements of a dataset after a complete walk.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_KERNELS_DATA_MEMORY_CACHE_H_
#define WEFT_LIBS_KERNELS_DATA_MEMORY_CACHE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/kernels/data/dataset.h"
#include "libs/resource/resource.h"

namespace weft {

class MemoryCache : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "MemoryCache";

  using Elements = std::shared_ptr<const std::vector<DatasetElement>>;

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override {
    const Elements elements = this->elements();
    if (elements == nullptr) return "a cache to be filled";
    return absl::StrCat("a cache of ", elements->size(), " elements");
  }

  // Null until it is filled.
  Elements elements() const {
    absl::MutexLock lock(&mutex_);
    return elements_;
  }
  // The first call wins; returns the elements of the cache.
  Elements Fill(std::vector<DatasetElement> elements) {
    absl::MutexLock lock(&mutex_);
    if (elements_ == nullptr) {
      elements_ = std::make_shared<const std::vector<DatasetElement>>(
          std::move(elements));
    }
    return elements_;
  }

 private:
  mutable absl::Mutex mutex_;
  Elements elements_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_MEMORY_CACHE_H_
