// Kernels that hash strings to bucket numbers, with three hash functions.
#include <string>
#include <utility>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/string/string_hash.h"
#include "libs/kernels/string/string_kernels.h"

namespace weft {
namespace {

// `Hash` is constructed from the construction and called with each string.
template <typename Hash>
class BucketKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(const int64_t num_buckets,
                     construction.GetAttr<int64_t>("num_buckets"));
    if (num_buckets < 1) {
      return absl::InvalidArgumentError("num_buckets must be positive");
    }
    ASSIGN_OR_RETURN(Hash hash, Hash::Make(construction));
    return std::make_unique<BucketKernel>(construction, std::move(hash),
                                          static_cast<uint64_t>(num_buckets));
  }
  BucketKernel(const OpKernelConstruction& construction, Hash hash,
               uint64_t num_buckets)
      : OpKernel(construction),
        hash_(std::move(hash)),
        num_buckets_(num_buckets) {}

  absl::Status Compute(OpKernelContext& context) override {
    const auto in = context.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, context.input(0).shape()));
    auto out = output->mutable_flat<int64_t>();
    for (size_t i = 0; i < in.size(); ++i) {
      out[i] = static_cast<int64_t>(hash_(in[i]) % num_buckets_);
    }
    return absl::OkStatus();
  }

 private:
  const Hash hash_;
  const uint64_t num_buckets_;
};

struct Legacy {
  static absl::StatusOr<Legacy> Make(const OpKernelConstruction&) {
    return Legacy();
  }
  uint64_t operator()(const std::string& bytes) const {
    return LegacyHash(bytes);
  }
};

struct Fast {
  static absl::StatusOr<Fast> Make(const OpKernelConstruction&) {
    return Fast();
  }
  uint64_t operator()(const std::string& bytes) const {
    return Fingerprint(bytes);
  }
};

struct Strong {
  static absl::StatusOr<Strong> Make(const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(const auto key,
                     construction.GetAttr<std::vector<int64_t>>("key"));
    if (key.size() != 2) {
      return absl::InvalidArgumentError("Key must have 2 elements");
    }
    return Strong{static_cast<uint64_t>(key[0]), static_cast<uint64_t>(key[1])};
  }
  uint64_t operator()(const std::string& bytes) const {
    return KeyedHash(key0, key1, bytes);
  }
  uint64_t key0, key1;
};

}  // namespace

void RegisterStringBucketKernels(KernelRegistry& registry) {
  registry.Register({.op = "StringToHashBucket"}, BucketKernel<Legacy>::Make);
  registry.Register({.op = "StringToHashBucketFast"}, BucketKernel<Fast>::Make);
  registry.Register({.op = "StringToHashBucketStrong"},
                    BucketKernel<Strong>::Make);
}

}  // namespace weft
