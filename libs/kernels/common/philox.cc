#include "libs/kernels/common/philox.h"

namespace weft {
namespace {

Philox MakePhilox(const OpKernelConstruction& construction) {
  const int64_t seed = construction.GetAttr<int64_t>("seed").value_or(0);
  const int64_t seed2 = construction.GetAttr<int64_t>("seed2").value_or(0);
  if (seed != 0 || seed2 != 0) {
    return Philox(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2));
  }
  const uint64_t drawn = construction.random().Next();
  return Philox(drawn, construction.random().Next());
}

}  // namespace

PhiloxStream::PhiloxStream(const OpKernelConstruction& construction)
    : philox_(MakePhilox(construction)) {}

}  // namespace weft
