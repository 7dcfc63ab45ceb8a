// SeedGenerator returns the seeds of each walk of a shuffle or random dataset,
// as in TensorFlow (core/kernels/data/random_seed_ops.h): always the same
// seeds, or different ones for each walk, derived from the first.
#ifndef WEFT_LIBS_KERNELS_DATA_SEED_GENERATOR_H_
#define WEFT_LIBS_KERNELS_DATA_SEED_GENERATOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "libs/base/random.h"
#include "libs/kernels/common/philox.h"
#include "libs/resource/resource.h"

namespace weft {

struct SeedPair {
  int64_t seed = 0, seed2 = 0;
  // Random seeds if both are 0.
  static SeedPair From(int64_t seed, int64_t seed2, Random& random);
};

// The numbers generated from the seeds, starting at number `position`.
PhiloxNumbers NumbersOf(SeedPair seeds, int64_t position);

// Shared by walks of one dataset, and by datasets through a handle.
// Thread-safe.
class SeedGenerator : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "SeedGenerator";

  SeedGenerator(SeedPair seeds, bool reshuffles);

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  // The seeds of the next walk.
  SeedPair Next();
  // The number of seeds returned so far, to continue from there.
  int64_t position() const;
  void set_position(int64_t position);

 private:
  const SeedPair seeds_;
  const bool reshuffles_;
  mutable absl::Mutex mutex_;
  int64_t position_ ABSL_GUARDED_BY(mutex_) = 0;
  PhiloxNumbers numbers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_SEED_GENERATOR_H_
