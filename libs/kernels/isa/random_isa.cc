// Plain loops that the compiler vectorizes. No std:: template may be used: see
// weft_kernels_per_instruction_set.
#include "libs/kernels/isa/random_isa.h"

namespace weft::WEFT_ISA {
namespace {

// The number of samples computed in parallel.
constexpr int kBlock = 64;

// Number k of sample i is x[k][i].
struct Block {
  uint32_t x[4][kBlock];
};

inline uint64_t Join(uint32_t low, uint32_t high) {
  return low | static_cast<uint64_t>(high) << 32;
}

// Computes the counters of samples [first, first + kBlock).
void Count(const uint32_t* counter, int64_t first, Block& block) {
  const uint64_t start = Join(counter[0], counter[1]);
  const uint64_t upper = Join(counter[2], counter[3]);
  for (int i = 0; i < kBlock; ++i) {
    const uint64_t low = start + static_cast<uint64_t>(first + i);
    const uint64_t high = upper + (low < start ? 1 : 0);
    block.x[0][i] = static_cast<uint32_t>(low);
    block.x[1][i] = static_cast<uint32_t>(low >> 32);
    block.x[2][i] = static_cast<uint32_t>(high);
    block.x[3][i] = static_cast<uint32_t>(high >> 32);
  }
}

void Round(uint32_t key0, uint32_t key1, Block& block) {
#pragma GCC ivdep
  for (int i = 0; i < kBlock; ++i) {
    const uint64_t a = uint64_t{0xD2511F53u} * block.x[0][i];
    const uint64_t b = uint64_t{0xCD9E8D57u} * block.x[2][i];
    block.x[0][i] = static_cast<uint32_t>(b >> 32) ^ block.x[1][i] ^ key0;
    block.x[1][i] = static_cast<uint32_t>(b);
    block.x[2][i] = static_cast<uint32_t>(a >> 32) ^ block.x[3][i] ^ key1;
    block.x[3][i] = static_cast<uint32_t>(a);
  }
}

void Store(const Block& block, uint32_t* out, int count) {
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < 4; ++k) out[4 * i + k] = block.x[k][i];
  }
}

}  // namespace

void FillPhilox(const uint32_t* key, const uint32_t* counter, uint32_t* out,
                int64_t samples) {
  for (int64_t first = 0; first < samples; first += kBlock) {
    Block block;
    Count(counter, first, block);
    for (uint32_t round = 0; round < 10; ++round) {
      Round(key[0] + round * 0x9E3779B9u, key[1] + round * 0xBB67AE85u, block);
    }
    const int64_t left = samples - first;
    if (left >= kBlock) {
      Store(block, out + 4 * first, kBlock);
    } else {
      Store(block, out + 4 * first, static_cast<int>(left));
    }
  }
}

}  // namespace weft::WEFT_ISA
